"""What an import has made, as tests look at it: everything but the order of rows in a file of SQLite."""

import sqlite3
from pathlib import Path
from typing import Any

from agent_workflow.trace_schema import TABLES


def tables(db: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of the seven tables, sorted."""
    connection = sqlite3.connect(db)
    try:
        return {
            table: sorted(connection.execute(f"SELECT {', '.join(TABLES[table].columns)} FROM {table}"), key=repr)
            for table in TABLES
        }
    finally:
        connection.close()


def session_totals(db: Path) -> dict[str, tuple[Any, ...]]:
    """Return status, tokens and money of each session."""
    connection = sqlite3.connect(db)
    try:
        columns = "adw_id, status, total_tokens, total_cost, estimated_cost, cost_basis"
        return {row[0]: tuple(row[1:]) for row in connection.execute(f"SELECT {columns} FROM sessions")}
    finally:
        connection.close()
