"""What a run used, in the metrics' contract: input with the cache, billed money apart, unknown never zero."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.evidence_schemas import ExecutionMetrics
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer.evidence._facts import Call, Facts, gather
from agent_workflow.tracer.evidence._metrics import metrics_document, seconds_between
from agent_workflow.tracer.evidence._publications import Publication

BEGAN = "2026-01-01T00:00:00.000+00:00"
LATER = "2026-01-01T00:00:10.000+00:00"
COUNTS = st.integers(0, 10**9)


def usage(fresh: int, out: int, read: int, written: int, reasoning: int | None = None) -> dict[str, Any]:
    """Write a usage as the trace has it."""
    return {
        "input_tokens": fresh,
        "output_tokens": out,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "reasoning_tokens": reasoning,
        "total_tokens": fresh + out + read + written,
    }


def call(agent: str, *lines: dict[str, Any] | None, cost: float | None = 0.5, **payload: Any) -> Call:
    """Make up an agent call with its usages: of the conversation, of compaction, of tools."""
    named = dict(zip(("usage", "compaction_usage", "tool_usage"), lines, strict=False))
    return Call(agent, BEGAN, LATER, {"cost": cost, **named, **payload})


def stages(*calls: Call, **more: Any) -> dict[str, dict[str, Any]]:
    """Write the metrics of some calls, check their contract, and return them by stage."""
    document = metrics_document("run1", Facts(session={}, calls=list(calls), **more), BEGAN, LATER)
    ExecutionMetrics.model_validate(document)
    return {stage["stage"]: stage for stage in document["stages"]}  # type: ignore[attr-defined] # a list


@given(parts=st.tuples(COUNTS, COUNTS, COUNTS, COUNTS))
def test_input_holds_the_cache_and_everything_sums_up(parts: tuple[int, int, int, int]) -> None:
    """The trace keeps the cache apart, this contract has it inside; output and total stay."""
    total = stages(call("builder", usage(*parts)))["total"]

    fresh, out, read, written = parts
    assert fresh + read + written == total["input_tokens"]
    assert (read, written, out) == tuple(
        total[name] for name in ("cached_input_tokens", "cache_write_input_tokens", "output_tokens")
    )
    assert total["input_tokens"] + total["output_tokens"] == total["provider_total_tokens"]


def test_compaction_and_tools_count() -> None:
    """All that a call cost is in its stage, and all stages are in the total."""
    found = stages(
        call("a", usage(1, 2, 3, 4), usage(10, 20, 30, 40), usage(100, 200, 300, 400)), call("b", usage(5, 5, 5, 5))
    )

    assert (1110, 20, 1130) == tuple(found[name]["provider_total_tokens"] for name in ("child:a", "child:b", "total"))
    assert 1.0 == found["total"]["cost"] == found["total"]["provider_billed_cost"]


@pytest.mark.parametrize(
    "unknown",
    [
        Call("b", BEGAN, None, None),
        call("b", {}, cost=None),
        call("b", None, cost=None),
        Call("b", BEGAN, LATER, {"usage": "damaged", "cost": "much"}),
    ],
    ids=["no end", "empty", "none", "damaged"],
)
def test_one_unknown_call_makes_the_total_unknown(unknown: Call) -> None:
    """A sum over what is not known is not known; what is known stays."""
    found = stages(call("a", usage(1, 2, 3, 4)), unknown)

    for name in ("child:b", "total"):
        assert {None} == {found[name][part] for part in ("input_tokens", "output_tokens", "cost", "currency")}
    assert (8, "USD") == (found["child:a"]["input_tokens"], found["child:a"]["currency"])


def test_money_without_a_price_leaves_the_tokens() -> None:
    """Tokens are known though nobody knows what they cost; then there is no currency either."""
    total = stages(call("a", usage(1, 2, 3, 4), cost=None))["total"]

    assert (10, None, None) == (total["provider_total_tokens"], total["cost"], total["currency"])


def test_reported_money_is_never_an_estimate() -> None:
    """A cost of zero that an agent reported is known, and billed."""
    total = stages(call("a", usage(1, 2, 3, 4), cost=0))["total"]

    assert (0.0, 0.0, None, "USD") == tuple(
        total[name] for name in ("cost", "provider_billed_cost", "local_estimated_cost", "currency")
    )


def imported(basis: str, estimate: float | None, cost: float | None = None, catalogue: str | None = "list 1") -> Call:
    """Make up a turn of an imported session, its money on one basis."""
    group = {"basis": basis, "calls": 1, "amount": estimate if cost is None else cost}
    told = {"estimated_cost": estimate, "price_catalogue": catalogue, "cost_basis": basis, "spend": [group]}
    return call("a", usage(1, 1, 1, 1), cost=cost, **told)


EMPTY = Call("a", BEGAN, LATER, {"cost": None, "estimated_cost": None, "price_catalogue": None, "spend": []})


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ([imported("estimated", 0.25), imported("estimated", 0.5)], (None, 0.75, "list 1", "USD")),
        ([imported("estimated", 0.25), EMPTY], (None, 0.25, "list 1", "USD")),
        ([imported("subscription", 0.25)], (None, 0.25, "list 1", "USD")),
        ([imported("estimated", 0.25), imported("subscription", 0.5)], (None, None, None, None)),
        ([imported("estimated", 0.25), imported("unknown", None, None, None)], (None, None, None, None)),
        ([imported("estimated", 0.25), imported("estimated", 0.5, None, "list 2")], (None, None, None, None)),
        ([imported("billed", None, 0.5, None)], (0.5, None, None, "USD")),
        ([imported("billed", None, 0.5, None), imported("estimated", 0.25)], (None, 0.25, "list 1", "USD")),
        ([imported("billed", None, 0.5, None), EMPTY], (0.5, None, None, "USD")),
        ([EMPTY], (None, None, None, None)),
    ],
)
def test_billed_and_estimated_money_are_apart(calls: list[Call], expected: tuple[object, ...]) -> None:
    """Neither is ever part of the other, and each is known only where it is known of all that it is about."""
    names = ("provider_billed_cost", "local_estimated_cost", "price_catalog_id", "currency")
    found = stages(*calls)

    assert expected == tuple(found["total"][name] for name in names) == tuple(found["child:a"][name] for name in names)
    assert found["total"]["cost"] == found["total"]["provider_billed_cost"]


def test_times_retries_and_errors() -> None:
    """Each agent has its own; messages of errors may quote anything and stay out."""
    sends = [{"verdict": "answered"}, {"verdict": "provider_error", "error": "SECRET"}, {"verdict": "SECRET"}]
    late = "2026-01-01T00:00:02.500+00:00"
    found = stages(
        call("a", usage(1, 1, 1, 1), sends=sends, first_output_at=late),
        call("b", usage(1, 1, 1, 1)),
        asked_again={"a": 2, "b": 1},
    )

    assert (3, 2, 1) == tuple(found[name]["retry_count"] for name in ("total", "child:a", "child:b"))
    assert (10.0, 10.0) == tuple(found[name]["elapsed_seconds"] for name in ("total", "child:a"))
    assert (2.5, 2.5, None) == tuple(
        found[name]["first_output_latency_seconds"] for name in ("total", "child:a", "child:b")
    )
    assert [{"category": "provider_error", "detail": None}] == found["child:a"]["errors"] == found["total"]["errors"]


@pytest.mark.parametrize("name", ["[redacted:X]", "ünï", "...", "a b", "x" * 300, "builder"])
def test_whatever_an_agent_is_called_its_stage_is_valid(name: str) -> None:
    """Redaction may put characters into a name that no stage may have."""
    assert 2 == len(stages(call(name, usage(1, 1, 1, 1))))


def test_two_agents_whose_names_become_the_same_are_one_stage() -> None:
    """The index has one row a stage: two of one name would make the run no evidence."""
    found = stages(call("[redacted:A]", usage(1, 1, 1, 1)), call("redacted-A", usage(1, 1, 1, 1)))

    assert 8 == found["child:redacted-A"]["provider_total_tokens"]


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [(BEGAN, LATER, 10.0), (LATER, BEGAN, None), (None, LATER, None), (BEGAN, None, None), ("?", LATER, None)],
)
def test_seconds_between(begin: str | None, end: str | None, expected: float | None) -> None:
    """A clock that was set back makes a span unknown, never negative."""
    assert expected == seconds_between(begin, end)


def test_a_call_began_when_its_command_did(tmp_path: Path) -> None:
    """A command runs before anybody can write that it does: the event comes later than what it tells of."""
    start = {"event_id": "e1", "type": "agent_start", "name": "sh", "ts": LATER, "started_at": BEGAN, "payload": {}}
    end = {"event_id": "e2", "type": "agent_end", "name": "sh", "ts": LATER, "parent_id": "e1", "payload": {}}
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in (start, end)))

    (found,) = gather(SessionFiles(tmp_path), Publication("", "run1", "sh", BEGAN)).calls

    assert (BEGAN, LATER) == (found.began_at, found.ended_at)
