"""Sessions of any coding agent in a real browser: what money it is, what sub-agents did, what was denied or retried."""

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from page_agents import CLAUDE, CODEX, session_named, write_all
from page_axe import findings
from page_server import Looker, Server
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Import a session of Claude Code and one of Codex, and record two commands."""
    pytest.importorskip("genai_prices")
    return write_all(tmp_path_factory.mktemp("agents"), plan="plus")


@pytest.fixture(scope="module")
def agents(db: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve them; gives the address."""
    home = tmp_path_factory.mktemp("home")
    server = Server([db], home / "state", home)
    yield server.address
    server.stop()


def stored(db: Path, session: str) -> dict[str, Any]:
    """Return the row of a session."""
    with closing(sqlite3.connect(db)) as connection:
        connection.row_factory = sqlite3.Row
        return dict(connection.execute("SELECT * FROM sessions WHERE adw_id = ?", (session,)).fetchone())


def cost_of(page: Page, request: str) -> Any:
    """Find the cost of the session with a request in the list."""
    return page.locator("[role=row]", has_text=request).locator(".c-cost")


def test_the_list_says_what_kind_of_money_it_is(look: Looker, agents: str, db: Path) -> None:
    """Billed stands alone; an estimate and a subscription bear a sign, a word and the list; the rest is unknown."""
    page = look.open(agents)
    estimate = stored(db, CLAUDE)
    claude, codex = cost_of(page, "import is slow"), cost_of(page, "tests green")

    expect(claude).to_contain_text(f"≈${estimate['estimated_cost']:.4f} estimated")
    expect(claude.locator(".money-part")).to_have_attribute("title", re.compile(re.escape(estimate["price_catalogue"])))
    expect(codex).to_contain_text(f"≈${stored(db, CODEX)['estimated_cost']:.4f} subscription")
    expect(codex.locator(".money-part")).to_have_attribute("title", re.compile("covered by a subscription"))
    expect(cost_of(page, "stream.jsonl").locator(".money")).to_have_text("$0.2500")
    expect(cost_of(page, "echo hello").locator(".money")).to_have_text("unknown")
    expect(page.locator("[role=row]", has_text="echo hello").locator(".c-tokens")).to_contain_text("unknown")


def test_subagents_are_nested_and_add_up_once(look: Looker, agents: str, db: Path) -> None:
    """Each has a lane below the one that started it; folded, their marks and money are their parent's."""
    page = look.open(f"{agents}#/s/{CLAUDE}")
    names = page.locator(".lane-name > .clip")
    expect(names).to_have_text(["engineer", "claude_code", "Explore ab12", "Explore cd34"])
    indents = page.locator(".lane-label").evaluate_all(
        "(labels) => labels.map((one) => parseFloat(getComputedStyle(one).paddingLeft))"
    )
    assert indents[1] < indents[2] < indents[3]
    expect(page.locator(".track").nth(2).locator("path.bad")).not_to_have_attribute("d", "")
    expect(page.locator(".track").nth(1).locator("path.bad")).to_have_attribute("d", "")
    expect(page.locator(".track.nested .turn.tone-good")).to_have_count(2)
    apart = [float(text[2:]) for text in page.locator(".lane-cost .num").all_inner_texts()]
    whole = stored(db, CLAUDE)["estimated_cost"]
    assert pytest.approx(whole, abs=2e-4) == sum(apart)

    page.locator(".lane-label").nth(1).get_by_role("button", name="1 sub-agent").click()

    expect(names).to_have_text(["engineer", "claude_code"])
    expect(page.locator(".lane-cost .num")).to_have_text(f"≈${whole:.4f}")
    expect(page.locator(".track").nth(1).locator("path.bad")).not_to_have_attribute("d", "")
    expect(page.locator("table.phases tfoot")).to_contain_text(f"≈${whole:.6f} estimated")


