"""From a run of the fleet to its trace and back, by what the index says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace, client_of

from agent_workflow import index_store

Publish = Callable[..., None]


@pytest.fixture
def publish(tmp_path: Path) -> Publish:
    """Write a recorded workflow into the state root, as it is while it lives, and sync the index."""
    root = tmp_path / "state-root"
    for folder in (root, root / "runs"):
        folder.mkdir(mode=0o700)

    def write(
        session_id: str, adw_id: str, database: Path | str, created_at: str = "2026-07-01T00:00:00+00:00"
    ) -> None:
        run = root / "runs" / session_id
        run.mkdir(mode=0o700)
        session: dict[str, Any] = dict.fromkeys(("agent_name", "agent_class", "tier", "retry_of"))
        launch = {
            "schema": "agent-workflow/traced-launch-contract/v1", "version": 1,
            "session": session | {"id": session_id, "created_at": created_at},
            "workflow": {"name": "add-greeting"}, "agents": [],
            "worktree": {"path": "/srv/shop", "source_revision": None, "branch": None, "dirty_at_launch": None},
            "runner": {"pid": 4000, "start_marker": None}, "tracer_version": "1.0.0",
            "trace": {"adw_id": adw_id, "database": str(database), "session_directory": "/srv/shop/sessions"},
        }  # fmt: skip
        (run / "launch-contract.json").write_text(json.dumps(launch))
        index_store.sync(root)

    return write


def run_of(client: TestClient, session_id: str) -> tuple[object, object]:
    """Return a run's link and how its trace is, which the list and the run itself agree about."""
    run = client.get(f"/api/fleet/runs/{session_id}").json()["run"]
    listed = {row["session_id"]: row for row in client.get("/api/fleet/runs").json()["rows"]}[session_id]
    assert (run["trace"], run["trace_state"]) == (listed["trace"], listed["trace_state"])
    return run["trace"], run["trace_state"]


def evidence_of(client: TestClient, project: str, adw_id: str) -> dict[str, Any]:
    """Return what a session knows of its published run."""
    reply: dict[str, Any] = client.get(f"/api/projects/{project}/sessions/{adw_id}/evidence").json()
    return reply


def test_a_run_and_its_session_lead_to_each_other(publish: Publish, trace: Trace, tmp_path: Path) -> None:
    """Whatever the run is called."""
    trace.session("aaaa0001")
    publish("aaaa0001-3fe2", "aaaa0001", trace.path)
    client = client_of([trace.path], tmp_path)

    assert ({"project": "shop", "adw_id": "aaaa0001"}, "served") == run_of(client, "aaaa0001-3fe2")
    assert {"state": "indexed", "session_id": "aaaa0001-3fe2"} == evidence_of(client, "shop", "aaaa0001")


def test_equal_ids_of_two_repositories_do_not_meet(publish: Publish, trace: Trace, tmp_path: Path) -> None:
    """The database tells them apart."""
    other = Trace(tmp_path / "bank" / "adws" / "adw_data" / "sssf.db")
    for one, session_id in ((trace, "aaaa0001"), (other, "aaaa0001-bank")):
        one.session("aaaa0001")
        publish(session_id, "aaaa0001", one.path)
    client = client_of([trace.path, other.path], tmp_path)

    assert ({"project": "shop", "adw_id": "aaaa0001"}, "served") == run_of(client, "aaaa0001")
    assert ({"project": "bank", "adw_id": "aaaa0001"}, "served") == run_of(client, "aaaa0001-bank")
    assert "aaaa0001" == evidence_of(client, "shop", "aaaa0001")["session_id"]
    assert "aaaa0001-bank" == evidence_of(client, "bank", "aaaa0001")["session_id"]
    other.close()


def test_a_session_that_was_published_twice_leads_to_the_newest_run(
    publish: Publish, trace: Trace, tmp_path: Path
) -> None:
    """Which names the one before as what it retries."""
    trace.session("aaaa0001")
    publish("zzzz0001", "aaaa0001", trace.path, "2026-07-01T00:00:00+00:00")
    publish("bbbb0001", "aaaa0001", trace.path, "2026-07-02T00:00:00+00:00")
    client = client_of([trace.path], tmp_path)

    assert "bbbb0001" == evidence_of(client, "shop", "aaaa0001")["session_id"]


def test_a_database_has_many_ways_to_it(publish: Publish, trace: Trace, tmp_path: Path) -> None:
    """It is served once, and found by the other way."""
    trace.session("aaaa0001")
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    other_way = tmp_path / "link" / "adws" / "adw_data" / "sssf.db"
    publish("aaaa0001", "aaaa0001", trace.path)
    client = client_of([other_way, trace.path], tmp_path)

    project = client.get("/api/projects").json()
    assert [str(other_way)] == [row["db"] for row in project]
    name = project[0]["name"]
    assert ({"project": name, "adw_id": "aaaa0001"}, "served") == run_of(client, "aaaa0001")
    assert "aaaa0001" == evidence_of(client, name, "aaaa0001")["session_id"]


def test_a_trace_that_cannot_be_shown_says_why(publish: Publish, trace: Trace, tmp_path: Path) -> None:
    """Not served, gone, without the session, broken, or no path at all: one word each, and no link."""
    elsewhere, broken = tmp_path / "elsewhere.db", tmp_path / "broken.db"
    elsewhere.touch()
    broken.write_bytes(b"no database" * 1000)
    publish("not-served", "aaaa0001", elsewhere)
    publish("gone", "aaaa0001", tmp_path / "gone.db")
    publish("no-session", "aaaa0009", trace.path)
    publish("broken", "aaaa0001", broken)
    publish("no-path", "aaaa0001", "/srv/\0/sssf.db")
    client = client_of([trace.path, broken, tmp_path / "gone.db"], tmp_path)

    states = {name: run_of(client, name) for name in ("not-served", "gone", "no-session", "broken", "no-path")}

    assert {
        "not-served": (None, "not_served"),
        "gone": (None, "gone"),
        "no-session": (None, "no_session"),
        "broken": (None, "unreadable"),
        "no-path": (None, "gone"),
    } == states


def test_a_run_that_was_not_traced_has_no_state_of_a_trace(publish: Publish, trace: Trace, tmp_path: Path) -> None:
    """Its id may be that of a session; that proves nothing."""
    trace.session("run-1")
    publish("other", "aaaa0001", trace.path)
    run = tmp_path / "state-root" / "runs" / "run-1"
    run.mkdir()
    status = {"session_id": "run-1", "status": "completed", "created_at": "2026-07-01", "workdir": str(tmp_path)}
    status |= {"schema": "agent-workflow/session-status/v2", "prompt_path": "prompt.md", "log_path": "output.log"}
    (run / "status.json").write_text(json.dumps(status))
    index_store.sync(tmp_path / "state-root")
    client = client_of([trace.path], tmp_path)

    assert (None, None) == run_of(client, "run-1")
    assert {"state": "not_indexed", "session_id": None} == evidence_of(client, "shop", "run-1")


def test_without_an_index_a_session_says_so(trace: Trace, tmp_path: Path) -> None:
    """It is no error."""
    trace.session("aaaa0001")
    client = client_of([trace.path], tmp_path)

    assert {"state": "no_index", "session_id": None} == evidence_of(client, "shop", "aaaa0001")
