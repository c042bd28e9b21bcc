"""Every reply is what the OpenAPI document says, for our tables, the oldest ones and those of other writers."""

from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient
from trace_playground import BASE, FOREIGN, Trace, fill

from agent_workflow.visualizer import _project_models, _sum_models, _trace_models

ROUTES: dict[str, Any] = {
    "/api/health": _project_models.Health,
    "/api/projects": list[_project_models.Project],
    "/api/facets": _trace_models.FacetsReply,
    "/api/sessions": list[_trace_models.SessionSummary],
    "/api/sessions?q=GREETING&status=fail,success&sort=duration&archived=all": list[_trace_models.SessionSummary],
    "/api/sessions/aaaa0001": _trace_models.SessionDetail,
    "/api/sessions/aaaa0001/events": _trace_models.EventPage,
    "/api/sessions/aaaa0001/events?newest=true&limit=2&type=tool_call&q=make": _trace_models.EventPage,
    "/api/sessions/aaaa0001/timeline": _sum_models.Timeline,
    "/api/sessions/aaaa0001/reconciliation": _sum_models.Reconciliation,
    "/api/sessions/aaaa0001/envelopes": list[_trace_models.EnvelopeRow],
    "/api/sessions/aaaa0001/gates": list[_trace_models.GateRow],
    "/api/sessions/aaaa0001/processes": list[_trace_models.ProcessRow],
    "/api/sessions/aaaa0001/agents/builder/prompts": _trace_models.Prompts,
    "/api/sessions/aaaa0001/files": list[_trace_models.FileEntry],
}


@pytest.mark.parametrize("writer", FOREIGN)
def test_every_route_answers_over_the_tables_of(writer: str, tmp_path: Any, serve: Any) -> None:
    """Old and foreign databases are read with the same routes and the same shapes."""
    trace = Trace(tmp_path / "sssf.db", BASE + FOREIGN[writer])
    fill(trace)
    trace.close()
    client: TestClient = serve(trace.path)

    for route, shape in ROUTES.items():
        reply = client.get(route)

        assert 200 == reply.status_code, (route, reply.text)
        TypeAdapter(shape).validate_json(reply.content)


@pytest.mark.parametrize("table", ["phases", "events", "envelopes", "gate_results", "agent_sessions"])
def test_a_missing_table_empties_its_section_and_no_other(table: str, tmp_path: Any, serve: Any) -> None:
    """One missing table does not blank the page."""
    trace = Trace(tmp_path / "sssf.db", BASE)
    fill(trace)
    trace.connection.execute(f"DROP TABLE {table}")
    trace.close()
    client: TestClient = serve(trace.path)

    for route, shape in ROUTES.items():
        reply = client.get(route)

        assert 200 == reply.status_code, (route, reply.text)
        TypeAdapter(shape).validate_json(reply.content)


def test_columns_of_other_writers_are_passed_on(tmp_path: Any, serve: Any) -> None:
    """What another writer keeps is shown beside what we know."""
    trace = Trace(tmp_path / "sssf.db", BASE + "ALTER TABLE sessions ADD COLUMN branch TEXT;")
    trace.session("aaaa0001", branch="feature/greeting")
    trace.close()

    row = serve(trace.path).get("/api/sessions").json()[0]

    assert "feature/greeting" == row["branch"]
    assert row["adw_name"] is None


def test_the_list_has_the_shape_that_older_viewers_know(trace: Trace, client: TestClient) -> None:
    """Newest first; phases in order; the archived ones are left out."""
    trace.session("aaaa0001", start=0)
    trace.session("aaaa0002", start=60)
    trace.session("aaaa0003", start=90, archived=1)
    trace.phase("aaaa0002", 2, "build")
    trace.phase("aaaa0002", 1, "request", kind="engineer", owner="dev")

    rows = client.get("/api/sessions").json()

    assert ["aaaa0002", "aaaa0001"] == [row["adw_id"] for row in rows]
    assert ["request", "build"] == [phase["name"] for phase in rows[0]["phases"]]
    assert 2 == rows[0]["phase_count"]


