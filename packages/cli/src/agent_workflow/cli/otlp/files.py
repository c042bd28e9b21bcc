"""OTLP/JSON in files: one for each trace, a request a line, replaced as a whole."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent_workflow.cli.otlp.encoding import as_json


def write_trace(folder: Path, trace: bytes, requests: Iterable[Any]) -> int:
    """Write a trace as ``<trace id>.jsonl``, beside its place first.

    Args:
        folder: made where it is missing, for its owner alone.
        trace: id of the trace.
        requests: ``ExportTraceServiceRequest`` messages.

    Returns:
        The number of lines.

    Raises:
        OSError: the folder or its disk takes no writes.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = folder / f"{trace.hex()}.jsonl"
    descriptor, name = tempfile.mkstemp(prefix=f".{trace.hex()}.", dir=folder)
    scratch = Path(name)
    lines = 0
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            for request in requests:
                file.write(as_json(request) + "\n")
                lines += 1
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(place)
    finally:
        scratch.unlink(missing_ok=True)
    return lines
