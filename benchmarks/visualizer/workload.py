"""Write a trace database of any size, with the tables and indexes that our tracer makes.

usage: python workload.py FILE [--sessions N] [--events N] [--large-every N]

Each session has four phases, two agents and forty events of usual size. One more session, ``b1600000``, has EVENTS
events, every LARGE-EVERY-th of them with a payload of 200 KB.
"""

import argparse
import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent_workflow.trace_schema import INSERT_EVENT, migrate

START = datetime(2026, 6, 1, tzinfo=UTC)
BIG = "b1600000"
LARGE_CHARACTERS = 200_000
USUAL = json.dumps(
    {
        "tool": "bash",
        "tool_call_id": "call_1",
        "args": {"command": "uv run pytest -q tests/test_greeting.py"},
        "ok": True,
        "result_snippet": "....... 7 passed in 0.31s\n" * 20,
        "duration_ms": 310,
        "agent": "builder",
    }
)
LARGE = json.dumps({"tool": "read", "args": {"path": "log"}, "ok": True, "result_snippet": "x" * LARGE_CHARACTERS})
Event = tuple[object, ...]


def moment(seconds: float) -> str:
    """Return a time so many seconds after the first session's start."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def write_trace(path: Path, sessions: int, events: int, large_every: int) -> None:
    """Write the database."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA page_size = 2048")
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = OFF")
    migrate(connection)
    connection.execute("BEGIN")
    for number in range(sessions):
        write_session(connection, f"{number:08x}", number, usual_events(f"{number:08x}", number))
    write_session(connection, BIG, sessions, big_events(events, large_every, sessions))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    connection.close()


def write_session(connection: sqlite3.Connection, adw_id: str, number: int, events: Iterator[Event]) -> None:
    """Write one session with its phases, agents and events."""
    began = number * 60.0
    status = "fail" if number % 7 == 0 else "success"
    name = ("adw_plan_build", "adw_sdlc", "adw_scout")[number % 3]
    session = (adw_id, name, f"Request number {number}: add a greeting", status, "dev", moment(began))
    connection.execute(
        "INSERT INTO sessions"
        " (adw_id, adw_name, request, status, engineer, started_at, ended_at, total_tokens, total_cost)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (*session, moment(began + 50), 24_741, 0.04),
    )
    for seq, (phase, kind, owner) in enumerate(PHASES, 1):
        row = (phase_id(adw_id, seq), adw_id, seq, phase, kind, owner, f"Do {phase}", status, 0, 1, None)
        connection.execute(
            "INSERT INTO phases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, moment(began + seq * 10), moment(began + seq * 10 + 9)),
        )
    for agent in ("planner", "builder"):
        connection.execute(
            "INSERT INTO agent_sessions (adw_id, agent, coding_agent, model, context_tokens, context_window)"
            " VALUES (?, ?, 'pi', 'local/model', 2853, 128000)",
            (adw_id, agent),
        )
    connection.executemany(INSERT_EVENT, events)


PHASES = (
    ("request", "engineer", "dev"),
    ("plan", "agent", "planner"),
    ("build", "agent", "builder"),
    ("commit", "code", "git"),
)


def phase_id(adw_id: str, seq: int) -> str:
    """Name a phase."""
    return f"{adw_id}_{seq:02d}_{PHASES[seq - 1][0]}"


def usual_events(adw_id: str, number: int) -> Iterator[Event]:
    """Yield forty events of usual size."""
    for count in range(40):
        at = number * 60.0 + 10 + count
        yield event(adw_id, f"{number:08x}{count:04x}", count, at, USUAL)


def big_events(count: int, large_every: int, number: int) -> Iterator[Event]:
    """Yield the events of the big session."""
    for index in range(count):
        payload = LARGE if large_every and index % large_every == 0 else USUAL
        yield event(BIG, f"ff{index:010x}", index, number * 60.0 + index / 10, payload)


def event(adw_id: str, key: str, count: int, at: float, payload: str) -> Event:
    """Make one row of events."""
    phase = phase_id(adw_id, 2 + (count % 40 >= 20))
    return (
        f"evt_{key}",
        adw_id,
        phase,
        "",
        "tool_call",
        "bash: uv run pytest",
        payload,
        None,
        moment(at),
        moment(at + 0.3),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--large-every", type=int, default=50)
    given = parser.parse_args()
    write_trace(given.file, given.sessions, given.events, given.large_every)
