"""The fleet routes over an index that is filled from run directories."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter
from starlette.testclient import TestClient
from trace_playground import Trace, client_of

from agent_workflow import index_store
from agent_workflow.visualizer import _fleet_models
from agent_workflow.visualizer._fleet import thinned
from agent_workflow.visualizer._fleet_routes import KINDS

pytestmark = pytest.mark.slow


def document(path: Path, content: dict[str, Any]) -> None:
    """Write one JSON document."""
    path.write_text(json.dumps(content))


@pytest.fixture
def state_root(tmp_path: Path) -> Path:
    """Make two runs, one with an incident that is open and health samples, and index them."""
    root = tmp_path / "state-root"
    for number, status in ((1, "completed"), (2, "running")):
        run = root / "runs" / f"run-{number}"
        run.mkdir(parents=True, mode=0o700)
        document(
            run / "status.json",
            {
                "schema": "agent-workflow/session-status/v2", "session_id": run.name, "status": status,
                "created_at": f"2026-07-0{number}T00:00:00+00:00", "workdir": "/srv/work", "prompt_path": "prompt.md",
                "log_path": "output.log",
            },
        )  # fmt: skip
    incident = {
        "schema": "agent-workflow/incident-event/v1", "incident_id": "a" * 24, "session_id": "run-2",
        "recorded_at": "2026-07-02T00:00:00+00:00", "category": "permission_wait", "severity": "high",
        "summary": "waits", "fingerprint": "b" * 64, "state": "open", "evidence": {},
    }  # fmt: skip
    (root / "runs/run-2/incident-events.jsonl").write_text(json.dumps(incident) + "\n")
    for folder in (root, root / "runs"):
        folder.chmod(0o700)
    index_store.sync(root)
    return root


@pytest.fixture
def fleet(state_root: Path, trace: Trace, tmp_path: Path) -> TestClient:
    """Serve the index beside a trace that holds one of its runs."""
    trace.session("run-1")
    return client_of([trace.path], tmp_path)


ROUTES: dict[str, Any] = {
    "status": _fleet_models.IndexDocument,
    "verify?full=true": _fleet_models.IndexDocument,
    "runs": _fleet_models.RunPage,
    "runs?q=RUN-2&limit=1": _fleet_models.RunPage,
    "runs/run-2": _fleet_models.RunDetail,
    "runs/run-2/health?points=3": _fleet_models.HealthSeries,
    "attention": _fleet_models.Attention,
    "spend": _fleet_models.Spend,
    "outcomes?since=2026-01-01": _fleet_models.Outcomes,
    "workflows": _fleet_models.Workflows,
    **dict.fromkeys(KINDS, _fleet_models.KindPage),
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_has_its_documented_shape(route: str, fleet: TestClient) -> None:
    """What is answered is what the OpenAPI document says."""
    reply = fleet.get(f"/api/fleet/{route}")

    assert 200 == reply.status_code, reply.text
    TypeAdapter(ROUTES[route]).validate_json(reply.content)


@pytest.mark.parametrize("route", [name for name in ROUTES if not name.startswith("verify")])
def test_an_idle_poll_is_304(route: str, fleet: TestClient) -> None:
    """Nothing has changed: no body."""
    etag = fleet.get(f"/api/fleet/{route}").headers["etag"]

    again = fleet.get(f"/api/fleet/{route}", headers={"if-none-match": etag})

    assert (304, b"") == (again.status_code, again.content)


def test_runs_are_filtered_searched_and_paged(fleet: TestClient) -> None:
    """Newest first."""
    assert ["run-2", "run-1"] == [row["session_id"] for row in fleet.get("/api/fleet/runs").json()["rows"]]
    assert ["run-1"] == [row["session_id"] for row in fleet.get("/api/fleet/runs?state=completed").json()["rows"]]
    first, second = (fleet.get("/api/fleet/runs", params={"limit": 1, "offset": offset}).json() for offset in (0, 1))
    assert ("run-2", True) == (first["rows"][0]["session_id"], first["has_more"])
    assert ("run-1", False) == (second["rows"][0]["session_id"], second["has_more"])


def test_a_run_tells_its_sources_with_digests(fleet: TestClient, state_root: Path) -> None:
    """Anybody can check them."""
    from hashlib import sha256

    sources = {row["relative_path"]: row for row in fleet.get("/api/fleet/runs/run-2").json()["sources"]}

    assert {"status.json", "incident-events.jsonl"} == set(sources)
    data = (state_root / "runs/run-2/status.json").read_bytes()
    assert sha256(data).hexdigest() == sources["status.json"]["sha256"]


def test_what_is_open_waits_for_attention(fleet: TestClient) -> None:
    """By the latest row of each incident."""
    body = fleet.get("/api/fleet/attention").json()

    assert ["a" * 24] == [row["incident_id"] for row in body["incidents"]]
    assert [] == body["permissions"]


def test_a_changed_source_makes_the_index_stale_and_verify_tells(fleet: TestClient, state_root: Path) -> None:
    """Both only read."""
    path = state_root / "runs/run-1/status.json"
    path.write_text(path.read_text().replace("completed", "failed"))

    assert "stale" == fleet.get("/api/fleet/status").json()["freshness"]
    mismatches = fleet.get("/api/fleet/verify?full=true").json()["source_mismatches"]
    assert ["status.json"] == [row["path"] for row in mismatches]


@pytest.mark.parametrize(
    ("route", "status"),
    [
        ("runs/nobody", 404), ("runs/nobody/health", 404), ("workflows/none", 404), ("nothing", 404),
        ("runs?since=never", 400), ("performance?session=x", 400), ("runs?limit=0", 400), ("verify?review=..", 400),
        ("verify?review=nobody", 404),
    ],
)  # fmt: skip
def test_mistakes_are_answered_with_what_is_wrong(route: str, status: int, fleet: TestClient) -> None:
    """Never with an empty list."""
    reply = fleet.get(f"/api/fleet/{route}")

    assert status == reply.status_code
    assert reply.json()["error"]


def test_a_database_that_is_no_index_is_503(state_root: Path, tmp_path: Path) -> None:
    """It says what is wrong, and recovers when it is put right."""
    path = state_root / "index/agent-workflow.sqlite3"
    client = client_of([], tmp_path)
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)
    path.write_bytes(b"no database" * 1000)
    path.chmod(0o600)

    broken = client.get("/api/fleet/runs?limit=7")
    path.unlink()
    index_store.sync(state_root)

    assert 503 == broken.status_code
    assert 200 == client.get("/api/fleet/runs?limit=8").status_code


@pytest.mark.parametrize(("count", "most"), [(0, 5), (3, 5), (5, 5), (6, 5), (10_000, 500), (10, 2)])
def test_thinning_keeps_both_ends(count: int, most: int) -> None:
    """Evenly, in order, at most so many."""
    rows = [{"number": number} for number in range(count)]

    kept = thinned(rows, most)

    assert min(count, most) == len(kept)
    assert rows[:1] + rows[-1:] == kept[:1] + kept[-1:]
    assert sorted(row["number"] for row in kept) == [row["number"] for row in kept]
