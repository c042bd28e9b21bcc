"""Bring a trace database up to date, adding only: an older reader must still find what it knows."""

import secrets
import sqlite3
from typing import Final

from agent_workflow.trace_schema._tables import LATE_COLUMNS, TABLES

SCHEMA_VERSION: Final = 2
"""``user_version`` of a database that has everything below. The original tracer leaves it at 0."""

_EXTRAS: Final = (
    "CREATE TABLE IF NOT EXISTS trace_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)",
    # The polling contract reads one session's events from a rowid on; without this it scans every run.
    "CREATE INDEX IF NOT EXISTS trace_events_by_session ON events (adw_id)",
    # Lists of sessions need the agents of each; a partial index costs nothing on the frequent tool calls.
    "CREATE INDEX IF NOT EXISTS trace_agent_events ON events (adw_id, type) WHERE type IN ('agent_start', 'agent_end')",
    "CREATE INDEX IF NOT EXISTS trace_phases_by_session ON phases (adw_id, seq)",
    "CREATE INDEX IF NOT EXISTS trace_gates_by_session ON gate_results (adw_id)",
    "CREATE INDEX IF NOT EXISTS trace_envelopes_by_session ON envelopes (adw_id)",
    "CREATE INDEX IF NOT EXISTS trace_processes_by_session ON processes (adw_id)",
)


class NewerTraceSchema(Exception):
    """The database was written by a newer version than this one."""


def migrate(connection: sqlite3.Connection) -> bool:
    """Create what is missing in one transaction, together with ``user_version``.

    Args:
        connection: in autocommit mode (``isolation_level=None``), busy timeout set.

    Returns:
        Whether anything had to be done.

    Raises:
        NewerTraceSchema: ``user_version`` is above ours; nothing was changed.
        sqlite3.Error: the database is locked, damaged or read-only; nothing was changed.
    """
    if _version(connection) == SCHEMA_VERSION:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _version(connection)  # another process may have been first
        if version > SCHEMA_VERSION:
            raise NewerTraceSchema(f"trace schema {version} is newer than {SCHEMA_VERSION}")
        if version < SCHEMA_VERSION:
            _create(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # where the disk failed, SQLite has rolled back itself
            connection.execute("ROLLBACK")
        raise
    return version < SCHEMA_VERSION


def generation(connection: sqlite3.Connection) -> str:
    """Return the name of this filling of the database; it changes when rowids start again."""
    row = connection.execute("SELECT value FROM trace_meta WHERE key = 'generation'").fetchone()
    return str(row[0]) if row else ""


def renew_generation(connection: sqlite3.Connection) -> str:
    """Name a new generation, inside the caller's transaction."""
    name = secrets.token_hex(8)
    connection.execute("INSERT OR REPLACE INTO trace_meta (key, value) VALUES ('generation', ?)", (name,))
    return name


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _create(connection: sqlite3.Connection) -> None:
    for name, table in TABLES.items():
        columns = ", ".join(f"{column} {declaration}" for column, declaration in table.columns.items())
        composite = f", PRIMARY KEY ({', '.join(table.key)})" if len(table.key) > 1 else ""
        connection.execute(f"CREATE TABLE IF NOT EXISTS {name} ({columns}{composite})")
        _add_late_columns(connection, name)
    for statement in _EXTRAS:
        connection.execute(statement)
    if not generation(connection):
        renew_generation(connection)
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _add_late_columns(connection: sqlite3.Connection, name: str) -> None:
    present = {row[1] for row in connection.execute(f"PRAGMA table_info({name})").fetchall()}
    for column in LATE_COLUMNS.get(name, ()):
        if column not in present:
            connection.execute(f"ALTER TABLE {name} ADD COLUMN {column} {TABLES[name].columns[column]}")
