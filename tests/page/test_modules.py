"""The parts of the page that decide without drawing, asked in the browser that runs them."""

from itertools import pairwise
from typing import Any

import pytest
from page_server import Looker
from playwright.sync_api import Page

from agent_workflow.cli.supervisor.runs import LIVE

pytestmark = pytest.mark.browser


@pytest.fixture
def page(served: str, look: Looker) -> Page:
    """Open the page, so that its modules can be imported."""
    return look.open(served)


def ask(page: Page, module: str, body: str, value: Any = None) -> Any:
    """Import a module of the page and compute something with it."""
    return page.evaluate(f"async (value) => {{ const it = await import('/{module}'); {body} }}", value)


AXIS = """
const axis = it.bendAxis(value.spans, { width: value.width, from: value.from, to: value.to, collapse: value.collapse });
return {
  width: axis.width,
  gaps: axis.gaps.map((gap) => [gap.from, gap.to, gap.width]),
  blocks: value.spans.map((span) => [axis.at(span.start), axis.at(span.end)]),
  marks: axis.marks().map((mark) => [mark.x, mark.offset]),
  back: value.spans.map((span) => axis.timeAt((axis.at(span.start) + axis.at(span.end)) / 2)),
  samples: Array.from({ length: 101 }, (_, index) => axis.at(value.from + ((value.to - value.from) * index) / 100)),
};
"""


def axis(page: Page, spans: list[tuple[float, float]], *, width: int = 1000, collapse: bool = True) -> dict[str, Any]:
    """Lay out phases."""
    given = [{"start": start, "end": end} for start, end in spans]
    low, high = min(start for start, _ in spans), max(end for _, end in spans)
    value = {"spans": given, "width": width, "from": low, "to": high, "collapse": collapse}
    found: dict[str, Any] = ask(page, "trace/axis.js", AXIS, value)
    return found


def test_a_phase_of_a_millisecond_can_be_seen_and_time_never_runs_back(page: Page) -> None:
    """Each block has its least width, the axis only grows, and it fills its room."""
    found = axis(page, [(0, 1), (1, 600_000), (600_000, 600_000.4), (600_001, 600_900)])

    assert all(end - start >= 15.9 for start, end in found["blocks"])
    assert found["samples"] == sorted(found["samples"])
    assert pytest.approx(1000) == found["width"]


def test_idle_time_is_folded_and_unfolded(page: Page) -> None:
    """Days between two workflows take a strip when folded, and nearly everything when not."""
    day = 86_400_000.0
    spans = [(0.0, 60_000.0), (3 * day, 3 * day + 60_000.0)]
    folded, unfolded = axis(page, spans), axis(page, spans, collapse=False)

    assert [[60_000.0, 3 * day, 26]] == folded["gaps"]
    assert folded["blocks"][0][1] - folded["blocks"][0][0] > 400
    assert unfolded["gaps"][0][2] > 900


def test_two_hundred_phases_get_more_room_than_the_window(page: Page) -> None:
    """The axis grows beyond the window instead of squeezing blocks to nothing."""
    found = axis(page, [(n * 10.0, n * 10.0 + 9) for n in range(200)], width=600)

    assert found["width"] > 3000
    assert all(right[0] >= left[1] for left, right in pairwise(found["blocks"]))


def test_marks_are_round_and_keep_their_distance(page: Page) -> None:
    """No two labels touch, from milliseconds to days."""
    for length in (4.0, 950.0, 65_000.0, 7 * 3_600_000.0, 40 * 86_400_000.0):
        marks = axis(page, [(0.0, length)])["marks"]

        assert 2 <= len(marks) <= 14, length
        assert all(right[0] - left[0] >= 76 for left, right in pairwise(marks)), length


def test_parallel_phases_and_a_point_in_the_middle(page: Page) -> None:
    """Phases side by side share the axis, and a pixel leads back to its moment."""
    found = axis(page, [(0.0, 1000.0), (500.0, 1500.0), (500.0, 501.0)])

    assert found["blocks"][1][0] == found["blocks"][2][0]
    assert 0 < found["back"][0] < 1000


LOG = """
const log = new it.EventLog();
const row = (rowid, type = "log") => ({ rowid, event_id: `evt_${rowid}`, type, name: "", payload_json: "{}",
  started_at: "2026-07-01T00:00:00Z", ended_at: null, tokens: null, payload_size: 2, payload_cut: false });
const page = (rowids, more, reset = false, generation = "a") => ({ events: rowids.map((rowid) => row(rowid)),
  cursor: rowids.length ? rowids[rowids.length - 1] : log.cursor, has_more: more, generation, anchor: "x", reset });
const steps = value.map((one) => log.absorb(page(...one)));
return { steps, rowids: log.events.map((event) => event.rowid), cursor: log.cursor, generation: log.generation };
"""


