"""Which sessions of a trace have ended and may be deleted: judged by their files, their rows and living processes."""

import os
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._errors import NoSuchSession, TraceReadError
from agent_workflow.tracer._files import SessionFiles, session_directories
from agent_workflow.tracer._identity import RecordedProcess, judge
from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer._replay import SessionState, replay_state
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer._source import Row
from agent_workflow.tracer.evidence._publications import unsealed_marker
from agent_workflow.tracer.retention._holding import SessionIsHeld, held
from agent_workflow.tracer.retention._inventory import SessionFile, UnsafeFile, fingerprint, inventory

_ENDED: Final = ("success", "fail")


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """A session that has ended.

    Attributes:
        adw_id: the session.
        database: absolute path of the trace database.
        directory: absolute path of its directory.
        has_directory: there is one; sessions of the original tracer may have rows alone.
        has_rows: the database holds it; without, it was never rebuilt.
        status: as stored.
        reviewed: somebody put it away with the review flag.
        ended_at: seconds of the epoch.
        fingerprint: of its files.
        file_count: files and links in its directory.
        size_bytes: sum of their sizes.
        device, inode: of the directory, 0 without one.
    """

    adw_id: str
    database: str
    directory: str
    has_directory: bool
    has_rows: bool
    status: str
    reviewed: bool
    ended_at: float
    fingerprint: str
    file_count: int
    size_bytes: int
    device: int
    inode: int

    @property
    def path(self) -> str:
        """How a plan and a receipt name it."""
        return self.directory


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session that is left alone.

    Attributes:
        adw_id: the session.
        directory: absolute path of its directory.
        reason: ``running``, ``busy``, ``unsealed``, ``error`` or ``unknown``.
        detail: in words.
    """

    adw_id: str
    directory: str
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class TracePlan:
    """What a survey of one trace found.

    Attributes:
        database: absolute path.
        data_dir: absolute path of the folder that ``sessions`` lies in.
        ended: sessions that may go, by id.
        kept: those that may not.
    """

    database: str
    data_dir: str
    ended: tuple[SessionFacts, ...]
    kept: tuple[KeptSession, ...]


class KeepSession(Exception):
    """A session must be left alone."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def survey_sessions(
    db: Path, data_dir: Path, progress: Callable[[int, int], None] = lambda _done, _total: None
) -> TracePlan:
    """Judge every session of a trace; nothing is changed.

    Args:
        db: the trace database.
        data_dir: ``sessions`` lies in it.
        progress: called after every session.

    Raises:
        NoTrace, NotATrace, TraceReadError: the database is missing, is none, or cannot be read.
    """
    database, folder = Path(os.path.abspath(db)), Path(os.path.abspath(data_dir))  # noqa: PTH100 - links stay links
    ended: list[SessionFacts] = []
    kept: list[KeptSession] = []
    with TraceReader(database) as reader:
        refuse_linked(folder)
        names = _names(reader, folder)
        for done, adw_id in enumerate(names, 1):
            files = SessionFiles.of(folder, adw_id)
            try:
                ended.append(judge_held(reader, files)[0])
            except KeepSession as keep:
                kept.append(KeptSession(adw_id, str(files.directory), keep.reason, keep.detail))
            progress(done, len(names))
    return TracePlan(str(database), str(folder), tuple(ended), tuple(kept))


def refuse_linked(data_dir: Path) -> None:
    """Refuse a ``sessions`` that is a link: nothing outside of the folder is ever deleted.

    Raises:
        TraceReadError: it is one, or no directory.
    """
    sessions = data_dir / "sessions"
    try:
        mode = sessions.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(mode):
        raise TraceReadError("sessions is a link or no directory; nothing is deleted through it", path=sessions)


def _names(reader: TraceReader, data_dir: Path) -> list[str]:
    stored = {str(row["adw_id"]) for row in reader.sessions(limit=2**31, include_archived=True)}
    there = {files.adw_id for files in session_directories(data_dir)}
    return sorted(name for name in stored | there if is_valid_id(name))


def judge_held(reader: TraceReader, files: SessionFiles) -> tuple[SessionFacts, list[SessionFile]]:
    """Judge one session while none of its writers can be at work.

    Raises:
        KeepSession: why it must be left alone.
    """
    try:
        with held(files) as directory:
            return judge_session(reader, files, directory)
    except FileNotFoundError:
        return judge_session(reader, files, None)
    except SessionIsHeld as error:
        raise KeepSession("busy", str(error)) from error


def judge_session(
    reader: TraceReader, files: SessionFiles, directory: int | None
) -> tuple[SessionFacts, list[SessionFile]]:
    """Judge one session.

    Args:
        reader: of its database.
        files: the session.
        directory: descriptor of its directory, held; None where it has none.

    Raises:
        KeepSession: why it must be left alone.
    """
    row = _row(reader, files.adw_id)
    try:
        found = [] if directory is None else inventory(directory)
        state = SessionState() if directory is None else replay_state(files)
    except (OSError, UnsafeFile) as error:
        raise KeepSession("error", str(error)) from error
    stored = [word for word in (row.get("status"), state.session().get("status")) if word is not None]
    _refuse_living(reader, files.adw_id, state, stored)
    if unsealed_marker(files).exists():
        raise KeepSession("unsealed", "its published evidence is not sealed yet")
    status = None if directory is None else os.fstat(directory)
    return SessionFacts(
        adw_id=files.adw_id,
        database=str(reader.path),
        directory=str(files.directory),
        has_directory=directory is not None,
        has_rows=bool(row),
        status=str(stored[-1]),
        reviewed=any(given.get("archived") for given in (row, state.session())),
        ended_at=_ended_at((row, state.session()), found),
        fingerprint=fingerprint(found),
        file_count=len(found),
        size_bytes=sum(file.size for file in found),
        device=0 if status is None else status.st_dev,
        inode=0 if status is None else status.st_ino,
    ), found


def _row(reader: TraceReader, adw_id: str) -> Row:
    try:
        return reader.session(adw_id)
    except NoSuchSession:
        return {}


def _refuse_living(reader: TraceReader, adw_id: str, state: SessionState, stored: list[object]) -> None:
    if RUNNING in stored:
        raise KeepSession("running", "it is stored as running")
    if not stored or any(word not in _ENDED for word in stored):
        raise KeepSession("unknown", "nothing says that it has ended")
    recorded = [process.recorded for process in reader.processes(adw_id, only_open=True)]
    recorded += [RecordedProcess.from_row(row) for row in state.of("processes") if row.get("ended_at") is None]
    for process in recorded:
        if judge(process, find(process.pid or 0)) == "alive":
            raise KeepSession("running", f"its process {process.pid} is alive")


def _ended_at(rows: Iterable[Row], found: list[SessionFile]) -> float:
    """Return the newest sign of it: when it ended by its rows, and when a file was last written."""
    moments = [file.mtime_ns / 1e9 for file in found]
    for row in rows:
        for column in ("ended_at", "started_at"):
            moment = _clock.parse_time(row.get(column))
            if moment is not None:
                moments.append(moment.timestamp())
    if not moments:
        raise KeepSession("unknown", "nothing says when it ended")
    return max(moments)
