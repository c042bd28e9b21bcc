"""The fleet in a real browser, over an index built from a small state root."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_demo import DemoProject
from page_server import Looker, Server
from playwright.sync_api import expect

pytestmark = pytest.mark.browser


def test_the_overview_says_what_runs_waits_is_open_and_costs(look: Looker, served: str) -> None:
    """All questions of the fleet have their answer on one page."""
    page = look.open(f"{served}#/fleet")
    expect(page.get_by_role("region", name="Not ended")).to_contain_text("run-001")
    expect(page.get_by_role("region", name="Waiting for a person")).to_contain_text("git push origin main")
    expect(page.get_by_role("region", name="Open incidents")).to_contain_text("Nothing moved for ten minutes")
    spend = page.get_by_role("region", name="Spend")
    expect(spend.locator("tr", has_text="claude-opus-5")).to_contain_text("16 samples")
    expect(spend.locator("tr", has_text="gpt-5.6-luna").locator("td").nth(4)).to_have_text("unknown")
    expect(spend.locator("canvas")).to_have_count(1)
    expect(page.get_by_role("region", name="Outcomes").locator("tr", has_text="claude-opus-5")).to_contain_text("%")
    page.get_by_role("button", name="7 days").click()
    expect(page).to_have_url(re.compile("since=7d"))
    page.reload()
    expect(page.get_by_role("button", name="7 days")).to_have_attribute("aria-pressed", "true")


def test_a_run_shows_its_life_health_and_digests_and_verifies(look: Looker, served: str) -> None:
    """From the list to the run, its charts, its sources, its verdict, and back."""
    page = look.open(f"{served}#/fleet/runs")
    expect(page.locator("table.runs tbody tr")).to_have_count(49)
    page.get_by_label("Search runs").fill("run-003")
    expect(page.locator("table.runs tbody tr")).to_have_count(1)
    page.get_by_role("link", name="run-003").click()
    expect(page.locator(".facts").first).to_contain_text("test failure")
    expect(page.locator(".charts canvas")).to_have_count(6)
    expect(page.locator("details", has_text="Lifecycle")).to_contain_text("failed")
    page.locator("summary", has_text="Sources and digests").click()
    expect(page.get_by_role("cell", name="run-provenance.json", exact=True)).to_be_visible()
    page.get_by_role("button", name="Verify now").click()
    expect(page.get_by_role("region", name="Verify")).to_contain_text("Not everything holds")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search runs")).to_have_value("run-003")


def test_runs_are_walked_with_the_keyboard(look: Looker, served: str) -> None:
    """J, k and n move the focus; Enter opens."""
    page = look.open(f"{served}#/fleet/runs")
    expect(page.locator("table.runs tbody tr")).to_have_count(49)
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("n")
    focused = page.locator("tr:focus-within")
    expect(focused).to_contain_text(re.compile("failed|unreadable"))
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#/fleet/run/"))


def test_the_keyboard_goes_on_from_the_row_that_has_the_focus(look: Looker, served: str) -> None:
    """However the focus came there: by Tab, by a click, or with runs that came in above it."""
    page = look.open(f"{served}#/fleet/runs")
    page.locator('[data-run="3"] a').first.focus()

    page.keyboard.press("j")

    expect(page.locator('[data-run="4"] a').first).to_be_focused()


def test_a_workflow_is_a_graph_and_a_table(look: Looker, served: str) -> None:
    """Nodes stand right of what they wait for; one leads to its run."""
    page = look.open(f"{served}#/fleet/workflows/nightly")
    nodes = page.locator("g.node")
    expect(nodes).to_have_count(5)
    expect(page.locator("path.edge")).to_have_count(5)
    plan = nodes.filter(has_text="plan").bounding_box()
    review = nodes.filter(has_text="review").bounding_box()
    assert plan
    assert review
    assert plan["x"] + plan["width"] < review["x"]
    nodes.filter(has_text="build-api").click()
    expect(page).to_have_url(re.compile("#/fleet/run/run-001"))


def test_the_index_says_what_it_could_not_read(look: Looker, served: str) -> None:
    """Freshness, the unreadable run with its reason, and a verdict on the database."""
    page = look.open(f"{served}#/fleet/index")
    expect(page.locator(".freshness")).to_contain_text("incomplete")
    expect(page.get_by_role("region", name="Errors")).to_contain_text("run-torn")
    page.get_by_role("button", name="Verify the database").click()
    expect(page.get_by_text("The index is sound")).to_be_visible()
    page.get_by_role("button", name="Verify every source file").click()
    expect(page.get_by_text("integrity ok")).to_be_visible()


@pytest.fixture
def without_index(demo: DemoProject, tmp_path: Path) -> Iterator[str]:
    """Serve traces without a state root."""
    server = Server([demo.db], tmp_path / "none", tmp_path / "home")
    yield server.address
    server.stop()


def test_without_an_index_the_fleet_says_how_to_make_one(without_index: str, look: Looker) -> None:
    """No state root is no error."""
    page = look.open(f"{without_index}#/fleet")
    expect(page.get_by_text("There is no index yet")).to_be_visible()
    expect(page.get_by_text("agent-workflow index rebuild")).to_be_visible()


def test_words_in_tables_stay_words_on_a_telephone(look: Looker, served: str) -> None:
    """A table that is too wide scrolls; its cells are not squeezed to a letter a line."""
    page = look.open(f"{served}#/fleet/index", width=360, height=740)
    expect(page.get_by_text("run index failed")).to_be_visible()
    widths = page.locator(".scrolls td:has(> .wrap)").evaluate_all("(cells) => cells.map((cell) => cell.clientWidth)")

    assert len(widths) >= 2
    assert min(widths) > 120
