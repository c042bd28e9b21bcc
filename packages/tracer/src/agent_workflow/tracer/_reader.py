"""The one reader of trace databases: ours, older ones and those of other writers."""

import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._connect import BUSY_TIMEOUT_MS
from agent_workflow.tracer._errors import NoSuchSession
from agent_workflow.tracer._identity import RecordedProcess
from agent_workflow.tracer._liveness import ProcessRow, Shown, judged, look
from agent_workflow.tracer._resumed import resumed
from agent_workflow.tracer._shown import LOST, RUNNING
from agent_workflow.tracer._source import Row, TraceSource

_MAX_EVENTS: Final = 10_000
_NUMBERS: Final = {
    name: [column for column, declared in table.columns.items() if declared.startswith(("INTEGER", "REAL"))]
    for name, table in TABLES.items()
}


class EventPage(NamedTuple):
    """Some events of one session, oldest first.

    Attributes:
        events: rows with their ``rowid``.
        cursor: give it back to read on.
        generation: when it changes, rowids have started again: read from 0.
        has_more: the page was full.
    """

    events: list[Row]
    cursor: int
    generation: str
    has_more: bool


class TraceReader:
    """Reads one trace database without ever changing it.

    Tables and columns that are missing read as empty and ``None``; what other writers added is left out. Threads may
    share a reader; they take turns.
    """

    def __init__(self, path: Path | str) -> None:
        """Open the database.

        Raises:
            NoTrace, NotATrace, TraceReadError: it is missing, is none, or cannot be read.
        """
        self.path = Path(path)
        self._source = TraceSource(self.path, wait_ms=BUSY_TIMEOUT_MS)
        self._lock = threading.RLock()

    def __enter__(self) -> "TraceReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._source.close()

    def columns(self, table: str) -> set[str]:
        """Return the columns that the database really has, none for a missing table."""
        with self._lock:
            self._source.notice_schema()
            return set(self._source.columns(table))

    def generation(self) -> str:
        """Name this filling of the database: when it changes, rowids have started again."""
        with self._lock:
            self._source.notice_schema()
            return self._source.generation()

    def sessions(self, *, limit: int = 200, include_archived: bool = False) -> list[Row]:
        """Return sessions, newest first, each with its shown status and counts.

        Args:
            limit: at most so many.
            include_archived: also those that were put away.

        Returns:
            The columns of the table and ``shown_status``, ``phase_count``, ``last_event_at``.
        """
        archived = "" if include_archived or "archived" not in self.columns("sessions") else "COALESCE(archived, 0) = 0"
        rows = self._select("sessions", archived, "ORDER BY started_at DESC, rowid DESC LIMIT ?", limit)
        return self._with_shown_status(rows)

    def running_sessions(self) -> list[Row]:
        """Return the sessions that are stored as running, with what is shown for them."""
        return self._with_shown_status(self._select("sessions", "status = ?", "", RUNNING))

    def session(self, adw_id: str) -> Row:
        """Return one session with its shown status.

        Raises:
            NoSuchSession: the trace does not hold it.
        """
        rows = self._select("sessions", "adw_id = ?", "", adw_id)
        if not rows:
            raise NoSuchSession(f"no session {adw_id}", path=self.path, hint="agent-workflow trace sessions --all")
        return self._with_shown_status(rows)[0]

    def phases(self, adw_id: str) -> list[Row]:
        """Return the phases of a session in order."""
        return self._select("phases", "adw_id = ?", "ORDER BY seq, started_at", adw_id)

    def events(
        self, adw_id: str, *, after: int = 0, limit: int = 500, types: tuple[str, ...] = (), newest: bool = False
    ) -> EventPage:
        """Return events of a session after a rowid, oldest first.

        Args:
            adw_id: the session.
            after: the cursor of the last page, 0 for the first.
            limit: at most so many, 10,000 at most.
            types: only events of these types, unknown ones included; all when empty.
            newest: the last ``limit`` events instead of the first.
        """
        wanted = max(1, min(limit, _MAX_EVENTS))
        marks = f" AND type IN ({', '.join('?' * len(types))})" if types else ""
        order = "ORDER BY rowid DESC LIMIT ?" if newest else "ORDER BY rowid LIMIT ?"
        with self._lock, self._source.snapshot():  # the rows and the generation that their rowids belong to
            generation = self._source.generation()
            rows = self._select("events", "adw_id = ? AND rowid > ?" + marks, order, adw_id, after, *types, wanted)
        if newest:
            rows.reverse()
        cursor = rows[-1]["rowid"] if rows else after
        return EventPage(rows, cursor, generation, len(rows) == wanted)

    def envelopes(self, adw_id: str) -> list[Row]:
        """Return what the agents of a session handed over, oldest first."""
        return self._select("envelopes", "adw_id = ?", "ORDER BY created_at, rowid", adw_id)

    def gate_results(self, adw_id: str) -> list[Row]:
        """Return what the gates of a session found, oldest first; ``checks_json`` NULL: no evidence recorded."""
        return self._select("gate_results", "adw_id = ?", "ORDER BY id", adw_id)

    def agent_sessions(self, adw_id: str) -> list[Row]:
        """Return the agents of a session."""
        return self._select("agent_sessions", "adw_id = ?", "ORDER BY created_at, agent", adw_id)

    def processes(self, adw_id: str | None = None, *, only_open: bool = False) -> list[ProcessRow]:
        """Return recorded processes with what became of them.

        Args:
            adw_id: of one session, or of all.
            only_open: leave out those that are recorded as ended.
        """
        found = self.columns("processes")
        if not found:
            return []
        conditions = ["1 = 1"]
        if only_open and "ended_at" in found:
            conditions.append("ended_at IS NULL")
        arguments: list[object] = []
        if adw_id is not None:
            conditions.append("adw_id = ?")
            arguments.append(adw_id)
        rows = self._select("processes", " AND ".join(conditions), "ORDER BY id", *arguments)
        return [judged(RecordedProcess.from_row(row)) for row in rows]

    def left_processes(self) -> list[ProcessRow]:
        """Return the processes that are recorded as running though their session has ended."""
        if not {"adw_id", "ended_at"} <= self.columns("processes") or "status" not in self.columns("sessions"):
            return []
        ended = "ended_at IS NULL AND adw_id IN (SELECT adw_id FROM sessions WHERE status IS NOT ?)"
        rows = self._select("processes", ended, "ORDER BY id", RUNNING)
        return [judged(RecordedProcess.from_row(row)) for row in rows]

    def _with_shown_status(self, rows: list[Row]) -> list[Row]:
        with self._lock:
            going_on = resumed(self._source, ())
        for row in rows:
            adw_id = row["adw_id"]
            row["phase_count"], row["last_event_at"] = self._counted(adw_id)
            row["shown_status"] = self._shown_status(row, going_on)
        return rows

    def _counted(self, adw_id: str) -> tuple[int, str | None]:
        """Return how many phases a session has, and when its newest event was."""
        with self._lock:
            source = self._source
            count, last = 0, None
            if source.columns("phases"):
                count = int(source.value("SELECT count(*) FROM phases WHERE adw_id = ?", (adw_id,)))
            if source.columns("events"):
                ended, started = (source.expression("events", name) for name in ("ended_at", "started_at"))
                # Without the payload, which may be large.
                statement = f"SELECT {ended} AS ended, {started} AS started FROM events WHERE adw_id = ?"  # noqa: S608
                for row in source.rows(f"{statement} ORDER BY rowid DESC LIMIT 1", (adw_id,)):
                    last = row["ended"] or row["started"]
        return count, last

    def _shown_status(self, row: Row, going_on: Mapping[str, Shown]) -> str:
        """Say ``running`` for what works, waits or stalls: the viewer's finer words are not the contract's."""
        if row["status"] != RUNNING:
            return RUNNING if row["adw_id"] in going_on else str(row["status"] or "unknown")
        directory = self.path.parent / "sessions" / str(row["adw_id"])
        found = self.processes(row["adw_id"])
        shown = look(RUNNING, row["started_at"], parse_time(row["last_event_at"]), found, directory)
        return LOST if shown.word == LOST else RUNNING

    def _select(self, table: str, where: str, tail: str, *arguments: object) -> list[Row]:
        """Read the columns of the contract; those the database lacks, and numbers that are none, read as ``None``."""
        with self._lock:
            self._source.notice_schema()
            present = self._source.columns(table)
            if not present:
                return []
            wanted = [name if name in present else f"NULL AS {name}" for name in TABLES[table].columns]
            condition = f" WHERE {where}" if where else ""
            # Only names from TABLES and texts of this module get in; values are bound.
            statement = f"SELECT rowid AS rowid, {', '.join(wanted)} FROM {table}{condition} {tail}"  # noqa: S608
            rows = self._source.rows(statement, arguments)
        for row in rows:
            for name in _NUMBERS[table]:
                if not isinstance(row[name], int | float):  # SQLite lets writers put anything anywhere
                    row[name] = None
        return rows
