"""Content of any size: lists stay small, nothing is cut silently, and all of it can be had."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace

from agent_workflow.tracer.viewing import EventRowids, TraceSource, marks

LONG = "é" * 1_000_000


def test_megabytes_in_every_text_leave_the_list_small(trace: Trace, client: TestClient) -> None:
    """Each text ends with what is missing; the session's own route has the request whole."""
    for number in range(5):
        adw_id = f"aaaa000{number}"
        trace.session(adw_id, request=LONG, engineer=LONG, adw_name=LONG)
        trace.phase(adw_id, 1, "build", error=LONG, description=LONG)

    reply = client.get("/api/sessions")

    assert len(reply.content) < 100_000
    assert reply.json()[0]["request"].endswith("… [999,000 more characters]")
    assert LONG == client.get("/api/sessions/aaaa0001").json()["session"]["request"]


def test_a_page_of_large_payloads_ends_early_and_goes_on(trace: Trace, client: TestClient) -> None:
    """No event is lost although a page holds fewer than were asked for."""
    trace.session("aaaa0001")
    written = [trace.event("aaaa0001", payload={"text": "x" * 200_000, "number": number}) for number in range(120)]
    read: list[str] = []
    pages, after, more = 0, 0, True
    while more:
        body = client.get("/api/sessions/aaaa0001/events", params={"after": after, "limit": 500}).json()
        read += [event["event_id"] for event in body["events"]]
        pages, after, more = pages + 1, body["cursor"], body["has_more"]

    assert written == read
    assert pages > 1


def test_the_newest_of_large_payloads_are_the_newest(trace: Trace, client: TestClient) -> None:
    """A page from the end that ends early keeps its end."""
    trace.session("aaaa0001")
    written = [trace.event("aaaa0001", payload={"text": "x" * 200_000}) for _ in range(120)]

    body = client.get("/api/sessions/aaaa0001/events", params={"newest": True, "limit": 500}).json()
    read = [event["event_id"] for event in body["events"]]

    assert written[-len(read) :] == read
    assert len(read) < len(written)
    assert body["has_more"]


@pytest.mark.parametrize("size", [5_000, 262_144, 300_000, 3_000_000])
def test_the_size_of_a_cut_payload_is_told(size: int, trace: Trace, client: TestClient) -> None:
    """Whatever of it was fetched; what is left is JSON."""
    trace.session("aaaa0001")
    text = json.dumps({"tool": "read", "result_snippet": "x" * size})
    event_id = trace.event("aaaa0001", payload=text)

    listed = client.get("/api/sessions/aaaa0001/events").json()["events"][0]

    assert (len(text), True) == (listed["payload_size"], listed["payload_cut"])
    json.loads(listed["payload_json"])
    assert text == client.get(f"/api/sessions/aaaa0001/events/{event_id}").json()["payload_json"]


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
@pytest.mark.parametrize("size", [5_000, 200_000, 300_000])
def test_how_a_call_went_is_told_beside_its_cut_payload(
    size: int, separators: tuple[str, str], trace: Trace, client: TestClient
) -> None:
    """Also where nothing of the payload is left that would say it, and in the dots of the list."""
    trace.session("aaaa0001")
    for ok in ({"ok": False}, {"ok": True}, {}):
        payload = {"tool": "read", "result_snippet": "x" * size} | ok
        trace.event("aaaa0001", "tool_call", json.dumps(payload, separators=separators))
    trace.event("aaaa0001", "tool_call", {"ok": False})

    listed = client.get("/api/sessions/aaaa0001/events").json()["events"]
    dots = client.get("/api/sessions").json()[0]["marks"]

    assert [0, 1, None, "whole"] == [event.get("ok", "whole") for event in listed]
    assert [False, True, None, False] == [ok for _, _, _, ok in dots]


