"""What a newcomer asks of the genuine trace, answered by the routes alone."""

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient
from test_shapes import ROUTES
from trace_playground import client_of

pytestmark = pytest.mark.corpus


@pytest.fixture
def genuine(tmp_path: Path) -> TestClient:
    """Serve the trace that the original tracer wrote."""
    corpus = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not corpus:
        pytest.skip("AGENT_WORKFLOW_CORPUS is not set")
    with tarfile.open(Path(corpus) / "sssf-project.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(tmp_path / "project")
    return client_of([tmp_path / "project/adws/adw_data/sssf.db"], tmp_path)


def row(client: TestClient, adw_id: str) -> dict[str, Any]:
    """Return a session of the list."""
    rows: list[dict[str, Any]] = client.get("/api/sessions").json()
    return next(row for row in rows if row["adw_id"] == adw_id)


def test_why_feed0002_failed(genuine: TestClient) -> None:
    """A gate looked for a file that was never made."""
    failure = row(genuine, "feed0002")["failure"]

    assert ("phase", "break") == (failure["kind"], failure["phase_name"])
    assert "nope.txt: declared artifact does not exist" in failure["text"]


def test_what_feed0001_cost_and_where(genuine: TestClient) -> None:
    """Two calls, and every sum adds up; it failed because nobody accepted it."""
    found = genuine.get("/api/sessions/feed0001/reconciliation").json()
    spent = {phase["name"]: phase["cost"] for phase in found["phases"] if phase["cost"]}

    assert {"plan": 0.009585, "build": 0.031275} == spent
    assert 0.04086 == found["session"]["cost"] == found["session"]["stored_cost"]
    assert ("adds_up", "adds_up") == (found["session"]["tokens_verdict"], found["session"]["cost_verdict"])
    assert "not accepted: 2 tests failed" == row(genuine, "feed0001")["failure"]["text"]


def test_which_command_of_the_builder_exited_1(genuine: TestClient) -> None:
    """One red dot in the list, one event behind it."""
    dots = [mark for mark in row(genuine, "feed0001")["marks"] if mark[1] == "tool_call" and mark[3] is False]
    events = genuine.get(
        "/api/sessions/feed0001/events", params={"type": "tool_call", "q": "exited with code 1"}
    ).json()

    assert ["feed0001_03_build"] == [phase for _, _, phase, _ in dots]
    assert ["cat does-not-exist.txt"] == [
        json.loads(event["payload_json"])["args"]["command"] for event in events["events"]
    ]


def test_feed0006_is_dead(genuine: TestClient) -> None:
    """It is stored as running, and its process is not there."""
    found = row(genuine, "feed0006")

    assert ("running", "lost") == (found["status"], found["shown_status"])
    assert "gone" in found["shown_because"]


def test_a_gate_that_inspected_nothing_is_told_apart(genuine: TestClient) -> None:
    """It is green, and looked at nothing."""
    gates = genuine.get("/api/sessions/feed0001/gates").json()

    assert [("files_non_empty", 1)] == [
        (gate["gate"], gate["attempt"]) for gate in gates if gate["evidence"] == "inspected_nothing"
    ]


def test_every_route_of_every_session_has_its_shape(genuine: TestClient) -> None:
    """As the OpenAPI document says."""
    for number in range(1, 7):
        for route, shape in ROUTES.items():
            reply = genuine.get(route.replace("aaaa0001", f"feed000{number}"))

            assert 200 == reply.status_code, (route, reply.text)
            TypeAdapter(shape).validate_json(reply.content)
