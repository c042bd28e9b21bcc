"""Do the numbers add up? Components, lines, sends and phases, with unknown kept apart from zero."""

import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.trace_schema import migrate
from agent_workflow.tracer._reconciliation import call_of, compare, compare_money, reconcile, usage_of
from agent_workflow.tracer._source import TraceSource

COUNTS = st.integers(0, 10**9)


def usage(tokens: tuple[int, int, int, int], total: int) -> dict[str, int | None]:
    """Make the usage of a call."""
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return {**dict(zip(names, tokens, strict=True)), "total_tokens": total}


@given(tokens=st.tuples(COUNTS, COUNTS, COUNTS, COUNTS), more=st.integers(-5, 5))
def test_four_components_sum_to_the_total_or_the_difference_is_told(
    tokens: tuple[int, int, int, int], more: int
) -> None:
    """The verdict and the unattributed rest say the same."""
    found = usage_of(usage(tokens, sum(tokens) + more))

    assert found is not None
    assert more == found["unattributed_tokens"]
    assert ("adds_up" if more == 0 else "differs") == found["tokens_verdict"]


@pytest.mark.parametrize("missing", ["input_tokens", "output_tokens", "cache_read_tokens", "total_tokens"])
def test_a_part_that_is_not_recorded_makes_the_sum_unknown(missing: str) -> None:
    """Unknown is not zero."""
    recorded = usage((1, 2, 3, 4), 10)
    recorded[missing] = None

    found = usage_of(recorded)

    assert found is not None
    assert "unknown" == found["tokens_verdict"]
    assert found["unattributed_tokens"] is None


@pytest.mark.parametrize("nothing", [None, {}, [], "text", 7])
def test_what_is_no_usage_is_none(nothing: object) -> None:
    """Old writers recorded none."""
    assert usage_of(nothing) is None


def test_lines_sum_to_the_call_and_sends_to_the_conversation() -> None:
    """Compaction and tools that called a model are lines of their own."""
    lines = {"usage": usage((1, 1, 1, 1), 4), "compaction_usage": usage((1, 0, 0, 0), 1)}
    sends = [{"verdict": "answered", "usage": usage((1, 0, 1, 0), 2)}, {"usage": usage((0, 1, 0, 1), 2)}]

    call = call_of("evt_1", "builder", {**lines, "tokens": 5, "cost": None, "sends": sends})

    assert ["conversation", "compaction"] == [line["kind"] for line in call["lines"]]
    assert ("adds_up", "adds_up", "unknown") == (call["tokens_verdict"], call["sends_verdict"], call["cost_verdict"])
    assert [1, 2] == [send["number"] for send in call["sends"]]


@pytest.mark.parametrize(
    "payload", [{}, {"sends": "x"}, {"sends": [1, None]}, {"usage": []}, {"cost": "x", "tokens": True}]
)
def test_a_malformed_payload_is_read_as_unknown(payload: dict[str, object]) -> None:
    """Other writers put anything there."""
    call = call_of("evt_1", None, payload)

    assert [] == call["sends"]
    assert call["tokens"] is None
    assert "unknown" == call["cost_verdict"]


def test_money_may_differ_by_what_binary_fractions_lose() -> None:
    """Older tracers added floats up."""
    assert "adds_up" == compare_money(Decimal("0.30000000000000004"), Decimal("0.3"))
    assert "differs" == compare_money(Decimal("0.31"), Decimal("0.3"))
    assert "unknown" == compare_money(None, Decimal(0))
    assert "unknown" == compare(None, 0)


@pytest.fixture
def source(tmp_path: Path) -> TraceSource:
    """Open a session with one call in a phase, one in a phase without a row, and a stored total that is larger."""
    connection = sqlite3.connect(tmp_path / "sssf.db", isolation_level=None)
    migrate(connection)
    connection.execute(
        "INSERT INTO sessions (adw_id, status, total_tokens, total_cost) VALUES ('a', 'fail', 100, NULL)"
    )
    connection.execute("INSERT INTO phases (phase_id, adw_id, seq, name) VALUES ('a_01_build', 'a', 1, 'build')")
    connection.execute("INSERT INTO phases (phase_id, adw_id, seq, name) VALUES ('a_02_test', 'a', 2, 'test')")
    for number, phase in enumerate(("a_01_build", "a_09_gone")):
        connection.execute(
            "INSERT INTO events (event_id, adw_id, phase_id, type, payload_json, tokens)"
            " VALUES (?, 'a', ?, 'agent_end', '{\"cost\": 0.25}', 30)",
            (f"evt_{number}", phase),
        )
    connection.close()
    return TraceSource(tmp_path / "sssf.db")


def test_what_no_phase_accounts_for_is_told(source: TraceSource) -> None:
    """A failed call that recorded no end: its tokens are in the session alone."""
    with source:
        found = reconcile(source, source.rows("SELECT * FROM sessions")[0])

    assert (100, 60, 40, "differs") == (
        found["session"]["stored_tokens"], found["session"]["tokens"],
        found["session"]["unattributed_tokens"], found["session"]["tokens_verdict"],
    )  # fmt: skip
    assert (None, 0.5, "unknown") == (
        found["session"]["stored_cost"], found["session"]["cost"], found["session"]["cost_verdict"],
    )  # fmt: skip
    assert [("build", 30), ("test", None), (None, 30)] == [(one["name"], one["tokens"]) for one in found["phases"]]


def test_what_a_call_and_its_sends_tell_of_money_and_denials() -> None:
    """An estimate stays beside the cost; what was not recorded, or is of a wrong kind, is null."""
    denial = {"tool": "Bash", "tool_call_id": "c1", "reason": ""}
    send = {"verdict": "answered", "usage_known": "partial", "cost_basis": "none", "model": "m", "session_id": "s"}
    told = {"retries": 2, "denials": [denial, "torn", {"tool": 7}], "subagent_usage": usage((1, 0, 0, 0), 1)}
    payload = {"cost": None, "estimated_cost": 0.25, "price_catalogue": "list 1", "cost_basis": "estimated"}

    found = call_of("e", "a", {**payload, "sends": [{**send, **told}, {}]})
    first, second = found["sends"]

    assert (None, 0.25, "list 1", "estimated") == tuple(
        found[name] for name in ("cost", "estimated_cost", "price_catalogue", "cost_basis")
    )
    assert send == {name: first[name] for name in send}
    assert (2, 1) == (first["retries"], first["subagent_usage"]["total_tokens"])
    assert [denial, {"tool": None, "tool_call_id": None, "reason": None}] == first["denials"]
    assert (None, None, None, []) == tuple(
        second[name] for name in ("retries", "subagent_usage", "cost_basis", "denials")
    )
