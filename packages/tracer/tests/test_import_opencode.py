"""Sessions of opencode: its database, which is being written, and its exports."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from import_lab import Trace
from opencode_lab import Opencode

from agent_workflow.tracer import TraceWriteFailed
from agent_workflow.tracer.importing import discover
from agent_workflow.tracer.importing._opencode_database import document, opened, sessions


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    """An empty trace."""
    return Trace(tmp_path / "trace")


def task(call: str, child: str) -> dict[str, Any]:
    """A call that a sub-agent came back from."""
    state = {"status": "completed", "input": {}, "output": "found", "metadata": {"sessionId": child}}
    return {"type": "tool", "tool": "task", "callID": call, "state": state}


def test_sessions_in_opencode_s_database(trace: Trace, tmp_path: Path) -> None:
    """They are read while opencode goes on writing; a sub-agent's session is a lane of the one that began it."""
    path = tmp_path / "opencode.db"
    store = Opencode(path)
    store.session("ses_1")
    store.session("ses_2", "ses_1", "explore")
    tool = {"type": "tool", "tool": "bash", "callID": "c", "state": {"status": "completed", "metadata": {"exit": 3}}}
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, tool, finish="tool-calls")
    store.message("ses_2", "n1", 2_100, {"type": "text", "text": "Explore"}, role="user")
    store.answer("ses_2", "n2", 2_200, 40, finish="stop")
    first = trace.take(path)
    told = trace.statuses()
    store.answer("ses_1", "m3", 3_000, 200, finish="stop")

    second = trace.take(tmp_path)
    third = trace.take(tmp_path)

    assert ({"opencode": 2}, {"opencode": 1}, 2) == (first.agents, second.agents, third.unchanged)
    assert ({"opencode-ses_1": "fail"}, {"opencode-ses_1": "success"}) == (told, trace.statuses())
    assert {"opencode-ses_1": 105 + 205 + 45} == trace.tokens()
    assert [("explore ses_2", 45), ("opencode", 310)] == trace.rows(
        "SELECT name, tokens FROM events WHERE type = 'agent_end' ORDER BY name"
    )
    assert [False] == [call["ok"] for call in trace.payloads("tool_call")]
    store.connection.close()


def test_an_export_and_the_database_tell_of_the_same_session(trace: Trace, tmp_path: Path) -> None:
    """Each message counts once."""
    store = Opencode(tmp_path / "opencode.db")
    store.session("ses_1")
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, finish="stop")
    trace.take(tmp_path / "opencode.db")
    (data,) = store.connection.execute("SELECT data FROM message WHERE id = 'm2'").fetchone()
    export = {"info": {"id": "ses_1"}, "messages": [{"info": {**json.loads(data), "id": "m2"}, "parts": []}]}
    (tmp_path / "export.json").write_text(json.dumps(export))

    trace.take(tmp_path)

    assert {"opencode-ses_1": 105} == trace.tokens()
    assert 210 == trace.raw_tokens()
    store.connection.close()


def test_a_database_of_another_kind_is_told(trace: Trace, tmp_path: Path) -> None:
    """It bears opencode's name and has none of its tables."""
    sqlite3.connect(tmp_path / "opencode.db").execute("CREATE TABLE x (y)").connection.close()

    report = trace.take(tmp_path)

    assert 1 == len(report.unreadable)
    assert "opencode.db: not readable as opencode's database" in report.unreadable[0]


def test_a_sub_agent_is_nested_in_the_call_that_began_it(trace: Trace, tmp_path: Path) -> None:
    """Those of sub-agents, too: all of them belong to the session that a person began."""
    store = Opencode(tmp_path / "opencode.db")
    store.session("ses_1")
    store.session("ses_2", "ses_1", "explore")
    store.session("ses_3", "ses_2", "look")
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, task("c1", "ses_2"), finish="stop")
    store.answer("ses_2", "n1", 2_100, 40, task("c2", "ses_3"), finish="stop")
    store.answer("ses_3", "o1", 2_200, 10, finish="stop")

    trace.take(tmp_path)

    assert {"opencode-ses_1": 105 + 45 + 15} == trace.tokens()
    statement = """
        SELECT start.name, json_extract(call.payload_json, '$.tool_call_id') FROM events AS start
        JOIN events AS call ON call.event_id = start.parent_id
        WHERE start.type = 'agent_start' AND call.type = 'tool_call' ORDER BY start.name
    """
    assert [("explore ses_2", "c1"), ("look ses_3", "c2")] == trace.rows(statement)
    store.connection.close()


