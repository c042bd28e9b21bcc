"""A run that our tracer records while the page's server is asked: shown as it is, followed without a gap."""

import json
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from test_cursor import Page

WORKFLOW = """
    import sys, time
    from agent_workflow.tracer import PhaseParams, ensure, load_config
    run = ensure(load_config("adws/sssf.config.yaml"), "feed0042")
    with run.phase(PhaseParams(name="work", kind="code", owner="quality", description="Count for a while")) as ph:
        for number in range(60):
            ph.log(number=number)
            time.sleep(0.02)
        print("counted", flush=True)
        sys.stdin.readline()
    sys.exit(run.finish(accepted=False, reason="it only counted"))
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Make a repository with a workflow."""
    root = tmp_path / "shop"
    (root / "adws").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "adws" / "sssf.config.yaml").write_text("agents: []\n")
    (root / "adws" / "count.py").write_text(textwrap.dedent(WORKFLOW))
    return root


def start(root: Path) -> subprocess.Popen[str]:
    """Start the workflow."""
    command = [sys.executable, "adws/count.py"]
    return subprocess.Popen(command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def wait_for(client: TestClient, word: str, phases: int = 0) -> dict[str, Any]:
    """Poll until the session is shown with a word, and so many phases at least."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        rows = client.get("/api/sessions").json()
        if isinstance(rows, list) and rows and rows[0]["shown_status"] == word and len(rows[0]["phases"]) >= phases:
            row: dict[str, Any] = rows[0]
            return row
        time.sleep(0.05)
    raise AssertionError(f"never shown as {word}: {client.get('/api/sessions').text[:500]}")


def test_a_run_is_followed_from_its_beginning_to_its_end(repository: Path, serve: Any) -> None:
    """Asked from before there is a database: working, every event once, refused to archive, then why it failed."""
    database = repository / "adws/adw_data/sssf.db"
    client: TestClient = serve(database)
    assert 503 == client.get("/api/sessions").status_code
    page = Page(client, "feed0042", limit=7)

    run = start(repository)
    try:
        wait_for(client, "working")
        page.poll()
        refused = client.post("/api/sessions/feed0042/archive", json={})
        assert run.stdout is not None
        while run.stdout.readable() and "counted" not in run.stdout.readline():
            page.poll()
        states = [row["state"] for row in client.get("/api/sessions/feed0042/processes").json()]
        run.communicate("go on\n", timeout=60)
    finally:
        run.kill()
        run.wait()
    page.poll()
    row = wait_for(client, "fail")
    lines = (database.parent / "sessions/feed0042/events.jsonl").read_text().splitlines()
    recorded = [json.loads(line) for line in lines]

    assert [event["event_id"] for event in recorded] == page.events
    assert 409 == refused.status_code
    assert ["alive"] == states
    assert "it only counted" in row["failure"]["text"]
    assert 200 == client.post("/api/sessions/feed0042/archive", json={}).status_code


def test_a_run_that_was_killed_is_shown_as_lost(repository: Path, serve: Any) -> None:
    """SIGKILL leaves no word; its process does."""
    client: TestClient = serve(repository / "adws/adw_data/sssf.db")
    run = start(repository)
    wait_for(client, "working", phases=1)

    run.kill()
    run.communicate()

    row = wait_for(client, "lost")
    assert "is gone" in row["shown_because"]
    assert ["lost"] == [phase["shown_status"] for phase in row["phases"]]
    assert {"lost": 1} == client.get("/api/facets").json()["statuses"]
    assert 1 == len(client.get("/api/sessions?status=lost").json())
    assert 0 == len(client.get("/api/sessions?status=working,success").json())
