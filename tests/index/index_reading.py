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


@contextmanager
def opened(database: Path) -> Iterator[sqlite3.Connection]:
    """Open the database read-only."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def rows_of(database: Path, table: str, where: str = "1", *values: Cell) -> list[Row]:
    """Return the rows of a table or view that satisfy a condition."""
    with opened(database) as connection:
        return [dict(row) for row in connection.execute(f"SELECT * FROM {table} WHERE {where}", values)]


def row_of(database: Path, table: str, where: str, *values: Cell) -> Row:
    """Return the one row that satisfies a condition."""
    (row,) = rows_of(database, table, where, *values)
    return row


def tables(database: Path) -> list[str]:
    """Return the names of all tables, without SQLite's own."""
    with opened(database) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        return sorted(str(name) for (name,) in names)


def dump(database: Path) -> Dump:
    """Return every row of every table, sorted, without the times of indexing."""
    found: Dump = {}
    for table in tables(database):
        rows = rows_of(database, table)
        if table == "index_metadata":
            rows = [row for row in rows if row["key"] not in _PASS_METADATA]
        found[table] = sorted(_exact(row, _TIMES) for row in rows)
    return found


def dump_of_others(database: Path, session_id: str) -> Dump:
    """Return every row that belongs to other runs than one, and the other runs' rows of ``run_overview``.

    Numbers of errors and the checkpoints of repairs are left out: they depend on the host as a whole.
    """
    found: Dump = {}
    own_workflows = {row["workflow_id"] for row in rows_of(database, "workflows") if row["owner_run_id"] == session_id}
    for table in [*tables(database), "run_overview"]:
        if table in ("index_metadata", "repair_checkpoints", "schema_migrations"):
            continue
        others = [row for row in rows_of(database, table) if not _belongs(row, table, session_id, own_workflows)]
        found[table] = sorted(_exact(row, _TIMES | {"error_id"}) for row in others)
    return found


def everything_said_about(database: Path, session_id: str) -> str:
    """Return the errors and notices about one run, as one text to look for places in."""
    errors = rows_of(database, "index_errors", "session_id = ?", session_id)
    notices = rows_of(database, "notices", "session_id = ? OR source_path LIKE ?", session_id, f"%/{session_id}%")
    return "\n".join(f"{row['source_path']} {row['detail']}" for row in errors + notices)


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
