"""Opening anybody's trace database for reading, changing nothing in it."""

import os
import sqlite3
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agent_workflow.tracer._connect import BUSY_TIMEOUT_MS
from agent_workflow.tracer._errors import NotATrace, NoTrace, TraceReadError

HOW_TO_GET_ONE: Final = "run a workflow, name one with --db, or agent-workflow trace rebuild"


def open_reader(path: Path, *, wait_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """Open a trace database read-only.

    Args:
        path: of the database.
        wait_ms: how long opening and each read wait for somebody's lock.

    Returns:
        A connection that cannot write; rows can be read by column name.

    Raises:
        NoTrace: there is no such file, or nothing is in it yet.
        NotATrace: it is no SQLite database, or has no ``sessions`` table.
        TraceReadError: it cannot be opened or read.
    """
    if not path.is_file():
        raise NoTrace("no trace database", path=path, hint=HOW_TO_GET_ONE)
    try:
        return _probe(_connect(path, "mode=ro"), path, wait_ms)
    except sqlite3.DatabaseError as error:
        if not _is_access_problem(error):
            raise NotATrace(f"not a trace database: {error}", path=path) from error
        first = error
    # A cleanly closed database in a folder that cannot be written to has no -shm, and WAL cannot be opened without
    # one. Only when no log is waiting is the file alone the whole truth.
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        raise TraceReadError(f"cannot be read: {first}", path=path, hint="its folder must be writable") from first
    try:
        return _probe(_connect(path, "mode=ro&immutable=1"), path, wait_ms)
    except sqlite3.DatabaseError as error:
        raise TraceReadError(f"cannot be read: {error}", path=path) from error


def _connect(path: Path, options: str) -> sqlite3.Connection:
    # A path may hold "?", "#" or "%", which mean something in a URI, and bytes that are no text.
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?{options}", uri=True, isolation_level=None, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    return connection


def _probe(connection: sqlite3.Connection, path: Path, wait_ms: int) -> sqlite3.Connection:
    try:
        connection.execute(f"PRAGMA busy_timeout = {wait_ms}")
        connection.execute("PRAGMA trusted_schema = OFF")
        # A constant select succeeds on any file; reading the schema proves that this is a database.
        tables = {
            row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
    except sqlite3.Error:
        connection.close()
        raise
    if not tables:  # its first writer has made the file and not yet the tables
        connection.close()
        raise NoTrace("the trace database is still empty", path=path, hint="try again, or agent-workflow trace rebuild")
    if "sessions" not in tables:
        connection.close()
        raise NotATrace("no trace database: it has no table of sessions", path=path)
    return connection


def _is_access_problem(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
