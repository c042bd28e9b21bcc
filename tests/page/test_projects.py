"""Several databases at once: each has its own list, and one that is missing says so."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_demo import DemoProject, wait_for
from page_server import Looker, Server
from playwright.sync_api import Error, Route, expect

pytestmark = pytest.mark.browser


@pytest.fixture
def two(demo: DemoProject, tmp_path: Path) -> Iterator[str]:
    """Serve the demo, a copy of nothing, and a fresh project with one session."""
    other = DemoProject(tmp_path / "other")
    other.run("demo0004")
    server = Server([demo.db, other.db], tmp_path / "state", tmp_path / "home")
    yield server.address
    server.stop()
    other.close()


@pytest.fixture
def with_missing(demo: DemoProject, tmp_path: Path) -> Iterator[str]:
    """Serve the demo and a database that is not there."""
    server = Server([demo.db, tmp_path / "nowhere/sssf.db"], tmp_path / "state", tmp_path / "home")
    yield server.address
    server.stop()


def test_each_project_has_its_own_sessions_and_addresses(two: str, look: Looker) -> None:
    """The choice is in the address; the same session id in another project is another session."""
    page = look.open(two)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(7)
    page.get_by_label("project").select_option("other")
    expect(rows).to_have_count(1)
    assert "#/p/other" in page.url
    rows.get_by_role("link").first.click()
    expect(page.get_by_role("region", name="Why")).to_contain_text("2 tests failed")
    page.reload()
    expect(page.get_by_role("region", name="Why")).to_contain_text("2 tests failed")
    page.keyboard.press("Escape")
    expect(rows).to_have_count(1)


def test_a_late_reply_of_another_project_is_never_shown(two: str, look: Looker) -> None:
    """Whoever has gone on to another project sees that one, though the list of the one before comes last."""
    page = look.open(f"{two}#/p/other")
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(1)
    held: list[Route] = []
    page.route("**/api/projects/project/sessions?**", lambda route: held.append(route))  # noqa: PLW0108 - it gets an attribute
    page.get_by_label("project").select_option("project")

    def is_held() -> bool:
        page.wait_for_timeout(50)  # while it waits, the browser's requests are seen
        return bool(held)

    wait_for(is_held)
    page.get_by_label("project").select_option("other")
    expect(rows).to_have_count(1)

    for route in held:
        with contextlib.suppress(Error):  # the page gave it up
            route.continue_()
    page.unroute_all()
    page.wait_for_timeout(500)

    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("demo0004")


def test_a_missing_project_is_told_and_hides_no_other(with_missing: str, look_away: Looker) -> None:
    """Its name is in the choice, its list says what is wrong."""
    page = look_away.open(with_missing)
    expect(page.locator("[role=row][data-status]")).to_have_count(7)
    page.set_viewport_size({"width": 360, "height": 740})
    picker, theme = (found.bounding_box() for found in (page.get_by_label("project"), page.get_by_label("theme:")))
    assert picker
    assert theme
    assert theme["y"] + theme["height"] <= picker["y"]  # on a telephone it has a line of its own
    page.get_by_label("project").select_option(index=1)
    expect(page.locator(".note")).to_contain_text("no trace database")
    expect(page.get_by_text("No session yet")).to_be_visible()
