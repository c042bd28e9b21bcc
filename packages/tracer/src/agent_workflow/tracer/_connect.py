"""Opening a trace database for writing."""

import sqlite3
import time
from pathlib import Path
from typing import Final

from agent_workflow.trace_schema import migrate

BUSY_TIMEOUT_MS: Final = 5000


def open_writer(path: Path) -> sqlite3.Connection:
    """Open, create or upgrade a trace database; many processes may do so at once.

    Returns:
        A connection in autocommit mode, usable from any thread (one at a time).

    Raises:
        sqlite3.Error: locked for longer than the timeout, damaged, full, or no database.
        NewerTraceSchema: a newer version wrote it.
        OSError: its directory cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(
        path, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None, check_same_thread=False, cached_statements=64
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        # Small pages: each event is one commit, and a commit writes every page that it touched to the log.
        connection.execute("PRAGMA page_size = 2048")
        _enable_wal(connection)
        connection.execute("PRAGMA synchronous = NORMAL")
        # The log is copied back between phases, off the way of events; this only bounds one very long phase.
        connection.execute("PRAGMA wal_autocheckpoint = 32000")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _enable_wal(connection: sqlite3.Connection) -> None:
    # The switch does not wait for the busy timeout, so two first openers would see "database is locked".
    deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
    while connection.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
