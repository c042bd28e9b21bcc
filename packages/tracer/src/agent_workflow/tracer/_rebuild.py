"""Filling the trace database again from the session directories."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agent_workflow.trace_schema import INSERT_EVENT, TABLES, NewerTraceSchema, renew_generation
from agent_workflow.tracer import _clock
from agent_workflow.tracer._connect import open_writer
from agent_workflow.tracer._errors import NoSuchSession, NotATrace, TraceReadError
from agent_workflow.tracer._files import SessionFiles, session_directories
from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer._journal import records
from agent_workflow.tracer._legacy import NOT_IN_FILES
from agent_workflow.tracer._open_reader import open_reader
from agent_workflow.tracer._replay import SessionState, replay
from agent_workflow.tracer._rows import apply_state, known_columns

_SQLITE_HEADER = b"SQLite format 3\0"


@dataclass(slots=True)
class RebuildReport:
    """What a rebuild did and what it could not do.

    Attributes:
        sessions: ids that were filled in from their files.
        rows: how many rows of each table came from files.
        not_recoverable: sentences on what the files do not hold.
        damaged: sentences on lines that could not be read, with file and line.
        waiting: sentences on tails without a newline, which a writer may still complete.
        only_in_database: sessions without a directory; their rows were left as they are.
        set_aside: where a damaged database was moved.
        generation: of the database now.
    """

    sessions: list[str] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=lambda: dict.fromkeys(TABLES, 0))
    not_recoverable: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    only_in_database: list[str] = field(default_factory=list)
    set_aside: Path | None = None
    generation: str = ""

    @property
    def lost_nothing(self) -> bool:
        """Whether every row that the sessions ever had is there."""
        return not self.not_recoverable and not self.damaged


def rebuild(db: Path | str, data_dir: Path | str, *, session: str | None = None) -> RebuildReport:
    """Fill the database from the files, in one transaction, as a new generation.

    Runs may go on meanwhile: they wait, or catch up from their files. Rows that only the database has (sessions
    without a directory, tables and columns of other writers) stay.

    Args:
        db: the trace database; made when there is none.
        data_dir: its ``sessions`` folder is read.
        session: only this one.

    Raises:
        NotATrace: the file exists and is no SQLite database.
        NoSuchSession: there is no directory of the session that was named.
        TraceReadError: the database is locked, cannot be written, or a newer version wrote it.
    """
    path, folder = Path(db), Path(data_dir)
    directories = [files for files in session_directories(folder) if is_valid_id(files.adw_id)]
    if session is not None:
        directories = [files for files in directories if files.adw_id == session]
        if not directories:
            raise NoSuchSession(f"no session {session}", path=folder / "sessions")
    try:
        return _fill(path, directories, everything=session is None)
    except sqlite3.OperationalError as error:
        raise TraceReadError(f"cannot be rebuilt: {error}", path=path) from error
    except NewerTraceSchema as error:
        hint = "use the newer agent-workflow, or name another one with --db"
        raise TraceReadError(str(error), path=path, hint=hint) from error
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            raise TraceReadError(f"cannot be rebuilt: {error}", path=path) from error
        aside = _set_aside(path, error)
    report = _fill(path, directories, everything=session is None)
    report.set_aside = aside
    return report


def _fill(path: Path, directories: list[SessionFiles], *, everything: bool) -> RebuildReport:
    report = RebuildReport()
    _refuse_foreign(path)
    connection = open_writer(path)
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if everything:
                known = {row[0] for row in connection.execute("SELECT adw_id FROM sessions").fetchall()}
                report.only_in_database = sorted(known - {files.adw_id for files in directories})
            for files in sorted(directories, key=_began):
                # Read only now: what a run has committed so far is in its file, and nothing new can be committed.
                _fill_session(connection, files, replay(files), report)
            report.generation = renew_generation(connection)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    finally:
        connection.close()
    return report


def _refuse_foreign(path: Path) -> None:
    """Look at a database before tables are added to it.

    Raises:
        NotATrace: it holds something else.
    """
    try:
        open_reader(path).close()
    except NotATrace as error:
        if error.__cause__ is None:  # else it is damaged, which is told apart where it is moved aside
            raise
    except TraceReadError:
        return  # missing, empty or locked: the writer finds out


def _began(files: SessionFiles) -> str:
    """Return when a session began, so that rowids follow time: its first line says so in either kind of file."""
    for path in (files.state, files.events):
        for record in records(path):
            if record.value is not None:
                return str(record.value.get("ts"))
    return ""


def _fill_session(
    connection: sqlite3.Connection, files: SessionFiles, state: SessionState, report: RebuildReport
) -> None:
    adw_id = files.adw_id
    report.sessions.append(adw_id)
    for fault in state.faults:
        report.damaged.append(f"{files.directory / fault.file}, line {fault.line}: {fault.reason}")
    if state.waiting:
        report.waiting.append(f"{files.directory}: {state.waiting} bytes of an unfinished line")
    if state.is_native:
        _replace(connection, adw_id, state, report)
        return
    if state.events:
        missing = _supply(connection, adw_id, state, report)
        report.not_recoverable.extend(f"{adw_id}: {item}" for item in NOT_IN_FILES if item.split(".")[0] in missing)


def _replace(connection: sqlite3.Connection, adw_id: str, state: SessionState, report: RebuildReport) -> None:
    """Put the session's rows from the files in place of those that are there."""
    archived = connection.execute("SELECT archived FROM sessions WHERE adw_id = ?", (adw_id,)).fetchone()
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE adw_id = ?", (adw_id,))  # noqa: S608 - names from TABLES
    for table in state.rows:
        for row in state.of(table):
            if not apply_state(connection, {"table": table, "row": row}):
                report.damaged.append(f"{adw_id}: {table} {row.get('id')} belongs to another session as well")
            report.rows[table] += 1
    _insert_events(connection, state, report)
    if archived is not None and archived[0] is not None:
        # The review flag is the reader's; other viewers set it in the database alone.
        connection.execute("UPDATE sessions SET archived = ? WHERE adw_id = ?", (archived[0], adw_id))


