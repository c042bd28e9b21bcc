"""Which run directory a session is published in: remembered beside the session, and found again by the next workflow.

``evidence.json`` in the session's directory lists its runs, the newest last: a session that is joined after its run was
sealed is published as another run. ``<data_dir>/unsealed/<adw_id>`` stands as long as the newest is not sealed, so that
nobody has to look through thousands of sessions for one that was left behind.
"""

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agent_workflow.tracer._files import SessionFiles, write_atomically
from agent_workflow.tracer._json import decode_record
from agent_workflow.tracer.evidence._state_root import RUNS


@dataclass(frozen=True, slots=True)
class Publication:
    """One run directory of a session.

    Attributes:
        state_root: absolute path.
        session_id: name of the run directory.
        program: file name of the workflow.
        began_at: when it was claimed, as the trace writes times.
        events_from, state_from: bytes of the session's two journals that are older than the run.
        retry_of: the run that the session was published in before.
        content: digest of what the evidence of an imported session says.
    """

    state_root: str
    session_id: str
    program: str
    began_at: str
    events_from: int = 0
    state_from: int = 0
    retry_of: str | None = None
    content: str | None = None

    @property
    def directory(self) -> Path:
        """The run directory; it may be in the archive by now, or gone."""
        return Path(self.state_root) / RUNS / self.session_id


def publications(files: SessionFiles) -> list[Publication]:
    """Read where a session was published, the newest last; a damaged list is as good as none."""
    try:
        listed = decode_record((files.directory / "evidence.json").read_bytes()).get("runs")
    except (OSError, ValueError):
        return []
    found = [_publication(item) for item in listed] if isinstance(listed, list) else []
    return [item for item in found if item is not None]


def remember(files: SessionFiles, runs: list[Publication]) -> None:
    """Write where a session is published, and that it is not sealed.

    Raises:
        OSError: it cannot be written.
    """
    marker = unsealed_marker(files)
    marker.parent.mkdir(exist_ok=True)
    marker.touch()
    write_list(files, runs)


def write_list(files: SessionFiles, runs: list[Publication]) -> None:
    """Write where a session is published.

    Raises:
        OSError: it cannot be written.
    """
    write_atomically(files.directory / "evidence.json", json.dumps({"runs": [asdict(run) for run in runs]}).encode())


def forget(files: SessionFiles) -> None:
    """Take back that the newest run of a session may not be sealed; a mark that stays is looked at in vain."""
    with contextlib.suppress(OSError):
        unsealed_marker(files).unlink(missing_ok=True)


def unsealed_marker(files: SessionFiles) -> Path:
    """Name the file that stands while the newest run of a session is not sealed."""
    return files.directory.parent.parent / "unsealed" / files.adw_id


def unsealed_sessions(data_dir: Path) -> list[SessionFiles]:
    """List the sessions whose newest run may not be sealed."""
    try:
        names = sorted(entry.name for entry in (data_dir / "unsealed").iterdir())
    except OSError:
        return []
    return [SessionFiles.of(data_dir, name) for name in names]


def _publication(item: Any) -> Publication | None:  # noqa: ANN401 - whatever the file holds
    if not isinstance(item, dict):
        return None
    try:
        read = Publication(**{name: item[name] for name in Publication.__dataclass_fields__ if name in item})
    except TypeError:
        return None
    if not all(value is None or isinstance(value, str) for value in (read.retry_of, read.content)):
        return None
    texts = (read.state_root, read.session_id, read.program, read.began_at)
    numbers = (read.events_from, read.state_from)
    is_good = all(isinstance(text, str) for text in texts) and all(isinstance(number, int) for number in numbers)
    return read if is_good else None
