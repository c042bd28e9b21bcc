"""Trace databases filled row by row, and a receiver of OTLP over HTTP that answers by a script."""

import json
import sqlite3
import threading
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from agent_workflow.trace_schema import TABLES

START = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
USAGE = {
    "input_tokens": 60, "output_tokens": 40, "cache_read_tokens": 30, "cache_write_tokens": 7,
    "reasoning_tokens": 10, "total_tokens": 137, "total_cost": 0.25,
}  # fmt: skip


def at(seconds: float) -> str:
    """Return a time so many seconds after the first session's start."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


class TraceWriter:
    """Writes a trace database; what is not given has a plain default."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        for name, table in TABLES.items():
            columns = ", ".join(f"{column} {kind}" for column, kind in table.columns.items())
            self.connection.execute(f"CREATE TABLE {name} ({columns})")
        self._count = 0

    def insert(self, table: str, **cells: Any) -> None:
        """Write one row."""
        marks = ", ".join("?" * len(cells))
        self.connection.execute(f"INSERT INTO {table} ({', '.join(cells)}) VALUES ({marks})", tuple(cells.values()))

    def session(self, adw_id: str = "aaaa0001", **cells: Any) -> str:
        """Write a session of a hundred seconds."""
        row = {
            "adw_name": "greet", "request": "PLANTED request", "engineer": "PLANTED engineer", "status": "success",
            "started_at": at(0), "ended_at": at(100), "total_tokens": 137, "total_cost": 0.25,
        }  # fmt: skip
        self.insert("sessions", adw_id=adw_id, **(row | cells))
        return adw_id

    def phase(self, seq: int, name: str, adw_id: str = "aaaa0001", **cells: Any) -> str:
        """Write a phase and return its id."""
        phase_id = f"{adw_id}_{seq:02d}_{name}"
        row = {
            "kind": "agent", "owner": "builder", "description": "PLANTED description", "status": "success",
            "attempt": 0, "retries": 1, "started_at": at(seq), "ended_at": at(seq + 20),
        }  # fmt: skip
        self.insert("phases", phase_id=phase_id, adw_id=adw_id, seq=seq, name=name, **(row | cells))
        return phase_id

    def event(self, kind: str, payload: object = None, adw_id: str = "aaaa0001", **cells: Any) -> str:
        """Write an event and return its id; its time is its number in tenths of a second."""
        self._count += 1
        row = {
            "event_id": f"evt_{self._count:012x}", "phase_id": "", "parent_id": "", "name": kind,
            "started_at": at(self._count / 10), "ended_at": None,
            "payload_json": payload if isinstance(payload, str) else json.dumps(payload or {}),
        }  # fmt: skip
        self.insert("events", adw_id=adw_id, type=kind, **(row | cells))
        return str((row | cells)["event_id"])

    def agent(self, name: str, phase: str, parent: str, **cells: Any) -> str:
        """Write the start of an agent's call."""
        payload = {"model": "anthropic/large-1", "coding_agent": "pi", "session_id": f"talk-{name}"}
        payload["purpose"] = "PLANTED purpose"
        return self.event("agent_start", payload, name=name, phase_id=phase, parent_id=parent, **cells)

    def tool(self, name: str, phase: str, parent: str, **cells: Any) -> str:
        """Write a tool's call."""
        payload = {"tool": name, "tool_call_id": f"call-{name}", "ok": True, "duration_ms": 5, "agent": "builder"}
        payload |= {"args": {"command": "PLANTED argument"}, "result_snippet": "PLANTED result"}
        payload |= cells.pop("payload", {})
        row = {"name": f"{name}: PLANTED argument", "phase_id": phase, "parent_id": parent} | cells
        row.setdefault("ended_at", at((self._count + 2) / 10))
        return self.event("tool_call", payload, **row)


def fill(trace: TraceWriter) -> None:
    """Write a session with two sends, gates, a sub-agent inside of a tool, and what nobody may see."""
    trace.session()
    phase = trace.phase(1, "build")
    begun = trace.event("phase_start", {"kind": "agent"}, phase_id=phase, name="build")
    builder = trace.agent("builder", phase, begun)
    bash = trace.tool("bash", phase, builder, event_id="evt_outer", started_at=at(0.25), ended_at=at(0.9))
    helper = trace.agent("helper", phase, bash, started_at=at(0.3))
    trace.tool("read", phase, helper, started_at=at(0.4))
    usage = {**USAGE, "reasoning_tokens": None}
    trace.event(
        "agent_end", {"cost": None, "usage": usage}, phase_id=phase, parent_id=helper, name="helper", started_at=at(0.8)
    )
    check = {"item": "PLANTED item", "ok": False, "note": "PLANTED note"}
    failed = {"attempt": 1, "checks": [check], "violations": ["PLANTED violation"]}
    trace.event("gate_fail", failed, phase_id=phase, parent_id=begun, name="tests_pass", started_at=at(1))
    asked = {"agent": "builder", "retry": 1, "of": 1, "faults": ["PLANTED fault"]}
    trace.event("log", asked, phase_id=phase, parent_id=builder, name="asked_again", started_at=at(1))
    passed = {"attempt": 2, "checks": [{"item": "PLANTED item", "ok": True, "note": ""}], "violations": []}
    trace.event("gate_pass", passed, phase_id=phase, parent_id=begun, name="tests_pass", started_at=at(3))
    handed = {"artifacts": ["PLANTED.md"], "summary": "PLANTED summary"}
    trace.event("handoff", handed, phase_id=phase, parent_id=builder, name="builder", started_at=at(3))
    sends = [{"verdict": "answered", "stop_reason": "stop", "turns": 2, "usage": USAGE} for _ in range(2)]
    both = {name: value * 2 for name, value in USAGE.items()}
    ended = {"cost": 0.5, "usage": both, "sends": sends, "context_tokens": 99, "context_window": 1000}
    trace.event("agent_end", ended, phase_id=phase, parent_id=builder, name="builder", started_at=at(3.5))
    trace.event("phase_end", {"status": "success"}, phase_id=phase, parent_id=begun, name="build", started_at=at(4))


class Reply(NamedTuple):
    """What the receiver answers to one request."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = {}


class Received(NamedTuple):
    """A request that came."""

    path: str
    headers: Mapping[str, str]
    body: bytes


class Receiver:
    """Listens on loopback, keeps what comes, and answers by a script, whose last line is repeated."""

    def __init__(self, *script: Reply) -> None:
        self.received: list[Received] = []
        replies = list(script) or [Reply()]
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                """Keep the request and answer."""
                body = self.rfile.read(int(self.headers["content-length"]))
                number = len(receiver.received)
                receiver.received.append(Received(self.path, dict(self.headers), body))
                reply = replies[min(number, len(replies) - 1)]
                self.send_response(reply.status)
                for name, value in ({"Content-Type": "application/x-protobuf"} | dict(reply.headers)).items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
