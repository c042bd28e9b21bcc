"""From a run of the fleet to its trace and back, in a real browser."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from page_demo import DemoProject
from page_server import Looker, Server
from playwright.sync_api import expect

from agent_workflow.index_store import sync

pytestmark = pytest.mark.browser


def publish(root: Path, session_id: str, adw_id: str, database: Path) -> None:
    """Write a recorded workflow into a state root as it is while it lives."""
    run = root / "runs" / session_id
    run.mkdir(mode=0o700)
    session: dict[str, Any] = dict.fromkeys(("agent_name", "agent_class", "tier", "retry_of"))
    launch = {
        "schema": "agent-workflow/traced-launch-contract/v1",
        "version": 1,
        "session": session | {"id": session_id, "created_at": "2026-07-01T00:00:00+00:00"},
        "workflow": {"name": "adw_plan_build"},
        "agents": [{"name": "planner", "coding_agent": "scripted", "model": None}],
        "worktree": {"path": "/srv/shop", "source_revision": None, "branch": None, "dirty_at_launch": None},
        "runner": {"pid": 4000, "start_marker": None},
        "trace": {"adw_id": adw_id, "database": str(database), "session_directory": "/srv/shop/sessions"},
        "tracer_version": "1.0.0",
    }
    (run / "launch-contract.json").write_text(json.dumps(launch))


@pytest.fixture
def linked(demo: DemoProject, tmp_path: Path) -> Iterator[str]:
    """Serve the demo traces beside the runs that two of them were published as, and one whose trace is gone."""
    root = tmp_path / "state"
    for folder in (root, root / "runs"):
        folder.mkdir(mode=0o700)
    publish(root, "demo0001-3fe2", "demo0001", demo.db)
    publish(root, "moved-away", "demo0002", tmp_path / "gone.db")
    publish(root, "forgotten", "never-was", demo.db)
    sync(root)
    server = Server([demo.db], root, tmp_path / "home")
    yield server.address
    server.stop()


def test_a_run_leads_to_its_trace_and_the_trace_to_the_run(linked: str, look: Looker) -> None:
    """Both ways, from the list, the run and the session."""
    page = look.open(f"{linked}#/fleet/runs")
    row = page.locator("table.runs tbody tr", has_text="demo0001-3fe2")
    expect(row).to_contain_text("scripted")
    row.get_by_role("link", name="demo0001-3fe2").click()
    expect(page.locator(".facts").first).to_contain_text("adw_plan_build")

    page.get_by_role("link", name="open its trace").click()
    expect(page).to_have_url(re.compile("s/demo0001$"))
    expect(page.get_by_role("region", name="Why")).to_contain_text("2 tests failed")

    page.locator(".summary").get_by_role("link", name="demo0001-3fe2").click()
    expect(page).to_have_url(re.compile("#/fleet/run/demo0001-3fe2$"))
    page.get_by_role("link", name="Runs", exact=True).first.click()
    row.get_by_role("link", name="open", exact=True).click()
    expect(page).to_have_url(re.compile("s/demo0001$"))


def test_a_trace_that_cannot_be_opened_says_why(linked: str, look: Looker) -> None:
    """And offers no link that leads nowhere."""
    page = look.open(f"{linked}#/fleet/run/moved-away")
    expect(page.get_by_text("Its trace is gone")).to_contain_text("gone.db")
    expect(page.get_by_role("link", name="open its trace")).to_have_count(0)

    page.goto(f"{linked}#/fleet/run/forgotten")
    expect(page.get_by_text("does not hold its session never-was")).to_contain_text("agent-workflow trace rebuild")

    page.goto(f"{linked}#/fleet/runs")
    expect(page.locator("table.runs tbody tr", has_text="moved-away")).to_contain_text("gone")


def test_a_session_that_was_not_published_shows_no_run(linked: str, look: Looker) -> None:
    """Its summary has no place for one."""
    page = look.open(f"{linked}#/s/demo0003")
    with page.expect_response(re.compile("demo0003/evidence")):
        page.reload()
    expect(page.locator(".summary dt", has_text="session")).to_have_count(1)
    expect(page.locator(".summary dt", has_text="evidence")).to_have_count(0)