def test_denials_retries_and_compaction(trace: Trace, tmp_path: Path) -> None:
    """They are told as the recorder tells them; what a summary cost is a line of its own, and fills no window."""
    store = Opencode(tmp_path / "opencode.db")
    store.session("ses_1")
    rejected = "The user rejected permission to use this specific tool call."
    denied = {"type": "tool", "tool": "edit", "callID": "c", "state": {"status": "error", "error": rejected}}
    error = {"name": "APIError", "data": {"message": "Overloaded"}}
    retry = {"type": "retry", "attempt": 1, "error": error, "time": {"created": 2_500}}
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, denied, retry, finish="tool-calls")
    store.answer("ses_1", "m3", 3_000, 30, finish="stop", summary=True)

    trace.take(tmp_path)

    (end,) = trace.payloads("agent_end")
    (send,) = end["sends"]
    assert [{"tool": "edit", "tool_call_id": "c", "reason": rejected}] == send["denials"]
    assert (1, 1, 105, 35, 140) == (
        send["retries"],
        send["turns"],
        end["usage"]["total_tokens"],
        end["compaction_usage"]["total_tokens"],
        end["tokens"],
    )
    assert end["context_tokens"] is None
    logged = trace.rows("SELECT name FROM events WHERE type = 'log' AND name <> 'request' ORDER BY started_at")
    assert [("retry",), ("compaction",)] == logged
    store.connection.close()


def test_a_database_of_another_name(trace: Trace, tmp_path: Path) -> None:
    """``OPENCODE_DB`` may give it any; what it holds says what it is."""
    folder = tmp_path / "data" / "opencode"
    folder.mkdir(parents=True)
    store = Opencode(folder / "mine.sqlite")
    store.session("ses_1")
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, finish="stop")
    environment = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "OPENCODE_DB": "mine.sqlite"}

    report = trace.take(*discover(environment))

    assert ({"opencode": 1}, []) == (report.agents, report.unreadable)
    assert {"opencode-ses_1": 105} == trace.tokens()
    store.connection.close()


def test_a_session_that_is_removed_while_it_is_read(tmp_path: Path) -> None:
    """There is nothing of it; the others are read."""
    store = Opencode(tmp_path / "opencode.db")
    for session in ("ses_1", "ses_2"):
        store.session(session)
        store.message(session, f"{session}u", 1_000, {"type": "text", "text": "Build"}, role="user")
        store.answer(session, f"{session}a", 2_000, 100, finish="stop")

    with opened(tmp_path / "opencode.db") as connection:
        listed = sessions(connection)
        store.connection.execute("DELETE FROM session WHERE id = 'ses_2'")
        told = [document(connection, one.session_id, []) for one in listed]

    assert ["ses_1", None] == [one and one["info"]["id"] for one in told]
    store.connection.close()


def test_a_ledger_that_cannot_be_written_is_not_opencode_s_fault(trace: Trace, tmp_path: Path) -> None:
    """It is told of the ledger, and the next import makes it good."""
    store = Opencode(tmp_path / "opencode.db")
    store.session("ses_1")
    store.message("ses_1", "m1", 1_000, {"type": "text", "text": "Build"}, role="user")
    store.answer("ses_1", "m2", 2_000, 100, finish="stop")
    trace.take(tmp_path / "trace")
    ledger = sqlite3.connect(trace.folder / "imported.db", isolation_level=None)
    ledger.execute("CREATE TRIGGER full BEFORE INSERT ON items BEGIN SELECT RAISE(ABORT, 'no room'); END")
    ledger.close()

    with pytest.raises(TraceWriteFailed, match="what was read cannot be kept: no room"):
        trace.take(tmp_path / "opencode.db")

    ledger = sqlite3.connect(trace.folder / "imported.db", isolation_level=None)
    ledger.execute("DROP TRIGGER full")
    ledger.close()
    trace.take(tmp_path / "opencode.db")
    assert {"opencode-ses_1": 105} == trace.tokens()
    store.connection.close()