def test_money_of_two_kinds_stays_two_numbers(look: Looker, agents: str, db: Path) -> None:
    """The row of a session cannot say how much was billed of it; its calls do, and nothing is the sum of both."""
    at = "2026-03-02T00:00:00.000+00:00"
    line = {"model": "m", "calls": 1, "input_tokens": 50}
    spend = [{**line, "basis": "billed", "amount": 0.5}, {**line, "basis": "estimated", "amount": 0.25}]
    payload = {"cost": None, "usage": {"total_tokens": 100}, "spend": spend, "price_catalogue": "list 7"}
    with closing(sqlite3.connect(db, isolation_level=None)) as connection:
        connection.execute(
            "INSERT INTO sessions (adw_id, request, status, started_at, ended_at, total_tokens, estimated_cost,"
            " price_catalogue) VALUES ('two', 'Two kinds', 'success', ?, ?, 100, 0.25, 'list 7')",
            (at, at),
        )
        connection.execute(
            "INSERT INTO phases (phase_id, adw_id, seq, name, kind, owner, status, started_at, ended_at)"
            " VALUES ('two_1', 'two', 1, 'work', 'agent', 'pi', 'success', ?, ?)",
            (at, at),
        )
        connection.execute(
            "INSERT INTO events (event_id, adw_id, phase_id, type, name, payload_json, tokens, started_at)"
            " VALUES ('two_e', 'two', 'two_1', 'agent_end', 'pi', ?, 100, ?)",
            (json.dumps(payload), at),
        )
    page = look.open(agents)
    expect(cost_of(page, "Two kinds").locator(".money-part")).to_have_text(["part billed", "≈$0.2500 estimated"])

    page.goto(f"{agents}#/s/two")

    expect(page.locator(".summary .money-part")).to_have_text(["$0.5000", "≈$0.2500 estimated"])
    expect(page.locator("table.phases tfoot .money-part")).to_have_text(["$0.500000", "≈$0.250000 estimated"])
    expect(page.locator(".summary .money-part").last).to_have_attribute("title", re.compile("list 7"))
    expect(page.locator(".lane-cost .money-part")).to_have_text(["$0.5000", "≈$0.2500 est."])


def test_a_subagent_of_a_recorded_stream(look: Looker, agents: str, db: Path) -> None:
    """Its calls say only which call they are in: that call names the lane, and a press on it opens it."""
    page = look.open(f"{agents}#/s/{session_named(db, 'recorded')}")
    expect(page.locator(".lane-name > .clip")).to_have_text(["cat", "Explore: find the tests"])
    expect(page.locator(".track").nth(1).locator("path.tool")).not_to_have_attribute("d", "")

    page.locator(".turn").click()

    expect(page.get_by_role("complementary", name="Event")).to_contain_text("find the tests")


def test_what_was_denied_and_tried_again(look: Looker, agents: str, db: Path) -> None:
    """Both are marks in the lane, in the list of events, and in the call's detail, with a way from one to the other."""
    page = look.open(f"{agents}#/s/{session_named(db, 'recorded')}")
    expect(page.locator(".track").first.locator("path.wait")).to_have_attribute("d", re.compile("a3.*a3.*a3.*a3"))
    expect(page.locator(".event-row", has_text="retry")).to_contain_text("overloaded")
    page.get_by_label("Kind of event").select_option("waits")
    expect(page.locator(".event-row:not(.event-head)")).to_have_count(2)

    page.locator("table.phases").get_by_role("link", name="run").click()
    phase = page.get_by_role("complementary", name="Phase")
    expect(phase).to_contain_text("1 tool call was denied")
    expect(phase.locator(".sends")).to_contain_text("1 retry")
    phase.locator(".denials a").click()

    event = page.get_by_role("complementary", name="Event")
    expect(event).to_contain_text("Denied. It was not allowed to run")
    expect(event).to_contain_text("rm -r build")


def test_a_command_that_nobody_knows(look: Looker, agents: str, db: Path) -> None:
    """What is known of it is there, and no block that could only be empty."""
    page = look.open(f"{agents}#/s/{session_named(db, 'unknown')}")
    expect(page.locator(".lane-label")).to_contain_text("a command")
    expect(page.locator(".lane-label")).not_to_contain_text("context unknown")
    page.locator("table.phases").get_by_role("link", name="run").click()
    phase = page.get_by_role("complementary", name="Phase")

    expect(phase).to_contain_text("with exit code 3")
    expect(phase).to_contain_text("6 B on stdout, 5 B on stderr")
    expect(phase).to_contain_text("the cost is unknown, not zero")
    expect(phase.get_by_role("heading", name="Prompts")).to_have_count(0)
    expect(phase).not_to_contain_text("did not record how the agent was set up")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_axe_finds_nothing_serious(look: Looker, agents: str, db: Path, dark: bool, width: int) -> None:
    """The screens that only these sessions fill, in both themes, narrow and wide."""
    recorded = session_named(db, "recorded")
    page = look.open(agents, dark=dark, width=width, still=True)
    for address, sign in (
        ("", "tests green"),
        (f"#/s/{CLAUDE}", "sub-agent"),
        (f"#/s/{recorded}/phase/{recorded}_01_run", "denied"),
    ):
        page.goto(agents + address)
        expect(page.get_by_text(sign).first).to_be_attached()

        assert [] == findings(page), address


