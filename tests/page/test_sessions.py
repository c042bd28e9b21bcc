"""The list of sessions in a real browser."""

import re

import pytest
from page_server import Looker
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_every_way_a_run_ends_can_be_told_from_the_list(look: Looker, served: str) -> None:
    """Status, reason, cost and runtime of each session are in its row."""
    page = look.open(served)
    rows = page.locator("[role=row][data-status]")

    expect(rows).to_have_count(7)
    lost = rows.filter(has_text="demo0006")
    expect(lost).to_contain_text("lost")
    expect(lost).to_contain_text("is gone")
    expect(rows.filter(has_text="demo0001")).to_contain_text("not accepted: 2 tests failed")
    expect(rows.filter(has_text="demo0002")).to_contain_text("nope.txt: declared artifact does not exist")
    expect(rows.filter(has_text="demo0005")).to_contain_text("SIGTERM (asked to end)")
    expect(rows.filter(has_text="demo0007")).to_contain_text("success")
    expect(rows.filter(has_text="demo0001").locator(".c-cost")).to_contain_text("$0.0274")
    expect(page.get_by_text("$0.0000")).to_have_count(0)


MOVES_ON = """
new MutationObserver(() => {
    if (!window.movedOn && document.querySelector("nav")) {
        window.movedOn = true;
        window.location.hash = "#/s/demo0001";
    }
}).observe(document, {childList: true, subtree: true});
"""


def test_an_address_that_changes_at_the_first_drawing_counts(look: Looker, served: str) -> None:
    """Whoever follows a link in the very moment in which the page appears gets there."""
    page = look.open("about:blank")
    page.add_init_script(MOVES_ON)
    page.goto(served)

    expect(page.locator("table.phases")).to_be_visible()


