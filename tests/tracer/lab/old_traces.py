"""Trace databases as some writer of some time left them."""

import sqlite3
from pathlib import Path

BASE = {
    "sessions": "adw_id TEXT PRIMARY KEY, request TEXT, status TEXT, engineer TEXT, started_at TEXT, ended_at TEXT, total_tokens INTEGER, total_cost REAL",  # noqa: E501 - a program or a schema in one piece
    "phases": "phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, kind TEXT, owner TEXT, description TEXT, status TEXT DEFAULT 'fail', attempt INTEGER DEFAULT 0, retries INTEGER DEFAULT 0, error TEXT, started_at TEXT, ended_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "events": "event_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, parent_id TEXT, type TEXT, name TEXT, payload_json TEXT, tokens INTEGER, started_at TEXT, ended_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "envelopes": "envelope_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, agent TEXT, output_type TEXT, payload_json TEXT, valid INTEGER, attempt INTEGER, created_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "gate_results": "id INTEGER PRIMARY KEY, adw_id TEXT, phase_id TEXT, attempt INTEGER, gate TEXT, passed INTEGER, violations_json TEXT, created_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "agent_sessions": "adw_id TEXT, agent TEXT, coding_agent TEXT, model TEXT, session_id TEXT, created_at TEXT, last_used_at TEXT, PRIMARY KEY (adw_id, agent)",  # noqa: E501 - a program or a schema in one piece
}
LATER = [
    "ALTER TABLE agent_sessions ADD COLUMN color TEXT",
    "ALTER TABLE gate_results ADD COLUMN checks_json TEXT",
    "CREATE TABLE processes (id INTEGER PRIMARY KEY, adw_id TEXT, kind TEXT, name TEXT, pid INTEGER, command TEXT, started_at TEXT, ended_at TEXT)",  # noqa: E501 - a program or a schema in one piece
    "ALTER TABLE sessions ADD COLUMN adw_name TEXT",
    "ALTER TABLE agent_sessions ADD COLUMN context_tokens INTEGER",
    "ALTER TABLE agent_sessions ADD COLUMN context_window INTEGER",
    "ALTER TABLE sessions ADD COLUMN archived INTEGER DEFAULT 0",
]
FOREIGN = [
    "ALTER TABLE sessions ADD COLUMN branch TEXT",
    "ALTER TABLE sessions ADD COLUMN cost_basis TEXT",
    "ALTER TABLE events ADD COLUMN node_id TEXT",
    "CREATE TABLE tickets (id TEXT PRIMARY KEY, title TEXT)",
    "UPDATE sessions SET status = 'waiting'",
    "UPDATE events SET type = 'gate_could_not_observe' WHERE rowid = 1",
    "INSERT INTO gate_results (adw_id, phase_id, gate) VALUES ('old1', 'old1_01_plan', 'blind')",
]
READING = [
    ["trace", "sessions", "--all"],
    ["trace", "phases", "old1"],
    ["trace", "events", "old1"],
    ["trace", "tail", "old1"],
    ["trace", "tail", "old1", "-f"],
    ["trace", "procs"],
    ["trace", "procs", "old1"],
    ["trace", "kill", "old1"],  # it has ended: nothing is signalled, and nothing is written
]


def make(path: Path, statements: list[str]) -> None:
    """Write a database as some writer of some time left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for name, columns in BASE.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
    moment = "2026-01-02T03:04:05.678+00:00"
    connection.execute(
        "INSERT INTO sessions (adw_id, request, status, started_at) VALUES ('old1', 'Do it', 'success', ?)", [moment]
    )
    connection.execute(
        "INSERT INTO phases (phase_id, adw_id, seq, name, status) VALUES ('old1_01_plan', 'old1', 1, 'plan', 'success')"
    )
    connection.execute(
        "INSERT INTO events (event_id, adw_id, type, name, payload_json, started_at) VALUES ('evt_1', 'old1', 'log', 'hello', '{}', ?)",  # noqa: E501 - a program or a schema in one piece
        [moment],
    )
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def add_event(db: Path, event_id: str, at: str) -> None:
    """Add an event to a session, as a writer that says nothing in the session's row."""
    connection = sqlite3.connect(db)
    connection.execute(
        "INSERT INTO events (event_id, adw_id, type, name, payload_json, started_at) VALUES (?, 'old1', 'log', 'on', '{}', ?)",  # noqa: E501 - a program or a schema in one piece
        [event_id, at],
    )
    connection.commit()
    connection.close()
