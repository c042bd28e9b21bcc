"""For everyone: axe-core on every screen, the keyboard alone, a screen reader's landmarks, less motion."""

import pytest
from page_axe import findings
from page_server import Looker
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
SCREENS = (
    ("#/", "demo0007"),
    ("#/?q=nothing-is-called-this", "No session matches"),
    ("#/s/demo0001", "sum of the phases"),
    ("#/s/demo0002/phase/demo0002_02_break", "not good"),
    ("#/s/demo0006", "This run is dead"),
    ("#/fleet", "Outcomes"),
    ("#/fleet/runs", "run-004"),
    ("#/fleet/run/run-001", "Memory"),
    ("#/fleet/workflows", "nightly"),
    ("#/fleet/index", "run-torn"),
)


TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
STOP = """(() => {
  const at = document.activeElement;
  const seen = ["", "::after"].some((part) => getComputedStyle(at, part || null).outlineStyle !== "none");
  return `${seen ? "seen" : "unseen"} ${at.getAttribute("aria-label") || at.textContent}`;
})()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_axe_finds_nothing_serious(look: Looker, served: str, dark: bool, width: int) -> None:
    """Every screen, in both themes, narrow and wide."""
    page = look.open(served, dark=dark, width=width, still=True)
    found = {}
    for address, sign in SCREENS:
        page.goto(served + address)
        expect(page.get_by_text(sign).first).to_be_attached()
        page.evaluate(TWO_FRAMES)
        if serious := findings(page):
            found[address] = serious

    assert {} == found


def test_the_help_is_accessible_too(look: Looker, served: str) -> None:
    """The dialog has a name, and gives the focus back."""
    page = look.open(served)
    button = page.get_by_role("button", name="help")
    button.click()
    expect(page.get_by_role("dialog", name="Keys and marks")).to_be_visible()
    assert [] == findings(page)
    page.keyboard.press("Escape")
    expect(button).to_be_focused()


def test_the_tab_key_reaches_everything_in_sight(look: Looker, served: str) -> None:
    """Skip link first, and each stop can be seen."""
    page = look.open(served)
    expect(page.locator("[role=row][data-status]")).to_have_count(7)
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    stops = []
    for _ in range(12):
        page.keyboard.press("Tab")
        stops.append(page.evaluate(STOP))

    assert any("Search sessions" in stop for stop in stops)
    assert all(stop.startswith("seen") for stop in stops), stops


def test_a_screen_reader_finds_landmarks_tables_and_counts(look: Looker, served: str) -> None:
    """Banner, navigation, main, a search, and a table that tells its size."""
    page = look.open(served)
    for role in ("banner", "main", "search"):
        expect(page.get_by_role(role)).to_have_count(1)
    table = page.get_by_role("table", name="Sessions, newest first")
    expect(table).to_have_attribute("aria-rowcount", "8")
    expect(table.get_by_role("columnheader")).to_have_count(9)
    expect(table.get_by_role("row", name="demo0002")).to_have_count(1)


def test_less_motion_means_none(look: Looker, served: str) -> None:
    """With prefers-reduced-motion nothing is animated."""
    page = look.open(f"{served}#/s/demo0001", still=True)
    expect(page.get_by_text("sum of the phases")).to_be_visible()

    assert 0 == page.evaluate("document.getAnimations().length")
