"""One session in a real browser: lanes, phases, events, and what is selected."""

import re

import pytest
from page_server import Looker
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_the_cause_is_at_the_top_with_a_way_to_it(look: Looker, served: str) -> None:
    """A failed gate is named with its item; the link opens the error, the next one the phase."""
    page = look.open(f"{served}#/s/demo0002")
    why = page.get_by_role("region", name="Why")
    expect(why).to_contain_text("Phase break failed: breaker failed gates after 2 attempt(s)")
    expect(why).to_contain_text("gate artifacts_exist: nope.txt: declared artifact does not exist")

    why.get_by_role("link", name="See the event").click()
    expect(page.get_by_role("complementary", name="Event")).to_contain_text("breaker failed gates")
    why.get_by_role("link", name="Open the phase").click()
    expect(page.get_by_role("complementary", name="Phase")).to_contain_text("Try something whose gate will fail")


def test_a_run_with_green_phases_says_why_it_is_red(look: Looker, served: str) -> None:
    """The workflow's verdict is told apart from its phases."""
    page = look.open(f"{served}#/s/demo0001")
    expect(page.get_by_role("region", name="Why")).to_contain_text("the run was not accepted: 2 tests failed")


def test_a_dead_run_is_dead_and_its_clock_stands(look: Looker, served: str) -> None:
    """A run ended by SIGKILL says so, and counts no further."""
    page = look.open(f"{served}#/s/demo0006")
    expect(page.get_by_role("region", name="Why")).to_contain_text("This run is dead")
    expect(page.get_by_role("region", name="Why")).to_contain_text("never wrote an end")
    clock = page.locator(".summary").get_by_text(re.compile(r"^\d+ ms$|^\d+\.\d s$"))
    before = clock.inner_text()
    page.wait_for_timeout(1500)
    expect(clock).to_have_text(before)
    expect(page.locator(".pulse.live")).to_have_count(0)


def test_costs_add_up_and_say_where_they_went(look: Looker, served: str) -> None:
    """Phase costs sum to the session's; a phase itemises, with reasoning inside output."""
    page = look.open(f"{served}#/s/demo0001")
    table = page.locator("table.phases")
    expect(table.locator("tfoot")).to_contain_text("$0.027400")
    costs = [
        float(cell.removeprefix("$")) for cell in table.locator("tbody td:nth-child(12)").all_inner_texts() if cell
    ]
    assert pytest.approx(0.0274, abs=1e-6) == sum(costs)

    table.get_by_role("link", name="build").click()
    panel = page.get_by_role("complementary", name="Phase")
    parts = [
        float(cell.removeprefix("$"))
        for cell in panel.locator(".cost:not(.sends) tbody tr:not(.inside) td:nth-child(3)").all_inner_texts()
    ]
    total = float(panel.locator(".cost:not(.sends) tfoot td:nth-child(3)").inner_text().removeprefix("$"))
    assert pytest.approx(total, abs=1e-6) == sum(parts)


def test_the_command_that_exited_1_is_found_with_one_key(look: Looker, served: str) -> None:
    """N goes from error to error; the failed call shows its command and result."""
    page = look.open(f"{served}#/s/demo0007")
    expect(page.locator(".event-row").nth(3)).to_be_visible()
    page.keyboard.press("n")
    panel = page.get_by_role("complementary", name="Event")
    expect(panel).to_contain_text("specs/missing.md")
    page.keyboard.press("n")
    expect(panel).to_contain_text("cat does-not-exist.txt")
    expect(panel).to_contain_text("No such file or directory")
    page.keyboard.press("N")
    expect(panel).to_contain_text("specs/missing.md")
    page.keyboard.press("Escape")
    expect(panel).to_have_count(0)


LANES_AT_REST = """() => new Promise((done) => {
  let before = null;
  const look = () => {
    const now = [...document.querySelectorAll('.lane-agent path')].map((path) => path.getAttribute('d')).join();
    if (now === before) done(); else { before = now; setTimeout(look, 200); }
  };
  look();
})"""


def test_lanes_fold_idle_time_and_open_what_is_pressed(look: Looker, served: str) -> None:
    """Idle seconds are folded at first; blocks and marks open their phase and event."""
    page = look.open(f"{served}#/s/demo0001")
    build = page.get_by_role("link", name=re.compile(r"^build ?: success"))
    expect(page.locator(".gap.collapsed")).to_have_count(1)
    folded = build.bounding_box()
    page.get_by_label("fold idle time").uncheck()
    expect(page.locator(".gap.collapsed")).to_have_count(0)
    unfolded = build.bounding_box()
    assert folded
    assert unfolded
    assert unfolded["width"] < folded["width"] / 2
    page.keyboard.press("i")
    expect(page.locator(".gap.collapsed")).to_have_count(1)

    build.click()
    expect(
        page.get_by_role("complementary", name="Phase").get_by_role("heading", name="build", exact=True)
    ).to_be_visible()
    page.keyboard.press("]")
    expect(
        page.get_by_role("complementary", name="Phase").get_by_role("heading", name="commit", exact=True)
    ).to_be_visible()
    page.keyboard.press("[")
    page.keyboard.press("Escape")
    expect(page.get_by_role("complementary", name="Phase")).to_have_count(0)
    page.evaluate(LANES_AT_REST)  # without the panel the lanes are wider, and the marks lie elsewhere
    lane = page.locator(".track.lane-agent .marks").nth(1)
    mark = re.match(r"M([\d.]+) ", lane.locator("path.bad").get_attribute("d") or "")
    assert mark
    lane.click(position={"x": float(mark[1]), "y": 8})
    expect(page.get_by_role("complementary", name="Event")).to_contain_text("cat does-not-exist.txt")