def test_a_running_agent_has_its_model_before_it_has_a_row(trace: Trace, client: TestClient) -> None:
    """The agent is known by its agent_start; its context is unknown, not zero."""
    trace.session("aaaa0001", status="running")
    phase = trace.phase("aaaa0001", 1, "build", status="running")
    trace.event("aaaa0001", "agent_start", {"model": "m-1", "color": "#fff"}, phase_id=phase, name="another name")

    agent = client.get("/api/sessions/aaaa0001").json()["agents"][0]

    assert ("builder", "m-1", "#fff") == (agent["agent"], agent["model"], agent["color"])
    assert agent["context_tokens"] is None


def test_read_and_written_leave_cache_reads_out(trace: Trace, client: TestClient) -> None:
    """Read is what was read for the first time: input and cache writes."""
    trace.session("aaaa0001")
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 1000, "cache_write_tokens": 7}
    trace.event("aaaa0001", "agent_end", {"usage": usage})

    assert {"read": 17, "written": 5} == client.get("/api/sessions/aaaa0001").json()["usage"]


@pytest.mark.parametrize(
    ("reason", "kind"), [({"reason": "2 tests failed"}, "not_accepted"), (None, "unknown")], ids=["told", "not told"]
)
def test_a_red_run_of_green_phases_says_why(reason: Any, kind: str, trace: Trace, client: TestClient) -> None:
    """All phases succeeded and the run failed: the reason is in the list, or that nobody recorded one."""
    trace.session("aaaa0001", status="fail")
    trace.phase("aaaa0001", 1, "test", kind="code")
    if reason:
        trace.event("aaaa0001", "error", reason, name="not_accepted")

    failure = client.get("/api/sessions").json()[0]["failure"]

    assert kind == failure["kind"]
    assert ("2 tests failed" in failure["text"]) == (reason is not None)


def test_evidence_of_gates_is_told_apart(trace: Trace, client: TestClient) -> None:
    """Inspected nothing, no evidence recorded, could not observe: three different answers."""
    trace.session("aaaa0001")
    for checks, passed in (('[{"item": "a", "ok": true}]', 1), ("[]", 1), (None, 1), (None, None)):
        trace.insert("gate_results", adw_id="aaaa0001", gate="g", passed=passed, checks_json=checks)

    rows = client.get("/api/sessions/aaaa0001/gates").json()

    assert ["items", "inspected_nothing", "not_recorded", "not_recorded"] == [row["evidence"] for row in rows]
    assert ["passed", "passed", "passed", "not_observed"] == [row["outcome"] for row in rows]


def test_large_payloads_are_cut_in_lists_and_whole_by_themselves(trace: Trace, client: TestClient) -> None:
    """A cut payload is still JSON; the event's own route has all of it."""
    trace.session("aaaa0001")
    event_id = trace.event("aaaa0001", "tool_call", {"tool": "bash", "ok": False, "result_snippet": "x" * 200_000})

    listed = client.get("/api/sessions/aaaa0001/events").json()["events"][0]
    whole = client.get(f"/api/sessions/aaaa0001/events/{event_id}").json()

    assert listed["payload_cut"]
    assert len(whole["payload_json"]) == listed["payload_size"]
    assert len(listed["payload_json"]) < 5000
    assert TypeAdapter(dict[str, Any]).validate_json(listed["payload_json"])["ok"] is False
    assert not whole["payload_cut"]


def test_what_is_no_json_is_shown_as_text(trace: Trace, client: TestClient) -> None:
    """A damaged payload hides nothing and breaks nothing."""
    trace.session("aaaa0001")
    trace.event("aaaa0001", "tool_call", "not json at all")
    trace.connection.execute("UPDATE events SET payload_json = CAST(x'ff00fe' AS TEXT), name = CAST(x'c328' AS TEXT)")

    reply = client.get("/api/sessions/aaaa0001/events")

    assert 200 == reply.status_code
    assert "\ufffd" in reply.json()["events"][0]["name"]
