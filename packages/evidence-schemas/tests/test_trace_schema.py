"""The trace database's tables and migrations."""

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_workflow.trace_schema import (
    EVENT_TYPES,
    LATE_COLUMNS,
    PAYLOADS,
    SCHEMA_VERSION,
    TABLES,
    NewerTraceSchema,
    generation,
    migrate,
    renew_generation,
)

CONTRACT = {
    "sessions": (
        "adw_id adw_name request status engineer started_at ended_at total_tokens total_cost archived"
        " estimated_cost price_catalogue cost_basis"
    ),
    "phases": "phase_id adw_id seq name kind owner description status attempt retries error started_at ended_at",
    "events": "event_id adw_id phase_id parent_id type name payload_json tokens started_at ended_at",
    "envelopes": "envelope_id adw_id phase_id agent output_type payload_json valid attempt created_at",
    "gate_results": "id adw_id phase_id attempt gate passed violations_json checks_json created_at",
    "processes": "id adw_id kind name pid command started_at ended_at start_marker",
    "agent_sessions": (
        "adw_id agent coding_agent model color session_id context_tokens context_window created_at last_used_at"
    ),
}


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    """Open an empty database in autocommit mode."""
    opened = sqlite3.connect(":memory:", isolation_level=None)
    yield opened
    opened.close()


def columns(connection: sqlite3.Connection, table: str) -> list[str]:
    """Return the columns of a table in order."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})").fetchall()]


def test_new_database_has_the_contract_s_tables(connection: sqlite3.Connection) -> None:
    """A new database has the seven tables with exactly their columns, and our start time."""
    assert migrate(connection)

    assert {name: text.split() for name, text in CONTRACT.items()} == {
        name: columns(connection, name) for name in CONTRACT
    }
    assert (SCHEMA_VERSION,) == connection.execute("PRAGMA user_version").fetchone()
    assert set(CONTRACT) == set(TABLES)


def test_migrating_twice_changes_nothing(connection: sqlite3.Connection) -> None:
    """A current database is left alone, its generation too."""
    migrate(connection)
    name = generation(connection)

    assert not migrate(connection)
    assert name == generation(connection)


def test_defaults(connection: sqlite3.Connection) -> None:
    """A phase has failed until it is said otherwise, and a session is not archived."""
    migrate(connection)
    connection.execute("INSERT INTO phases (phase_id) VALUES ('p')")
    connection.execute("INSERT INTO sessions (adw_id) VALUES ('s')")

    assert ("fail", 0, 0) == connection.execute("SELECT status, attempt, retries FROM phases").fetchone()
    assert (0, None) == connection.execute("SELECT archived, total_tokens FROM sessions").fetchone()


def test_older_tables_get_the_later_columns(connection: sqlite3.Connection) -> None:
    """What is missing is added behind what is there; rows and foreign columns stay."""
    connection.execute("CREATE TABLE sessions (adw_id TEXT PRIMARY KEY, request TEXT, branch TEXT)")
    connection.execute("CREATE TABLE gate_results (id INTEGER PRIMARY KEY, adw_id TEXT)")
    connection.execute("INSERT INTO sessions VALUES ('old', 'Do it', 'main')")

    migrate(connection)

    assert ["adw_id", "request", "branch", *LATE_COLUMNS["sessions"]] == columns(connection, "sessions")
    (found,) = connection.execute("SELECT * FROM sessions").fetchall()
    assert ("old", "Do it", "main", None, 0, None, None, None) == found


def test_a_database_of_the_first_version_gets_the_columns_of_money(connection: sqlite3.Connection) -> None:
    """What is estimated has columns of its own; what was there stays."""
    connection.execute("CREATE TABLE sessions (adw_id TEXT PRIMARY KEY, total_cost REAL)")
    connection.execute("INSERT INTO sessions VALUES ('old', 0.5)")
    connection.execute("PRAGMA user_version = 1")

    assert migrate(connection)

    columns = "total_cost, estimated_cost, price_catalogue, cost_basis"
    assert [(0.5, None, None, None)] == connection.execute(f"SELECT {columns} FROM sessions").fetchall()


def test_newer_database_is_refused(connection: sqlite3.Connection) -> None:
    """A database of a newer version is not touched."""
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")

    with pytest.raises(NewerTraceSchema):
        migrate(connection)

    assert [] == connection.execute("SELECT name FROM sqlite_master").fetchall()


def test_failed_migration_leaves_nothing(connection: sqlite3.Connection) -> None:
    """A migration that fails in the middle leaves the database as it was."""
    connection.execute("CREATE VIEW agent_sessions AS SELECT 1 AS adw_id")  # cannot be altered like a table

    with pytest.raises(sqlite3.Error):
        migrate(connection)

    assert [("agent_sessions",)] == connection.execute("SELECT name FROM sqlite_master").fetchall()
    assert (0,) == connection.execute("PRAGMA user_version").fetchone()


def test_a_disk_that_takes_no_more_is_what_is_said(tmp_path: Path) -> None:
    """SQLite then rolls back by itself, and there is nothing left to roll back."""
    program = (
        "import resource, sqlite3, sys; from agent_workflow.trace_schema import migrate\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n"
        "migrate(connection)"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "sssf.db")]

    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    assert done.stderr.splitlines()[-1] in (
        "sqlite3.OperationalError: disk I/O error",
        "sqlite3.OperationalError: database or disk is full",
    )


def test_generation_is_renewed(connection: sqlite3.Connection) -> None:
    """A new filling has a new name."""
    migrate(connection)
    before = generation(connection)

    assert before != renew_generation(connection) == generation(connection)


def test_every_event_type_has_a_payload() -> None:
    """The ten types and their payload models agree."""
    assert EVENT_TYPES == set(PAYLOADS)
    assert 10 == len(EVENT_TYPES)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("gate_pass", {"attempt": -1}),
        ("agent_end", {}),
        ("agent_end", {"cost": float("nan")}),
        ("tool_call", {}),
        ("phase_start", {"kind": "code", "owner": "ci"}),
    ],
)
def test_payload_that_is_none(kind: str, payload: dict[str, object]) -> None:
    """A payload without its required fields, or with impossible numbers, is not valid."""
    with pytest.raises(ValueError, match="validation error"):
        PAYLOADS[kind].model_validate(payload)