def test_events_are_filtered_and_the_filter_is_in_the_address(look: Looker, served: str) -> None:
    """Kind, phase, text and log lines; all survive a reload."""
    page = look.open(f"{served}#/s/demo0001")
    rows = page.locator(".event-row:not(.event-head)")
    page.get_by_label("Kind of event").select_option("problems")
    expect(rows).to_have_count(3)
    page.reload()
    expect(rows).to_have_count(3)
    page.get_by_label("Kind of event").select_option("tool_call")
    page.get_by_label("Phase", exact=True).select_option(label="3 build")
    page.get_by_label("Filter events").fill("greet")
    expect(rows.first).to_contain_text("greet")
    expect(page).to_have_url(re.compile("find=greet"))
    page.get_by_label("Filter events").fill("nothing is called this")
    expect(page.get_by_text("No event passes this filter")).to_be_visible()
    page.get_by_role("button", name="show all").click()
    page.get_by_label("Kind of event").select_option("log")
    expect(rows.first).to_contain_text("log")


def test_gates_show_items_and_tell_nothing_from_no_evidence(look: Looker, served: str) -> None:
    """Each gate opens to what it looked at."""
    page = look.open(f"{served}#/s/demo0001/phase/demo0001_02_plan")
    panel = page.get_by_role("complementary", name="Phase")
    expect(panel).to_contain_text("1 of 1 item not good")
    expect(panel.locator(".checks table").first).to_contain_text("specs/missing.md")
    expect(panel).to_contain_text("Handed over")
    expect(panel.get_by_text("Plan written").first).to_be_visible()


def test_prompts_are_shown_send_by_send(look: Looker, served: str) -> None:
    """The first prompt and the correction are both there."""
    page = look.open(f"{served}#/s/demo0001/phase/demo0001_02_plan")
    panel = page.get_by_role("complementary", name="Phase")
    panel.locator("summary", has_text="Prompts").click()
    expect(panel).to_contain_text("Asked 2 times")
    panel.locator("summary", has_text="send 2").click()
    expect(panel).to_contain_text("Your last reply was not accepted")


def test_each_send_has_its_cost(look: Looker, served: str) -> None:
    """The first try and the correction are priced apart."""
    page = look.open(f"{served}#/s/demo0001/phase/demo0001_02_plan")
    rows = page.locator("table.sends tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("$0.006475")
    expect(rows.nth(1)).to_contain_text("$0.003475")


def test_files_of_a_session_are_read_piece_by_piece(look: Looker, served: str) -> None:
    """The raw record is one press away."""
    page = look.open(f"{served}#/s/demo0001")
    page.locator("summary", has_text="Files").click()
    page.get_by_role("button", name="builder/envelope.json").click()
    expect(page.get_by_role("group", name="builder/envelope.json")).to_contain_text("Built greet")


def test_tool_calls_are_searched_and_opened(look: Looker, served: str) -> None:
    """Arguments and results are in the search, wrapped, and can be copied."""
    page = look.open(f"{served}#/s/demo0001/phase/demo0001_03_build")
    panel = page.get_by_role("complementary", name="Phase")
    calls = panel.locator("li.call")
    expect(calls).to_have_count(5)
    panel.get_by_label(re.compile("failed only")).check()
    expect(calls).to_have_count(1)
    panel.get_by_label(re.compile("failed only")).uncheck()
    panel.get_by_label("Search tool calls").fill("hello, world")
    expect(calls).to_have_count(2)
    calls.first.locator("summary").click()
    expect(calls.first.locator("mark").first).to_have_text("hello, world")
    expect(calls.first.get_by_role("button", name=re.compile("^copy")).first).to_be_visible()


def test_addresses_of_things_that_are_not_there_say_so(look_away: Looker, served: str) -> None:
    """An unknown session, phase or event is a sentence and a way back."""
    page = look_away.open(f"{served}#/s/nobody01")
    expect(page.get_by_text("No session nobody01")).to_be_visible()
    page.goto(f"{served}#/s/demo0001/phase/none")
    expect(page.get_by_text("No phase none")).to_be_visible()
    page.goto(f"{served}#/s/demo0001/event/evt_none")
    expect(page.get_by_text("No event evt_none")).to_be_visible()
    page.get_by_role("link", name="Back to the session").click()
    expect(page.get_by_text("Phases and cost")).to_be_visible()


def test_a_telephone_shows_the_selection_alone_and_goes_back(look: Looker, served: str) -> None:
    """At 360 pixels the phase takes the page, and Back brings the trace."""
    page: Page = look.open(f"{served}#/s/demo0001", width=360, height=740)
    page.locator("table.phases").get_by_role("link", name="build").click()
    expect(page.get_by_role("complementary", name="Phase")).to_be_visible()
    expect(page.locator("table.phases")).to_have_count(0)
    page.go_back()
    expect(page.locator("table.phases")).to_be_visible()


def test_archiving_is_in_the_trace_too(look: Looker, served: str) -> None:
    """The button archives and restores."""
    page = look.open(f"{served}#/s/demo0003")
    page.get_by_role("button", name="archive", exact=True).click()
    expect(page.get_by_role("button", name="restore", exact=True)).to_be_visible()
    page.get_by_role("button", name="restore", exact=True).click()
    expect(page.get_by_role("button", name="archive", exact=True)).to_be_visible()