@pytest.mark.skipif(not Path("/proc/self/io").exists(), reason="the system does not count what a process reads")
def test_a_session_is_shown_without_reading_its_large_payloads(trace: Trace) -> None:
    """The times of an event stand behind its payload: only the newest one's are needed."""
    trace.session("aaaa0001")
    trace.connection.execute("BEGIN")
    for _ in range(100):
        trace.event("aaaa0001", "tool_call", {"result_snippet": "x" * 200_000})
    newest = trace.event("aaaa0001", "error", {"reason": "too slow"}, name="not_accepted")
    trace.connection.execute("COMMIT")
    with TraceSource(trace.path) as source:
        rowids = EventRowids().of(source, "aaaa0001")
        before = bytes_read()
        seen = marks(source, rowids, dots=False)
        read = bytes_read() - before

    assert read < 1_000_000
    assert (101, newest, []) == (seen.event_count, (seen.refusal or {})["event_id"], seen.marks)
    assert seen.last_event_at is not None


def bytes_read() -> int:
    """Return the bytes that this process has asked the system for."""
    counters = Path("/proc/self/io").read_text()
    return int(counters.split("rchar:")[1].split()[0])


def test_large_evidence_of_a_gate_is_cut_and_whole_by_itself(trace: Trace, client: TestClient) -> None:
    """A gate that looked at a thousand files."""
    trace.session("aaaa0001")
    checks = json.dumps(
        [{"item": f"src/module_{number}.py", "ok": True, "note": "exists " * 10} for number in range(1000)]
    )
    trace.insert("gate_results", id=7, adw_id="aaaa0001", gate="g", passed=1, checks_json=checks, violations_json="[]")

    listed = client.get("/api/sessions/aaaa0001/gates").json()[0]
    whole = client.get("/api/sessions/aaaa0001/gates/7").json()

    assert (True, "items", len(checks)) == (listed["checks_cut"], listed["evidence"], listed["checks_size"])
    assert len(listed["checks_json"]) < 20_000
    assert (False, checks) == (whole["checks_cut"], whole["checks_json"])
    assert 404 == client.get("/api/sessions/aaaa0001/gates/8").status_code


def test_marks_of_a_long_session_are_sampled_and_say_so(trace: Trace, client: TestClient) -> None:
    """Dots are bounded; the newest stays."""
    trace.session("aaaa0001")
    trace.connection.execute("BEGIN")
    for number in range(2_000):
        trace.event("aaaa0001", "tool_call", {"ok": number != 1_999})
    trace.connection.execute("COMMIT")

    row = client.get("/api/sessions?marks=50").json()[0]

    assert (2_000, True) == (row["event_count"], row["marks_sampled"])
    assert 50 == len(row["marks"])
    assert row["marks"][-1][3] is False


def test_renumbered_rows_of_a_database_without_an_index_are_noticed(tmp_path: Any, serve: Any) -> None:
    """What was worked out about them is void."""
    trace = Trace(tmp_path / "sssf.db")
    trace.session("aaaa0001")
    trace.session("aaaa0002", start=60)
    trace.events("aaaa0001", 3)
    client: TestClient = serve(trace.path)
    assert [0, 3] == [row["event_count"] for row in client.get("/api/sessions").json()]
    trace.connection.execute("DELETE FROM events")
    trace.events("aaaa0002", 4)

    assert [4, 0] == [row["event_count"] for row in client.get("/api/sessions").json()]
    trace.close()


def test_a_timeline_holds_every_event_in_columns(trace: Trace, client: TestClient) -> None:
    """Of equal length; damaged payloads and times are unknown."""
    trace.session("aaaa0001")
    trace.events("aaaa0001", 5)
    trace.event("aaaa0001", "tool_call", {"ok": False}, phase_id="aaaa0001_01_build", ended_at="nonsense")
    trace.event("aaaa0001", "tool_call", "no json", started_at=None)

    drawn = client.get("/api/sessions/aaaa0001/timeline").json()
    rest = client.get("/api/sessions/aaaa0001/timeline", params={name: drawn[at] for name, at in _PLACE.items()}).json()

    assert {7} == {len(drawn[name]) for name in ("rowid", "type", "phase", "at", "span", "ok")}
    assert ([0, None], [None, None]) == (drawn["ok"][-2:], drawn["span"][-2:])
    assert (["log", "tool_call"], ["aaaa0001_01_build"]) == (drawn["types"], drawn["phases"])
    assert drawn["at"][-1] is None
    assert ([], False, False) == (rest["rowid"], rest["has_more"], rest["reset"])


_PLACE = {"after": "cursor", "generation": "generation", "anchor": "anchor"}