def test_no_event_is_lost_or_doubled(page: Page) -> None:
    """Pages that overlap, an empty one, and one that comes twice."""
    pages = [[[1, 2, 3], True], [[3, 4], False], [[], False], [[5], False], [[5], False]]
    found = ask(page, "trace/event-log.js", LOG, pages)

    assert [1, 2, 3, 4, 5] == found["rowids"]
    assert 5 == found["cursor"]
    assert [True, False, False, False, False] == found["steps"]


def test_rowids_that_start_again_replace_what_was_held(page: Page) -> None:
    """A reset page begins anew with its own events."""
    pages = [[[1, 2, 3], False], [[1, 2], True, True, "b"], [[3], False, False, "b"]]
    found = ask(page, "trace/event-log.js", LOG, pages)

    assert [1, 2, 3] == found["rowids"]
    assert "b" == found["generation"]


def test_durations_round_before_they_are_split(page: Page) -> None:
    """Never "1m 60s", never "1000.0k"."""
    body = "return value.map(([name, number]) => it[name](number));"
    asked = [
        ["duration", 59_999],
        ["duration", 119_999],
        ["duration", 3_599_999],
        ["duration", 0.2],
        ["short", 999_999],
        ["short", 1500],
        ["money", 0.00001],
        ["money", None],
        ["money", 0],
        ["bytes", 1023.9],
    ]
    found = ask(page, "core/format.js", body, asked)

    assert ["1m 00s", "2m 00s", "1h 00m", "0 ms", "1.0M", "1.5k", "<$0.0001", "unknown", "$0", "1.0 KiB"] == found


def test_a_circle_in_a_workflow_hangs_nothing(page: Page) -> None:
    """Bad evidence may name nodes that wait for each other."""
    body = """const { places } = it.placed([{ node_id: "a" }, { node_id: "b" }, { node_id: "c" }],
      [["a", "b"], ["b", "a"], ["b", "c"], ["x", "c"]].map(([source, target]) => ({ source, target })));
      return [...places.entries()].map(([name, place]) => [name, place.column]).sort();"""
    found = ask(page, "fleet/graph.js", body)

    assert ["a", "b", "c"] == [name for name, _ in found]


def test_exit_codes_of_signals_are_said_in_words(page: Page) -> None:
    """143 is no reason; SIGTERM is."""
    body = "return value.map((text) => it.explainError(text));"
    found = ask(page, "trace/cause.js", body, ["143", "exit code 137", "SIGTERM", "ruff exited 1", "130", None])

    assert "SIGTERM" in found[0]
    assert "SIGKILL" in found[1]
    assert "SIGTERM" in found[2]
    assert "" == found[3]
    assert "SIGINT" in found[4]
    assert "" == found[5]


CHANGES = """
const session = (adw_id, shown_status) => ({ adw_id, shown_status, request: 'Add\\u202e it', reason: 'exit 1' });
return it.changesOf(new Map(value.before), value.now.map(([id, word]) => session(id, word)));
"""


def test_only_what_moved_and_ended_is_told(page: Page) -> None:
    """Nothing at the first look, nothing of what had ended before, nothing of what moves on."""
    before = [["a", "working"], ["b", "waiting"], ["c", "stalled"], ["d", "fail"], ["e", "working"], ["f", "working"]]
    now = [["a", "success"], ["b", "lost"], ["c", "stalled"], ["d", "success"], ["e", "waiting"], ["f", "stalled"]]

    told = ask(page, "core/notify.js", CHANGES, {"before": before, "now": [*now, ["new", "fail"]]})

    assert ["a ended well", "b is lost: its process is gone", "f has stalled"] == [one["title"] for one in told]
    assert "Add[U+202E] it\nexit 1" == told[0]["body"]
    assert [] == ask(page, "core/notify.js", CHANGES, {"before": [], "now": now})


LONG = """
const log = new it.EventLog();
const types = ['tool_call', 'log', 'handoff', 'agent_end'];
const events = Array.from({ length: 8000 }, (_, index) => ({
  rowid: index + 1, event_id: `evt_${index}`, phase_id: 'p', type: types[index % 4], name: 'n',
  payload_json: JSON.stringify({ text: 'x'.repeat(3000), ok: true }), started_at: '2026-07-01T12:00:00.000+00:00',
}));
log.absorb({ reset: false, generation: 'g', anchor: 'a', cursor: 8000, has_more: false, events });
const kept = log.events.filter((event) => event.payload);
return {
  all: log.events.length,
  characters: kept.filter((event) => event.type !== 'agent_end').length * 3000,
  ends: kept.filter((event) => event.type === 'agent_end').length,
};
"""


