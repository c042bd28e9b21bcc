"""What opencode's database adds to its stream: the model, calls that never came back, and sub-agents."""

import json
import sqlite3
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer.agents import SendOutcome
from agent_workflow.tracer.agents._opencode_stream import OpencodeStream

AT = "2026-11-30T00:00:00.000+00:00"
SESSION, CHILD = "ses_1", "ses_2"
TOKENS = {"total": 160, "input": 100, "output": 40, "reasoning": 20, "cache": {"read": 0, "write": 0}}
TABLES = """
CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
CREATE TABLE part (id text PRIMARY KEY, message_id text, time_created integer, data text);
"""


class Sessions:
    """Writes a database as opencode does."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "opencode.db"
        self._number = 0
        with closing(sqlite3.connect(self.file)) as database:
            database.executescript(TABLES)

    def message(self, identity: str, session: str = SESSION, created: int = 1000, **fields: Any) -> None:
        """Add a message of the model, with what it cost."""
        names = {"role": "assistant", "providerID": "fake", "modelID": "scripted", "time": {"created": created}}
        self._insert("message", identity, session, {**names, "tokens": TOKENS, "cost": 0.25, **fields})

    def tool(self, message: str, call: str, status: str = "completed", **state: Any) -> None:
        """Add a tool's part to a message."""
        part = {"type": "tool", "tool": "bash", "callID": call, "state": {"status": status, "input": {}, **state}}
        self._number += 1
        self._insert("part", f"prt_{self._number}", message, part)

    def _insert(self, table: str, identity: str, owner: str, data: dict[str, Any]) -> None:
        with closing(sqlite3.connect(self.file)) as database, database:
            self._number += 1
            row = (identity, owner, self._number, json.dumps(data))
            database.execute(f"INSERT INTO {table} VALUES (?, ?, ?, ?)", row)


@pytest.fixture
def sessions(tmp_path: Path) -> Sessions:
    """Make a database without sessions."""
    return Sessions(tmp_path)


def event(kind: str, **part: Any) -> dict[str, Any]:
    """Make an event of the stream."""
    return {"type": kind, "sessionID": SESSION, "part": {"messageID": "m1", **part}}


def task(status: str = "completed") -> dict[str, Any]:
    """Make the part of a call that begins a sub-agent."""
    state = {"status": status, "input": {}, "metadata": {"sessionId": CHILD}, "time": {"start": 1000}}
    return {"tool": "task", "callID": "task_1", "state": state}


FINISH = event("step_finish", id="p1", reason="stop", tokens=TOKENS, cost=0.25)


def play(database: Path, *records: Any, code: int = 0) -> tuple[SendOutcome, list[Any]]:
    """Feed records and return what came of them."""
    reader = OpencodeStream(database)
    seen = [item for record in records for item in reader.read(json.dumps(record).encode(), AT)]
    seen += reader.complete()
    return reader.outcome(code, AT), seen


def test_model_that_answered(sessions: Sessions) -> None:
    """The database says which model answered; spend stays the stream's."""
    sessions.message("m1")
    outcome, _ = play(sessions.file, event("step_start"), FINISH)

    assert ("fake/scripted", 160, sessions.file) == (outcome.model, outcome.usage.total, outcome.own_record)


def test_call_that_never_came_back(sessions: Sessions) -> None:
    """The stream shows a call when it has returned; one that was cut off is in the database, as are older ones."""
    sessions.message("m0")
    sessions.tool("m0", "older", "running")
    sessions.message("m1")
    sessions.tool("m1", "done")
    sessions.tool("m1", "open", "running", time={"start": 1796023615985})
    outcome, _ = play(sessions.file, event("step_start"), code=143)

    assert [("open", True, "2026-11-30T07:26:55.985+00:00", AT)] == [
        (call.tool_call_id, call.interrupted, call.started_at, call.ended_at) for call in outcome.interrupted
    ]


def test_subagent_is_counted_once(sessions: Sessions) -> None:
    """A sub-agent's spend is part of the whole, and its calls name the call that began it."""
    sessions.message("m1")
    sessions.message("c0", CHILD, created=999)
    sessions.message("c1", CHILD, created=1001)
    sessions.tool("c1", "inner", metadata={"exit": 3})
    outcome, seen = play(sessions.file, event("step_start"), event("tool_use", **task()), FINISH)

    assert [("task", ""), ("bash", "task_1")] == [(call.tool, call.parent_call_id) for call in seen]
    assert outcome.subagents is not None
    assert (320, 160, Decimal("0.5")) == (outcome.usage.total, outcome.subagents.total, outcome.usage.total_cost)
    assert (1, 160, False) == (outcome.turns, outcome.context_tokens, seen[1].ok)


def test_subagent_that_was_cut_off(sessions: Sessions) -> None:
    """A sub-agent at work when the agent was killed is known by its open call."""
    sessions.message("m1")
    part = task("running")
    sessions.tool("m1", "task_1", "running", metadata=part["state"]["metadata"], time={"start": 1000})
    sessions.message("c1", CHILD, created=1001)
    outcome, _ = play(sessions.file, event("step_start"), code=143)

    assert (160, "partial", ["task_1"]) == (
        outcome.usage.total,
        outcome.usage_known,
        [call.tool_call_id for call in outcome.interrupted],
    )


def damage(file: Path) -> None:
    """Make a database into something else."""
    file.write_bytes(b"not a database" * 100)


def empty(file: Path) -> None:
    """Take its tables away."""
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("DROP TABLE part")
        database.execute("DROP TABLE message")


def remove(file: Path) -> None:
    """Delete it."""
    file.unlink()


@pytest.mark.parametrize("harm", [damage, empty, remove])
def test_database_that_tells_nothing(sessions: Sessions, harm: Any) -> None:
    """Without a database, or with one of another form, the stream alone counts, and nothing is written."""
    harm(sessions.file)
    before = sorted(path.name for path in sessions.file.parent.iterdir())
    outcome, seen = play(sessions.file, event("step_start"), event("tool_use", **task()), FINISH)

    assert (None, "", 160, 1) == (outcome.own_record, outcome.model, outcome.usage.total, len(seen))
    assert before == sorted(path.name for path in sessions.file.parent.iterdir())


def test_rows_that_are_no_records(sessions: Sessions) -> None:
    """A damaged row is passed over, and those around it are read."""
    sessions.message("m1")
    with closing(sqlite3.connect(sessions.file)) as database, database:
        database.execute("INSERT INTO message VALUES ('x', ?, 9, '{\"role\": NaN}'), ('y', ?, 9, 7)", [SESSION] * 2)
    outcome, _ = play(sessions.file, event("step_start"), FINISH)

    assert "fake/scripted" == outcome.model
