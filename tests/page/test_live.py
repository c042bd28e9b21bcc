"""Runs that happen while the page looks, and what happens to their server: the page keeps up by itself."""

import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from page_demo import DemoProject, bash, envelope, turn, wait_for
from page_server import Looker, Server
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
TWO_POLLS_MS = 1000
SLACK = 5
"""This machine may be busy with other tests; two polls are for an idle one."""


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


def test_a_tool_call_appears_within_two_polls(look_away: Looker, project: DemoProject, server: Server) -> None:
    """Each step is on the page at most a second after the trace has it; at the end every event is there once."""
    page = look_away.open(server.address)
    expect(page.get_by_text("The page keeps trying")).to_be_visible()
    process = project.start("live0002")
    expect(page.locator("[role=row][data-status=working]")).to_have_count(1)
    page.goto(f"{server.address}#/s/live0002")
    expect(page.locator(".pulse.live")).to_be_visible()
    page.get_by_label("log", exact=False).first.check()
    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
        wait_for(partial(called, project, number))
        expect(page.locator(".event-row .row-link.mono", has_text=f"go-{number}")).to_have_count(
            1, timeout=TWO_POLLS_MS * SLACK
        )
        if number == 2:
            page.reload()
    assert 0 == process.wait(timeout=60)
    expect(page.locator(".summary")).to_contain_text("success", timeout=5000)
    expect(page.locator(".pulse.live")).to_have_count(0)

    assert stored_ids(project, "live0002") == event_ids(page)
    assert [] == [fault for fault in look_away.faults if "503" not in fault]


def test_a_rebuilt_database_starts_the_events_again(project: DemoProject, server: Server, look: Looker) -> None:
    """Rowids begin anew, and the page holds exactly the events that are there."""
    from agent_workflow.tracer import rebuild

    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
    assert 0 == project.run("live0002")
    page = look.open(f"{server.address}#/s/live0002")
    page.get_by_label("log", exact=False).first.check()
    stored = stored_ids(project, "live0002")
    wait_for(lambda: event_ids(page) == stored)

    rebuild(project.db, project.db.parent)
    page.wait_for_timeout(4000)

    assert stored_ids(project, "live0002") == event_ids(page)


@pytest.fixture
def second(project: DemoProject, server: Server, tmp_path: Path) -> Iterator[Server]:
    """Serve the same database once more."""
    made = Server([project.db], tmp_path / "state", tmp_path / "home")
    yield made
    made.stop()


def test_a_vacuum_and_a_second_server_change_nothing(
    project: DemoProject, second: Server, server: Server, look: Looker
) -> None:
    """Rowids may be handed out anew; both pages hold exactly the events that are there."""
    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
    assert 0 == project.run("live0002")
    pages = [look.open(f"{one.address}#/s/live0002") for one in (server, second)]
    for page in pages:
        page.get_by_label("log", exact=False).first.check()
    stored = stored_ids(project, "live0002")
    for page in pages:
        wait_for(partial(same_events, page, stored))

    connection = sqlite3.connect(project.db, isolation_level=None)
    connection.execute("VACUUM")
    connection.close()

    pages[0].wait_for_timeout(4000)
    assert stored == stored_ids(project, "live0002")
    for page in pages:
        assert stored == event_ids(page)


def test_the_page_says_that_the_server_is_away_and_recovers(
    look_away: Looker, project: DemoProject, server: Server
) -> None:
    """A calm banner while it is gone; what was read stays; everything goes on by itself."""
    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
    assert 0 == project.run("live0002")
    page = look_away.open(server.address)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(1)

    server.stop()
    expect(page.locator(".banner")).to_contain_text("The server has not answered since")
    expect(rows).to_have_count(1)

    server.start()
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".pulse")).to_contain_text("up to date")


def test_a_database_that_goes_wrong_is_told_and_recovers(
    look_away: Looker, project: DemoProject, server: Server
) -> None:
    """Not SQLite, then gone, then back: the page says each, and shows the sessions again."""
    for number in range(1, 5):
        (project.root / f"go-{number}").touch()
    assert 0 == project.run("live0002")
    page = look_away.open(server.address)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(1)
    kept = project.db.with_name("kept.db")
    for companion in ("-wal", "-shm"):
        project.db.with_name(project.db.name + companion).unlink(missing_ok=True)
    project.db.rename(kept)
    expect(page.locator(".note")).to_contain_text("The page keeps trying")

    project.db.write_text("this is no database, whatever its name says\n" * 100)
    expect(page.locator(".note")).to_contain_text("What is shown below is from before")

    project.db.unlink()
    kept.rename(project.db)
    expect(page.locator(".note")).to_have_count(0, timeout=20_000)
    expect(rows).to_have_count(1)
