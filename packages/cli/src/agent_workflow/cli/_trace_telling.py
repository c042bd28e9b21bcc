"""How the trace commands talk: to people or as one JSON document, and what they say when something is wrong."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

_JSON_NAMES = ("as_json", "json", "json_output")


class Teller:
    """Prints for people or as one JSON document."""

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json

    def document(self, name: str, database: Path, **fields: Any) -> None:  # noqa: ANN401 - whatever JSON can hold
        """Print one JSON document."""
        content = {"schema": f"agent-workflow/{name}/v1", "database": str(database), **fields}
        sys.stdout.write(json.dumps(content, ensure_ascii=False, default=str) + "\n")

    def lines(self, text: str) -> None:
        """Print lines for people, none for an empty text."""
        if text:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()

    def note(self, text: str) -> None:
        """Say something beside the answer."""
        sys.stderr.write(f"agent-workflow: {text}\n")


@contextlib.contextmanager
def telling(ctx: typer.Context, as_json: bool) -> Iterator[Teller]:
    """Print in the asked form, turn errors into a line and an exit code, and end quietly when nobody listens."""
    from agent_workflow.tracer import TracerError

    tell = Teller(as_json=as_json or _asked_above(ctx))
    try:
        yield tell
        sys.stdout.flush()
    except TracerError as error:
        where = f"{error.path}: " if error.path else ""
        tell.note(f"{where}{error}" + (f"; {error.hint}" if error.hint else ""))
        if tell.as_json:
            path = str(error.path) if error.path else None
            fault = {"code": _code(error), "message": str(error), "path": path, "hint": error.hint}
            sys.stdout.write(json.dumps({"error": fault}) + "\n")
        raise typer.Exit(_EXITS.get(type(error).__name__, 1)) from error
    except BrokenPipeError:
        # Python flushes once more at exit; give it somewhere to flush to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_EXITS = {"ConfigError": 2, "WorkflowError": 2, "NotATrace": 3, "MissingColumn": 3}


def _code(error: Exception) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in type(error).__name__).lstrip("_")


def _asked_above(ctx: typer.Context) -> bool:
    above = ctx.parent
    while above is not None:
        if any(above.params.get(name) is True for name in _JSON_NAMES):
            return True
        above = above.parent
    return False
