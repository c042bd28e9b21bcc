"""The genuine trace: what a newcomer finds in the page without a word of documentation."""

import pytest
from page_server import Looker
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.corpus]


def test_a_newcomer_finds_the_four_answers(genuine: str, look: Looker) -> None:
    """Why feed0002 failed, what feed0001 cost and where, which command exited 1, that feed0006 is dead."""
    page = look.open(genuine)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(6)
    expect(rows.filter(has_text="feed0006")).to_contain_text("lost")
    expect(rows.filter(has_text="feed0005")).to_contain_text("ended by SIGTERM")
    expect(page.locator(".pulse.live")).to_have_count(0)

    page.get_by_role("row", name="feed0002").get_by_role("link").click()
    expect(page.get_by_role("region", name="Why")).to_contain_text("nope.txt: declared artifact does not exist")

    page.keyboard.press("Escape")
    page.get_by_role("row", name="feed0001").get_by_role("link").click()
    expect(page.get_by_role("region", name="Why")).to_contain_text("the run was not accepted: 2 tests failed")
    table = page.locator("table.phases")
    expect(table.locator("tfoot")).to_contain_text("$0.040860")
    expect(table.locator("tr", has_text="builder")).to_contain_text("77%")
    expect(page.get_by_text("8.4 s idle after")).to_be_visible()

    table.get_by_role("link", name="build").click()
    panel = page.get_by_role("complementary", name="Phase")
    expect(panel.locator("li.call.problem")).to_contain_text("bash: cat does-not-exist.txt")
    panel.locator("li.call.problem summary").click()
    expect(panel).to_contain_text("Command exited with code 1")

    page.goto(f"{genuine}#/s/feed0006")
    expect(page.get_by_role("region", name="Why")).to_contain_text("This run is dead")
    expect(page.get_by_role("region", name="Why")).to_contain_text("5420")


def test_every_session_of_it_opens_on_every_phase(genuine: str, look: Looker) -> None:
    """No phase of the genuine trace breaks the page, in either theme."""
    page = look.open(genuine, dark=True, width=360)
    for number in range(1, 7):
        page.goto(f"{genuine}#/s/feed000{number}")
        expect(page.locator("table.phases")).to_be_visible()
        links = page.locator("table.phases a").evaluate_all("(all) => all.map((one) => one.getAttribute('href'))")
        for link in links:
            page.goto(genuine + link)
            expect(page.get_by_role("complementary", name="Phase")).to_be_visible()


def test_what_another_supervisor_saw_and_did_is_shown(genuine: str, look: Looker) -> None:
    """Incidents, the permission that was waited for, the remediation, and samples of health."""
    page = look.open(f"{genuine}#/fleet/run/supervisor-stall")
    expect(page.locator("details", has_text="Incidents")).to_contain_text("process alive no progress")
    expect(page.locator("details", has_text="What the supervisor did")).to_contain_text("request progress probe")
    expect(page.locator("details", has_text="Health")).to_contain_text("6 samples")
    page.goto(f"{genuine}#/fleet/run/supervisor-permission")
    expect(page.locator("details", has_text="Permissions")).to_contain_text("executor_interaction")


def test_every_run_of_the_genuine_evidence_opens(genuine: str, look: Looker) -> None:
    """Sealed, failed, tampered, retired and unsafe runs: each has its page, and none breaks it."""
    page = look.open(f"{genuine}#/fleet?since=3650d")
    expect(page.get_by_role("region", name="Waiting for a person")).to_contain_text("supervisor-permission")
    page.goto(f"{genuine}#/fleet/index")
    expect(page.get_by_role("region", name="Errors")).to_contain_text("a link, which is never followed")
    page.goto(f"{genuine}#/fleet/workflows")
    expect(page.locator("g.node").first).to_be_visible()
    page.goto(f"{genuine}#/fleet/runs")
    expect(page.locator("table.runs tbody tr")).to_have_count(59)
    runs = page.locator("table.runs td:nth-child(2) a").evaluate_all("(all) => all.map((one) => one.textContent)")
    for run in runs:
        page.goto(f"{genuine}#/fleet/run/{run}")
        expect(page.locator("h2.mono", has_text=run).first).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