def ask(page: Page, module: str, body: str, value: Any = None) -> Any:
    """Import a module of the page and compute something with it."""
    return page.evaluate(f"async (value) => {{ const it = await import('/{module}'); {body} }}", value)


LINE = {"model": "m", "calls": 1, "input_tokens": 10}

CALLS: dict[str, tuple[dict[str, Any], list[list[Any]]]] = {
    "kinds are never added": (
        {"spend": [{**LINE, "basis": "billed", "amount": 1.0}, {**LINE, "basis": "estimated", "amount": 2.0}]},
        [["billed", 1.0], ["estimated", 2.0]],
    ),
    "one unknown price makes its kind unknown": (
        {
            "spend": [
                {**LINE, "basis": "subscription", "amount": 1.0},
                {**LINE, "basis": "subscription", "amount": None},
            ]
        },
        [["subscription", None]],
    ),
    "a list that was cut": (
        {
            "cost_basis": "estimated",
            "estimated_cost": 3.0,
            "spend": [{**LINE, "basis": "billed", "amount": 1.0}, "[9 more items]"],
        },
        [["estimated", 3.0]],
    ),
    "a price of nothing for many tokens": ({"cost": 0, "usage": {"total_tokens": 10}}, [["unknown", None]]),
    "a price of nothing that the agent named": (
        {"cost": 0, "sends": [{"cost_basis": "agent_reported"}]},
        [["billed", 0]],
    ),
    "what is no money": ({"cost": "much", "estimated_cost": [1]}, [["estimated", None]]),
    "no price": ({"cost": None, "sends": [{"cost_basis": "none"}]}, [["unknown", None]]),
}


def test_money_of_a_call(look: Looker, agents: str) -> None:
    """Money is told by its kind, and what is not known stays unknown."""
    body = "return value.map((payload) => it.moneyOfCall(payload, 10).map((part) => [part.kind, part.amount]));"

    found = ask(look.open(agents), "core/money.js", body, [payload for payload, _ in CALLS.values()])

    assert {case: wanted for case, (_, wanted) in CALLS.items()} == dict(zip(CALLS, found, strict=True))


def test_money_of_a_session(look: Looker, agents: str) -> None:
    """A row without a basis that has an estimate was billed in part; one without anything is unknown, not zero."""
    rows = [
        {"total_cost": 0.5, "total_tokens": 9},
        {"total_cost": None, "estimated_cost": 0.1, "cost_basis": None, "total_tokens": 9, "price_catalogue": "p 1"},
        {"total_cost": None, "estimated_cost": None, "cost_basis": "subscription", "total_tokens": 9},
        {"total_cost": None, "total_tokens": 9},
        {"total_cost": 0, "total_tokens": 9},
        {"total_cost": 0, "total_tokens": 0},
    ]
    body = "return value.map((row) => it.moneyOfSession(row).map((part) => [part.kind, part.amount]));"

    assert [
        [["billed", 0.5]],
        [["billed", None], ["estimated", 0.1]],
        [["subscription", None]],
        [["unknown", None]],
        [["unknown", None]],
        [["billed", 0]],
    ] == ask(look.open(agents), "core/money.js", body, rows)


def test_subagents_that_name_each_other_are_no_endless_loop(look: Looker, agents: str) -> None:
    """Two calls that say they are in each other stay below the phase's own agent."""
    body = """
    const call = ([callId, parentCall], index) => ({
      id: callId, type: "tool_call", callId, parentCall, phase: "p", at: index, end: index + 1, ok: true, purpose: "",
    });
    const events = [["a", "b"], ["b", "a"]].map(call);
    const byId = new Map(events.map((one) => [one.id, one]));
    const nested = new it.Subagents(events, byId, [{ phase_id: "p", owner: "main" }]);
    return [...nested.subs.values()].map((sub) => sub.parent);
    """

    assert [None, None] == ask(look.open(agents), "trace/subagents.js", body)
