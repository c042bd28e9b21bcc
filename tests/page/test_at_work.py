"""Sessions that are at work: not archived, told when they end, and seen when they go on after their end."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from page_demo import wait_for
from page_server import Looker, Server
from page_traces import Trace
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
TELL = """
window.told = [];
const Real = window.Notification;
window.Notification = class extends Real {
  constructor(title, options) { super(title, options); window.told.push([title, options.body]); }
};
"""


def ago(seconds: float) -> str:
    """Return a time so many seconds before this moment."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    """Make a trace with one session that is at work."""
    made = Trace(tmp_path / "shop/adws/adw_data/sssf.db")
    made.session("aaaa0001", "running", started_at=ago(30))
    made.event("aaaa0001", started_at=ago(1))
    yield made
    made.close()


@pytest.fixture
def server(trace: Trace, tmp_path: Path) -> Iterator[Server]:
    """Serve it."""
    made = Server([trace.path], tmp_path / "state", tmp_path / "home")
    yield made
    made.stop()


def end(trace: Trace, status: str) -> None:
    """Let the session end."""
    trace.connection.execute("UPDATE sessions SET status = ?, ended_at = ?", (status, ago(0)))


def shown(page: Page, word: str) -> None:
    """Wait until the list shows the session with a word."""
    expect(page.locator(f"[role=row][data-status={word}]")).to_have_count(1)


def test_a_running_session_is_not_archived_and_the_page_says_why(
    trace: Trace, server: Server, look_away: Looker
) -> None:
    """The button can be reached and pressed, and the server's reason is read out; afterwards it works."""
    page = look_away.open(server.address)
    shown(page, "working")
    button = page.get_by_role("button", name="archive aaaa0001")
    expect(button).to_have_attribute("aria-disabled", "true")

    button.click(force=True)  # what says that it is disabled must be pressed on purpose

    expect(page.locator(".said")).to_contain_text("session aaaa0001 is running")
    expect(page.locator(".said")).to_contain_text("it can be archived when it has ended")
    page.goto(f"{server.address}#/s/aaaa0001")
    page.get_by_role("button", name="archive", exact=True).click(force=True)
    expect(page.locator(".summary")).to_contain_text("it can be archived when it has ended")
    assert [409, 409] == [int(fault[:3]) for fault in look_away.faults if fault[:3].isdigit()]

    page.goto(server.address)
    end(trace, "success")
    shown(page, "success")
    page.get_by_role("button", name="archive aaaa0001").click()
    expect(page.locator(".said")).to_contain_text("aaaa0001 is archived")


def test_a_session_that_goes_on_after_its_end_is_shown_at_work(trace: Trace, server: Server, look: Looker) -> None:
    """Stored as failed, and an event comes: the list and the trace follow the events, and say what is stored."""
    trace.connection.execute("UPDATE sessions SET status = 'fail', ended_at = ?", (ago(20),))
    trace.connection.execute("UPDATE events SET started_at = ?", (ago(25),))
    page = look.open(server.address)
    shown(page, "fail")

    trace.event("aaaa0001", started_at=ago(0))

    shown(page, "working")
    expect(page.locator("[role=row][data-status]")).to_contain_text("stored as fail, but events have come")
    page.goto(f"{server.address}#/s/aaaa0001")
    expect(page.locator(".verdict")).to_contain_text("It is at work, whatever is stored")
    expect(page.locator(".pulse.live")).to_be_visible()


def test_endings_are_told_outside_of_the_page_when_asked_for(trace: Trace, server: Server, look: Looker) -> None:
    """Nothing before somebody asks; then each end once, whatever screen is open."""
    page = look.open(server.address)
    page.context.grant_permissions(["notifications"])
    page.add_init_script(TELL)
    page.reload()
    shown(page, "working")
    button = page.get_by_role("button", name="notify")
    expect(button).to_have_attribute("aria-pressed", "false")
    with page.expect_response(lambda reply: "marks=0" in reply.url):
        button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    page.goto(f"{server.address}#/s/aaaa0001")
    expect(page.locator(".summary")).to_contain_text("working")
    assert [] == page.evaluate("window.told")

    end(trace, "fail")

    told = wait_for(lambda: page.evaluate("window.told"))
    assert ["aaaa0001 failed"] == [title for title, _ in told]
    assert "Add a greeting" in told[0][1]


def test_a_browser_that_refuses_is_told_so_and_the_page_goes_on(server: Server, look: Looker) -> None:
    """Without permission there is a sentence, and everything else as before."""
    page = look.open(server.address)
    shown(page, "working")
    page.evaluate("Notification.requestPermission = async () => 'denied'")

    page.get_by_role("button", name="notify").click()

    expect(page.locator(".said")).to_contain_text("does not allow this page to notify")
    expect(page.get_by_role("button", name="notify")).to_have_attribute("aria-pressed", "false")
    shown(page, "working")
