"""Reading the index as anybody can: the database file, read-only, without the product."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

Cell = str | int | float | None
Row = dict[str, Cell]
Dump = dict[str, list[tuple[str, ...]]]

# What differs between two looks at the same evidence, and nothing else: when it was indexed, and by which pass.
_TIMES = frozenset({"indexed_at", "detected_at", "applied_at"})
_PASS_METADATA = frozenset({"last_sync_at", "generation"})

# Which column names the run that a row belongs to.
_OWNER_COLUMNS = ("session_id", "source_session_id", "owner_run_id")
_OF_WORKFLOWS = frozenset({"workflow_nodes", "workflow_edges"})
_OF_THE_HOST = frozenset({"index_metadata", "repair_checkpoints", "schema_migrations"})


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def rows_of(database: Path, table: str, where: str = "1", *values: Cell) -> list[Row]:
    """Return the rows of a table or view that satisfy a condition."""
    with opened(database) as connection:
        return _select(connection, table, where, *values)


def row_of(database: Path, table: str, where: str, *values: Cell) -> Row:
    """Return the one row that satisfies a condition."""
    (row,) = rows_of(database, table, where, *values)
    return row


def dump(database: Path) -> Dump:
    """Return every row of every table, sorted, without the times of indexing."""
    with opened(database) as connection:
        found = {table: _select(connection, table) for table in _tables(connection)}
    found["index_metadata"] = [row for row in found["index_metadata"] if row["key"] not in _PASS_METADATA]
    return {table: sorted(_exact(row, _TIMES) for row in rows) for table, rows in found.items()}


def dump_of_others(database: Path, session_id: str) -> Dump:
    """Return every row that belongs to other runs than one, and the other runs' rows of ``run_overview``.

    Numbers of errors and the checkpoints of repairs are left out: they depend on the host as a whole.
    """
    with opened(database) as connection:
        names = [table for table in _tables(connection) if table not in _OF_THE_HOST]
        found = {table: _select(connection, table) for table in [*names, "run_overview"]}
    own = {row["workflow_id"] for row in found["workflows"] if row["owner_run_id"] == session_id}
    return {
        table: sorted(_exact(row, _TIMES | {"error_id"}) for row in rows if not _belongs(row, table, session_id, own))
        for table, rows in found.items()
    }


def everything_said_about(database: Path, session_id: str) -> str:
    """Return the errors and notices about one run, as one text to look for places in."""
    errors = rows_of(database, "index_errors", "session_id = ?", session_id)
    notices = rows_of(database, "notices", "session_id = ? OR source_path LIKE ?", session_id, f"%/{session_id}%")
    return "\n".join(f"{row['source_path']} {row['detail']}" for row in errors + notices)


def _select(connection: sqlite3.Connection, table: str, where: str = "1", *values: Cell) -> list[Row]:
    return [dict(row) for row in connection.execute(f"SELECT * FROM {table} WHERE {where}", values)]


def _tables(connection: sqlite3.Connection) -> list[str]:
    names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(str(name) for (name,) in names)


def _belongs(row: Row, table: str, session_id: str, own_workflows: set[Cell]) -> bool:
    if table in _OF_WORKFLOWS:
        return row["workflow_id"] in own_workflows
    owner = next((row[column] for column in _OWNER_COLUMNS if column in row), None)
    if owner is None and "source_path" in row:
        return f"/{session_id}" in str(row["source_path"])
    return owner == session_id


def _exact(row: Row, without: frozenset[str]) -> tuple[str, ...]:
    """Make a row comparable and sortable without blurring 1 and 1.0, or NULL and an empty text."""
    return tuple(f"{column}={value!r}" for column, value in row.items() if column not in without)