def _supply(connection: sqlite3.Connection, adw_id: str, state: SessionState, report: RebuildReport) -> set[str]:
    """Add what the database lacks; return the tables that had to be told from the events."""
    missing = set()
    for table in TABLES:
        count = connection.execute(f"SELECT COUNT(*) FROM {table} WHERE adw_id = ?", (adw_id,)).fetchone()  # noqa: S608 - names from TABLES
        if table != "events" and not count[0]:
            missing.add(table)
            _insert(connection, table, state.of(table), report)
    _insert_events(connection, state, report)
    if "envelopes" in missing and "gate_results" in missing:
        missing.add("ids of envelopes and gate results")
    return missing | ({"envelopes that did not parse or were replaced"} if "envelopes" in missing else set())


def _insert(
    connection: sqlite3.Connection, table: str, rows: Iterable[dict[str, object]], report: RebuildReport
) -> None:
    for told in rows:
        row = known_columns(table, told)
        marks = ", ".join("?" * len(row))
        statement = f"INSERT OR IGNORE INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608 - names from TABLES
        if connection.execute(statement, tuple(row.values())).rowcount:
            report.rows[table] += 1
        else:
            key = row.get(TABLES[table].key[0])
            report.damaged.append(f"{row['adw_id']}: {table} {key} belongs to another session as well")


def _insert_events(connection: sqlite3.Connection, state: SessionState, report: RebuildReport) -> None:
    connection.executemany(INSERT_EVENT, state.events)
    report.rows["events"] += len(state.events)


def _set_aside(path: Path, error: sqlite3.DatabaseError) -> Path:
    """Move a damaged database away with its log; one that never was a database is left alone."""
    with path.open("rb") as stream:
        header = stream.read(len(_SQLITE_HEADER))
    if header != _SQLITE_HEADER:
        raise NotATrace(f"not a database: {error}", path=path, hint="name another one with --db") from error
    suffix = f".damaged-{_clock.now()[:19].replace(':', '')}"
    for extension in ("", "-wal", "-shm"):
        part = path.with_name(path.name + extension)
        if part.exists():
            part.rename(part.with_name(path.name + suffix + extension))
    return path.with_name(path.name + suffix)