def test_search_and_filters_are_in_the_address(look: Looker, served: str) -> None:
    """What is filtered survives a reload; Escape clears it."""
    page = look.open(served)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(7)
    page.keyboard.press("/")
    page.keyboard.type("demo0002")
    expect(rows).to_have_count(1)
    expect(page).to_have_url(re.compile("q=demo0002"))

    page.reload()
    expect(rows).to_have_count(1)
    expect(page.get_by_label("Search sessions")).to_have_value("demo0002")
    rows.get_by_role("link").first.click()
    expect(page.locator("table.phases")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(re.compile("q=demo0002"))
    expect(rows).to_have_count(1)

    page.locator("main").press("Escape")
    expect(rows).to_have_count(7)
    page.get_by_label("Status", exact=True).select_option("lost")
    expect(rows).to_have_count(1)
    page.get_by_label("Status", exact=True).select_option("waiting")
    expect(page.get_by_text("No session matches")).to_be_visible()
    page.get_by_role("button", name="clear the filters").click()
    expect(rows).to_have_count(7)
    page.get_by_label("Workflow", exact=True).select_option("adw_plan_build")
    expect(rows).to_have_count(7)


def test_the_order_is_chosen_and_kept(look: Looker, served: str) -> None:
    """Dearest first puts the run with three agents on top."""
    page = look.open(served)
    page.get_by_label("Order").select_option("cost")
    expect(page.locator("[role=row][data-status]").first).to_contain_text("demo0007")
    page.reload()
    expect(page.locator("[role=row][data-status]").first).to_contain_text("demo0007")


def test_the_keyboard_moves_opens_and_comes_back(look: Looker, served: str) -> None:
    """J, k, n, Enter, Escape, g f, g s and ? do what the help says."""
    page = look.open(served)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(7)
    page.keyboard.press("j")
    expect(page.locator("[data-row='0']")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    expect(page.locator("[data-row='0']")).to_be_focused()
    page.keyboard.press("End")
    expect(page.locator("[data-row='6']")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator("[data-row='0']")).to_be_focused()
    page.keyboard.press("n")
    expect(page.locator("[data-row='2']")).to_be_focused()
    page.keyboard.press("N")
    expect(page.locator("[data-row='0']")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/s/demo0006"))
    page.keyboard.press("Escape")
    expect(rows).to_have_count(7)
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="Fleet", exact=True)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("s")
    expect(rows).to_have_count(7)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("next, previous error")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_archiving_is_undone_with_one_press(look: Looker, served: str) -> None:
    """An archived session leaves the list, is in the archived view, and comes back."""
    page = look.open(served)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(7)
    page.get_by_role("button", name="archive demo0004").click()
    expect(rows).to_have_count(6)
    page.get_by_label("archived", exact=True).check()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("demo0004")
    page.get_by_role("button", name="restore demo0004").click()
    expect(page.get_by_text("Nothing is archived")).to_be_visible()
    page.get_by_label("archived", exact=True).uncheck()
    expect(rows).to_have_count(7)
    page.get_by_role("button", name="archive demo0003").click()
    expect(rows).to_have_count(6)
    page.get_by_role("button", name="undo").click()
    expect(rows).to_have_count(7)


def test_what_ended_since_the_last_visit_is_told(look: Looker, served: str) -> None:
    """A visit an hour before the runs finds them all new, until they are marked as seen."""
    page = look.open(served)
    expect(page.locator("[role=row][data-status]")).to_have_count(7)
    assert page.locator(".new").count() == 0
    page.evaluate("localStorage.setItem('agent-workflow:seen-at', String(Date.now() - 3600_000))")
    page.reload()
    expect(page.locator(".digest")).to_contain_text("6 sessions ended: 1 succeeded, 5 failed")
    expect(page.locator(".new")).to_have_count(6)
    page.get_by_role("button", name="mark as seen").click()
    expect(page.locator(".new")).to_have_count(0)


def test_the_theme_follows_the_system_until_it_is_chosen(look: Looker, served: str) -> None:
    """Dark on a dark system; the button and t change it, and it is remembered."""
    page = look.open(served, dark=True)
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("[role=row][data-status]")).to_have_count(7)
    page.keyboard.press("t")
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="theme: light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_polling_moves_nothing(look: Looker, served: str) -> None:
    """Two seconds of polling leave every row where it was."""
    page = look.open(served)
    expect(page.locator("[role=row][data-status]")).to_have_count(7)
    expect(page.get_by_label("Workflow").locator("option")).not_to_have_count(1)  # the last that comes at the beginning
    places = "[...document.querySelectorAll('[role=row]')].map((row) => row.getBoundingClientRect().toJSON())"
    before = page.evaluate(places)
    shifts = page.evaluate(
        """() => new Promise((done) => { let sum = 0;
        const watch = new PerformanceObserver((list) => list.getEntries().forEach((entry) => { sum += entry.value; }));
        watch.observe({ type: "layout-shift" });
        setTimeout(() => done(sum), 4000); })"""
    )

    assert before == page.evaluate(places)
    assert 0 == shifts


def test_no_control_moves_while_the_list_comes(look: Looker, served: str) -> None:
    """What can be chosen comes later than the list, and pushes nothing away that somebody is about to press."""
    page = look.open(served)
    expect(page.get_by_label("Workflow").locator("option")).not_to_have_count(1)

    moved = page.evaluate(
        """() => new Promise((done) => {
        const nodes = (list) => list.getEntries().flatMap((entry) => entry.sources.map((source) => source.node));
        const controls = (list) => nodes(list).filter((one) => one?.closest?.(".toolbar")).map((one) => one.outerHTML);
        new PerformanceObserver((list) => done(controls(list))).observe({ type: "layout-shift", buffered: true });
        setTimeout(() => done([]), 1000); })"""
    )

    assert [] == moved


@pytest.mark.parametrize("width", [360, 1440, 3840])
def test_nothing_sticks_out_sideways(look: Looker, served: str, width: int) -> None:
    """The page fits its window, from a telephone to a wall."""
    page = look.open(served, width=width)
    for address in (
        "#/",
        "#/s/demo0001",
        "#/s/demo0002",
        "#/fleet",
        "#/fleet/runs",
        "#/fleet/run/run-001",
        "#/fleet/index",
    ):
        page.goto(served + address)
        expect(page.locator("h1").first).to_be_visible()
        page.wait_for_timeout(400)

        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), address