def test_a_long_session_keeps_few_payloads(page: Page) -> None:
    """Of any type: beyond the budget only those that the cost is added up from."""
    found = ask(page, "trace/event-log.js", LONG)

    assert 8000 == found["all"]
    assert found["characters"] < 4_000_000
    assert 2000 == found["ends"]


CUT = """
const log = new it.EventLog();
const events = [1, 0, null].map((ok, index) => ({ rowid: index + 1, event_id: `evt_${index}`, type: 'tool_call', ok,
  payload_cut: true, payload_json: JSON.stringify('the beginning of a long text'),
  started_at: '2026-07-01T12:00:00.000+00:00' }));
log.absorb({ reset: false, generation: 'g', anchor: 'a', cursor: 3, has_more: false, events });
return { ok: log.events.map((event) => event.ok), bad: log.problems.map((one) => one.rowid) };
"""


def test_how_a_call_with_a_cut_payload_went_is_told_beside_it(page: Page) -> None:
    """A call of which nothing is known stays unknown."""
    found = ask(page, "trace/event-log.js", CUT)

    assert [True, False, None] == found["ok"]
    assert [2] == found["bad"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\U0001f469\u200d\U0001f469\u200d\U0001f466", None),
        ("\U0001f3f3\ufe0f\u200d\U0001f308", None),
        ("\U0001f44b\U0001f3fd\u200d\U0001f680", None),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", None),
        ("\u0915\u094d\u200d\u0937", None),
        ("pay\u200dpal", "pay[U+200D]pal"),
        ("pay\u200cpal", "pay[U+200C]pal"),
        ("\u200d\U0001f469", "[U+200D]\U0001f469"),
        ("a\u202eb\u200bc", "a[U+202E]b[U+200B]c"),
    ],
)
def test_joiners_are_kept_where_they_make_the_sign(page: Page, text: str, shown: str | None) -> None:
    """Families of emoji, Persian and Indic words stay whole; anywhere else what is invisible is shown."""
    assert (shown or text) == ask(page, "core/text.js", "return it.visible(value);", text)


POLLED = """
const told = [];
let answer;
const read = () => new Promise((resolve) => { told.push("asked"); answer = resolve; });
const poller = it.startPolling(read, () => told.push("read"));
value.forEach((step) => step === "now" && poller.now());
answer(60_000);
await new Promise((resolve) => setTimeout(resolve));
poller.stop();
return told;
"""


@pytest.mark.parametrize(
    ("steps", "told"),
    [([], ["asked", "read"]), (["now"], ["asked", "read", "asked"]), (["now", "now"], ["asked", "read", "asked"])],
)
def test_who_wants_a_fresh_answer_gets_one_that_was_asked_for_afterwards(
    page: Page, steps: list[str], told: list[str]
) -> None:
    """A call under way may bring what was before; it is made again when it has ended, and never beside it."""
    assert told == ask(page, "core/polling.js", POLLED, steps)


@pytest.mark.parametrize("most", range(2, 9))
def test_a_cut_text_holds_no_half_of_a_character(page: Page, most: int) -> None:
    """What would be shown as a replacement character is left out."""
    body = "return [it.oneLine(value.text, value.most), it.limited(value.text, value.most)]"
    line, limited = ask(page, "core/text.js", body, {"text": "\U0001f600" * 50, "most": most})

    assert "\U0001f600" * ((most - 1) // 2) + "…" == line
    assert limited.startswith("\U0001f600" * (most // 2) + " … (100 characters)")


def test_an_address_keeps_a_question_mark_in_its_query(page: Page) -> None:
    """As somebody may type it."""
    found = ask(
        page,
        "core/router.js",
        "const { path, query } = it.readRoute(value); return [path, query.get('q')];",
        "#/s/a?q=why?",
    )

    assert [["s", "a"], "why?"] == found


def test_every_state_of_a_live_run_counts_as_not_ended(page: Page) -> None:
    """What the supervisor looks after is asked for, kept, and has a mark of its own."""
    asked = ask(page, "fleet/overview.js", "return it.OPEN_STATES;")
    kept = ask(page, "fleet/words.js", "return [...it.ACTIVE];")
    marks = ask(page, "core/status.js", "return value.map((word) => it.statusOf(word).glyph);", sorted(LIVE))

    assert set(asked) >= LIVE
    assert set(kept) >= set(asked)
    assert "•" not in marks
