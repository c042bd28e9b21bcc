"""What the files of a session say, as rows: the truth that the database mirrors."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import records, torn_tail
from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._rows import EventRow, event_row, known_columns

Row = dict[str, Any]


class Fault(NamedTuple):
    """Something in a session's files that could not be read."""

    file: str
    line: int
    reason: str


@dataclass(slots=True)
class SessionState:
    """The rows of one session.

    Attributes:
        rows: table, then key, then row; columns that were never written are missing.
        events: in order.
        is_native: the files have rows of every table; the original tracer wrote events only.
        faults: damaged lines; everything else was read.
        waiting: bytes at the ends of files that belong to no whole line.
    """

    rows: dict[str, dict[tuple[object, ...], Row]] = field(
        default_factory=lambda: {table: {} for table in TABLES if table != "events"}
    )
    events: list[EventRow] = field(default_factory=list)
    is_native: bool = False
    faults: list[Fault] = field(default_factory=list)
    waiting: int = 0

    def apply(self, record: Row) -> None:
        """Take in one line of ``state.jsonl``; later lines change earlier rows."""
        table = record.get("table")
        if not isinstance(table, str) or table not in self.rows:
            return
        void = record.get("void")
        if isinstance(void, dict):
            self.rows[table].pop((as_int(void.get("id")),), None)
            return
        row = known_columns(table, record.get("row"))
        key = tuple(row.get(column) for column in TABLES[table].key)
        if None not in key:
            self.rows[table].setdefault(key, {}).update(row)

    def of(self, table: str) -> list[Row]:
        """Return the rows of a table in the order in which they were first written."""
        return list(self.rows[table].values())

    def session(self) -> Row:
        """Return the session's row, empty when there is none."""
        return next(iter(self.rows["sessions"].values()), {})


class StateFollower:
    """Reads every row but the events, the next time only what was written since."""

    def __init__(self, files: SessionFiles) -> None:
        self._files = files
        self._state = SessionState()
        self._read_to = 0

    def read(self) -> SessionState:
        """Return the rows of now; the same object each time."""
        self._state.is_native = self._files.state.exists()
        for record in records(self._files.state, self._read_to):
            self._read_to = record.end
            if record.value is None:
                self._state.faults.append(Fault(self._files.state.name, record.number, record.fault))
            else:
                self._state.apply(record.value)
        return self._state


def replay_state(files: SessionFiles) -> SessionState:
    """Read every row but the events."""
    return StateFollower(files).read()


def replay(files: SessionFiles) -> SessionState:
    """Read all rows of a session, those of the original tracer's sessions as far as its files hold them."""
    state = replay_state(files)
    for record in records(files.events):
        row = event_row(record.value) if record.value is not None else None
        if row is None:
            state.faults.append(Fault(files.events.name, record.number, record.fault or "it has no event_id"))
        else:
            state.events.append(row)
    state.waiting = torn_tail(files.events) + torn_tail(files.state)
    if not state.is_native and state.events:
        from agent_workflow.tracer._legacy import derive  # only sessions of the original tracer need it

        derive(files, state)
    return state


@contextlib.contextmanager
def session_lock(files: SessionFiles, seconds: float | None = None) -> Iterator[None]:
    """Hold what is decided once for a whole session, across processes.

    Args:
        files: the session.
        seconds: how long to wait for somebody else, as long as it takes when omitted.

    Raises:
        OSError: the lock file cannot be opened.
        TimeoutError: somebody else kept it.
    """
    fd = os.open(files.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if seconds is None:
            fcntl.flock(fd, fcntl.LOCK_EX)
        else:
            _wait_for(fd, files.lock, seconds)
        yield
    finally:
        os.close(fd)


def _wait_for(fd: int, path: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise TimeoutError(f"{path} was locked for {seconds:g} s") from None
            time.sleep(0.01)
        else:
            return
