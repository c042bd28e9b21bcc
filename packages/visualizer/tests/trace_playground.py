"""Trace databases as other tracers write them, and a client that talks to the application without a socket."""

import json
import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from agent_workflow.visualizer import create_app

BASE = """
CREATE TABLE sessions (adw_id TEXT PRIMARY KEY, request TEXT, status TEXT, engineer TEXT, started_at TEXT,
  ended_at TEXT, total_tokens INTEGER, total_cost REAL);
CREATE TABLE phases (phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, kind TEXT, owner TEXT,
  description TEXT, status TEXT DEFAULT 'fail', attempt INTEGER, retries INTEGER, error TEXT, started_at TEXT,
  ended_at TEXT);
CREATE TABLE events (event_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, parent_id TEXT, type TEXT, name TEXT,
  payload_json TEXT, tokens INTEGER, started_at TEXT, ended_at TEXT);
CREATE TABLE envelopes (envelope_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, agent TEXT, output_type TEXT,
  payload_json TEXT, valid INTEGER, attempt INTEGER, created_at TEXT);
CREATE TABLE gate_results (id INTEGER PRIMARY KEY, adw_id TEXT, phase_id TEXT, attempt INTEGER, gate TEXT,
  passed INTEGER, violations_json TEXT, created_at TEXT);
CREATE TABLE agent_sessions (adw_id TEXT, agent TEXT, coding_agent TEXT, model TEXT, session_id TEXT, created_at TEXT,
  last_used_at TEXT, PRIMARY KEY (adw_id, agent));
"""
"""The oldest tables there are: six of them, no index, nothing that came later."""

LATER = """
CREATE TABLE processes (id INTEGER PRIMARY KEY AUTOINCREMENT, adw_id TEXT, kind TEXT, name TEXT, pid INTEGER,
  command TEXT, started_at TEXT, ended_at TEXT);
ALTER TABLE sessions ADD COLUMN adw_name TEXT;
ALTER TABLE sessions ADD COLUMN archived INTEGER DEFAULT 0;
ALTER TABLE gate_results ADD COLUMN checks_json TEXT;
ALTER TABLE agent_sessions ADD COLUMN color TEXT;
ALTER TABLE agent_sessions ADD COLUMN context_tokens INTEGER;
ALTER TABLE agent_sessions ADD COLUMN context_window INTEGER;
"""
"""What came later, as far as the original tracer went."""

FOREIGN = {
    "the oldest": "",
    "the original": LATER,
    "felipe": LATER + "CREATE TABLE tickets (id TEXT); CREATE TABLE ticket_runs (ticket_id TEXT, adw_id TEXT);",
    "joystick": LATER + "ALTER TABLE agent_sessions ADD COLUMN skill_engineering_json TEXT;"
    "ALTER TABLE agent_sessions ADD COLUMN skill_tokens_estimate INTEGER;",
    "schurik": LATER + "ALTER TABLE sessions ADD COLUMN repo_root TEXT; ALTER TABLE sessions ADD COLUMN branch TEXT;",
    "przemek64": LATER
    + "ALTER TABLE sessions ADD COLUMN branch TEXT; ALTER TABLE sessions ADD COLUMN worktree_path TEXT;"
    "ALTER TABLE sessions ADD COLUMN base_branch TEXT;",
    "gauravdhiman": LATER + "ALTER TABLE sessions ADD COLUMN manifest_json TEXT;",
    "ryancatlin": LATER + "ALTER TABLE sessions ADD COLUMN baseline TEXT;",
    "craverath": LATER + "ALTER TABLE sessions ADD COLUMN total_credits REAL;",
    "tviles": LATER + "ALTER TABLE agent_sessions ADD COLUMN cost_basis TEXT;",
    "maestro": LATER
    + "ALTER TABLE agent_sessions ADD COLUMN node_id TEXT; ALTER TABLE envelopes ADD COLUMN dag_attempt_no"
    " INTEGER; ALTER TABLE gate_results ADD COLUMN dag_attempt_no INTEGER;",
    "inkwell": LATER
    + "ALTER TABLE gate_results ADD COLUMN outcome TEXT; ALTER TABLE gate_results ADD COLUMN cno_reason TEXT;",
    "Woodshape": LATER + "CREATE TABLE subagents (id TEXT); CREATE TABLE subagent_turns (id TEXT);",
    "AuRousKiNN": LATER
    + "CREATE TABLE schema_meta (version INTEGER); ALTER TABLE sessions ADD COLUMN cost_complete INTEGER;"
    "ALTER TABLE processes ADD COLUMN start_marker TEXT; CREATE TABLE agent_invocations (id TEXT);",
    "a column with a nasty name": LATER + 'ALTER TABLE sessions ADD COLUMN "a ""b"", c; --" TEXT;',
    "a newer one": LATER + "PRAGMA user_version = 99;",
}
"""What other writers added to the oldest tables, by writer."""

START = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)
ADDRESS = "http://127.0.0.1:4600"


def at(seconds: float) -> str:
    """Return a time so many seconds after the first session's start."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


class Trace:
    """A trace database that tests fill row by row.

    Attributes:
        path: of the database.
        connection: that writes, in autocommit mode.
    """

    def __init__(self, path: Path, schema: str = BASE + LATER) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self.connection.execute("PRAGMA journal_mode = WAL").fetchone()
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(schema)
        self._events = 0

    def close(self) -> None:
        """Close the database as a writer that ends does."""
        self.connection.close()

    def insert(self, table: str, **cells: Any) -> None:
        """Write one row."""
        names = ", ".join(f'"{name}"' for name in cells)
        marks = ", ".join("?" * len(cells))
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(cells.values()))

    def session(self, adw_id: str, status: str = "success", start: float = 0.0, **cells: Any) -> None:
        """Write a session of ten seconds."""
        ended = None if status == "running" else at(start + 10)
        row = {"request": "Add a greeting", "engineer": "dev", "started_at": at(start), "ended_at": ended}
        self.insert("sessions", adw_id=adw_id, status=status, **(row | cells))

    def phase(self, adw_id: str, seq: int, name: str, kind: str = "agent", owner: str = "builder", **cells: Any) -> str:
        """Write a phase and return its id."""
        phase_id = f"{adw_id}_{seq:02d}_{name}"
        row = {"description": f"Do {name}", "status": "success", "attempt": 0, "retries": 1, "started_at": at(seq)}
        row |= {"ended_at": at(seq + 1), "error": None}
        self.insert(
            "phases", phase_id=phase_id, adw_id=adw_id, seq=seq, name=name, kind=kind, owner=owner, **(row | cells)
        )
        return phase_id

    def event(self, adw_id: str, kind: str = "log", payload: object = None, **cells: Any) -> str:
        """Write an event and return its id."""
        self._events += 1
        event_id = cells.pop("event_id", f"evt_{self._events:012x}")
        text = payload if isinstance(payload, str) else json.dumps(payload if payload is not None else {})
        row = {"phase_id": "", "parent_id": "", "name": kind, "tokens": None, "started_at": at(self._events / 1000)}
        row |= {"ended_at": None}
        self.insert("events", event_id=event_id, adw_id=adw_id, type=kind, payload_json=text, **(row | cells))
        return str(event_id)

    def events(self, adw_id: str, count: int) -> list[str]:
        """Write so many events in one transaction and return their ids."""
        self.connection.execute("BEGIN")
        made = [self.event(adw_id, payload={"number": number}) for number in range(count)]
        self.connection.execute("COMMIT")
        return made


def client_of(databases: Iterable[Path], scratch: Path, **options: Any) -> TestClient:
    """Serve databases without a socket, with flags and index in a scratch folder."""
    app = create_app(databases, state_root=scratch / "state-root", flags=scratch / "flags" / "archived.json", **options)
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False)


def fill(trace: Trace, adw_id: str = "aaaa0001") -> None:
    """Write one failed session with everything that a session may have, as far as the tables allow."""
    trace.session(adw_id, status="fail", total_tokens=130, total_cost=0.5)
    trace.phase(adw_id, 1, "request", kind="engineer", owner="dev")
    phase = trace.phase(adw_id, 2, "build", status="fail", error="gates failed after 2 attempt(s)")
    trace.event(adw_id, "phase_start", {"kind": "agent", "owner": "builder"}, phase_id=phase)
    started = {"model": "local/builder", "coding_agent": "pi", "color": "#34d399", "session_id": "sssf-1"}
    trace.event(adw_id, "agent_start", started, phase_id=phase, name="builder")
    for number, ok in enumerate((True, False)):
        call = {"tool": "bash", "args": {"command": "make test"}, "ok": ok, "result_snippet": "…", "duration_ms": 12}
        trace.event(adw_id, "tool_call", call, phase_id=phase, name="bash: make test", ended_at=at(2 + number))
    trace.event(
        adw_id, "gate_fail", {"attempt": 1, "checks": [], "violations": ["no"]}, phase_id=phase, name="tests_pass"
    )
    usage = {"input_tokens": 60, "output_tokens": 40, "cache_read_tokens": 30, "cache_write_tokens": 0}
    usage |= {"reasoning_tokens": 10, "total_tokens": 130}
    trace.event(adw_id, "agent_end", {"cost": 0.5, "usage": usage}, phase_id=phase, name="builder", tokens=130)
    trace.insert("agent_sessions", adw_id=adw_id, agent="builder", coding_agent="pi", model="local/builder")
    envelope = json.dumps({"status": "success", "summary": "Built"})
    trace.insert(
        "envelopes", envelope_id="env_1", adw_id=adw_id, phase_id=phase, agent="builder", payload_json=envelope
    )
    trace.insert("gate_results", adw_id=adw_id, phase_id=phase, gate="tests_pass", passed=0, violations_json='["no"]')
