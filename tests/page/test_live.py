"""Runs that happen while the page looks, and what happens to their server: the page keeps up by itself."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from page_demo import DemoProject, bash, envelope, turn, wait_for
from page_server import Looker, Server
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.fixture
def project(tmp_path: Path) -> Iterator[DemoProject]:
    """Make a project whose stepper waits for a file before each step."""
    made = DemoProject(tmp_path / "project")
    steps = [
        turn(f"Step {n}", bash(f"while [ ! -e go-{n} ]; do sleep 0.02; done; echo done {n}"), seconds=0)
        for n in range(1, 5)
    ]
    made.script("stepper", [*steps, turn(envelope("All steps done"), seconds=0)])
    yield made
    for number in range(1, 5):
        (made.root / f"go-{number}").touch()
    made.close()


@pytest.fixture
def server(project: DemoProject, tmp_path: Path) -> Iterator[Server]:
    """Serve it; the database need not exist yet."""
    made = Server([project.db], tmp_path / "state", tmp_path / "home")
    yield made
    made.stop()


@pytest.fixture
def second(project: DemoProject, server: Server, tmp_path: Path) -> Iterator[Server]:
    """Serve the same database once more."""
    made = Server([project.db], tmp_path / "state", tmp_path / "home")
    yield made
    made.stop()


def event_ids(page: Page) -> list[str]:
    """Read the events that the list holds, in their order."""
    found: list[str] = page.evaluate(
        "[...document.querySelectorAll('.event-row .row-link')]"
        ".map((link) => link.getAttribute('href').split('/').pop().split('?')[0])"
    )
    return found


def stored_ids(project: DemoProject, adw_id: str) -> list[str]:
    """Read the events that the trace holds, in their order."""
    connection = sqlite3.connect(f"file:{project.db}?mode=ro", uri=True)
    try:
        return [
            row[0]
            for row in connection.execute("SELECT event_id FROM events WHERE adw_id = ? ORDER BY rowid", (adw_id,))
        ]
    finally:
        connection.close()


def same_events(page: Page, wanted: list[str]) -> bool:
    """Tell whether the list holds exactly these events."""
    return event_ids(page) == wanted


def called(project: DemoProject, times: int) -> bool:
    """Tell whether the trace holds so many tool calls."""
    return len(project.events("live0002", "tool_call")) >= times


WATCH = """() => {
  performance.setResourceTimingBufferSize(100000);
  window.firstSeen = {};
  new MutationObserver(() => {
    for (const link of document.querySelectorAll('.event-row .row-link.mono')) {
      const step = /go-(\\d)/.exec(link.textContent)?.[1];
      if (step && !(step in window.firstSeen)) window.firstSeen[step] = performance.now();
    }
  }).observe(document, { subtree: true, childList: true, characterData: true });
}"""
COUNT = """([since, step]) => {
  const until = step == null ? Infinity : window.firstSeen[step];
  if (until === undefined) throw new Error(`step ${step} was never seen`);
  const asked = performance.getEntriesByType('resource').filter((one) => one.name.includes('/events?'));
  return asked.filter((one) => one.startTime + performance.timeOrigin >= since && one.startTime <= until).length;
}"""


def polls(page: Page, since: float, step: int | None = None) -> int:
    """Count the polls for events that began since a moment, at most until a step was first seen."""
    found: int = page.evaluate(COUNT, [since * 1000, step])
    return found


def polls_twice(page: Page) -> None:
    """Wait until the page has begun to ask for events three times from now on: two replies were taken in."""
    now = time.time()
    wait_for(lambda: polls(page, now) >= 3)


def test_a_tool_call_appears_within_two_polls(look_away: Looker, project: DemoProject, server: Server) -> None:
    """Two polls at most begin while a call is in the trace and not on the page; in the end each event is there once."""
    page = look_away.open(server.address)
    expect(page.get_by_text("The page keeps trying")).to_be_visible()
    process = project.start("live0002")
    expect(page.locator("[role=row][data-status=working]")).to_have_count(1)
    page.goto(f"{server.address}#/s/live0002")
    expect(page.locator(".pulse.live")).to_be_visible()
    page.get_by_label("log", exact=False).first.check()
    page.evaluate(WATCH)
    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
        wait_for(partial(called, project, number))
        written = time.time()
        expect(page.locator(".event-row .row-link.mono", has_text=f"go-{number}")).to_have_count(1)

        assert polls(page, written, number) <= 2

        if number == 2:
            page.reload()
            page.evaluate(WATCH)
    assert 0 == process.wait(timeout=60)
    expect(page.locator(".summary")).to_contain_text("success")
    expect(page.locator(".pulse.live")).to_have_count(0)

    assert stored_ids(project, "live0002") == event_ids(page)
    assert [] == [fault for fault in look_away.faults if "503" not in fault]


def vacuum(project: DemoProject) -> None:
    """Hand rowids out anew, as a person with a shell may do at any time."""
    connection = sqlite3.connect(project.db, isolation_level=None, timeout=60)
    connection.execute("VACUUM")
    connection.close()


def test_no_event_is_lost_or_doubled_whatever_happens_meanwhile(
    project: DemoProject, second: Server, server: Server, look: Looker
) -> None:
    """A run that goes on, two servers, reloads, a VACUUM between two events, a rebuild while both pages poll."""
    from agent_workflow.tracer import rebuild

    process = project.start("live0002")
    wait_for(lambda: stored_ids(project, "live0002"))
    pages = [look.open(f"{one.address}#/s/live0002") for one in (server, second)]
    for page in pages:
        page.get_by_label("log", exact=False).first.check()
    unfold = pages[1].locator("summary", has_text="Processes").click
    meanwhiles: list[Callable[[], object]] = [pages[0].reload, partial(vacuum, project), pages[1].reload, unfold]
    for number, meanwhile in enumerate(meanwhiles, 1):
        (project.root / f"go-{number}").touch()
        meanwhile()
        wait_for(partial(called, project, number))
    assert 0 == process.wait(timeout=60)
    stored = stored_ids(project, "live0002")
    assert len(set(stored)) == len(stored)
    for page in pages:
        wait_for(partial(same_events, page, stored))

    rebuild(project.db, project.db.parent)
    stored = stored_ids(project, "live0002")
    for page in pages:
        polls_twice(page)

        assert stored == event_ids(page)
    expect(pages[1].locator("details[open] > summary", has_text="Processes")).to_have_count(1)  # through it all
