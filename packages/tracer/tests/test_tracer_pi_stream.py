"""pi's stream, line by line: shapes of several versions, prices, damage."""

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer.agents import Compacted, SendOutcome, ToolReturned, Waited
from agent_workflow.tracer.agents._pi_stream import PiStream

AT = "2026-11-30T00:00:00.000+00:00"
COST = {"input": 0.1, "output": 0.2, "cacheRead": 0.01, "cacheWrite": 0.02, "total": 0.33}
USAGE = {"input": 10, "output": 20, "cacheRead": 30, "cacheWrite": 40, "reasoning": 5, "totalTokens": 100, "cost": COST}
KEYS = [
    "message",
    "role",
    "content",
    "usage",
    "cost",
    "input",
    "output",
    "cacheRead",
    "cacheWrite",
    "total",
    "totalTokens",
    "stopReason",
    "text",
    "type",
    "id",
    "arguments",
    "toolCallId",
    "toolName",
    "args",
    "result",
    "isError",
    "durationMs",
    "willRetry",
    "aborted",
    "errorMessage",
    "responseId",
    "timestamp",
    "reason",
]
TYPES = [
    "message_end",
    "tool_execution_start",
    "tool_execution_end",
    "agent_start",
    "agent_end",
    "agent_settled",
    "compaction_end",
    "auto_retry_start",
    "session",
    "new",
]
SETTLED = {"type": "agent_settled", "aborted": False}


def assistant(**changes: Any) -> dict[str, Any]:
    """Make the end of an assistant's message."""
    message = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "usage": USAGE, "stopReason": "stop"}
    return {"type": "message_end", "message": {**message, **changes}}


def play(*records: Any, code: int = 0, knows_prices: bool = True) -> tuple[SendOutcome, list[Any]]:
    """Feed records (or raw lines) and return what came of them."""
    reader = PiStream(knows_prices=knows_prices)
    lines = [record if isinstance(record, bytes) else json.dumps(record).encode() for record in records]
    seen = [item for line in lines for item in reader.read(line, AT)]
    return reader.outcome(code, AT), seen


def test_repeated_messages_count_once() -> None:
    """Spend comes from the message's own end; the turn's and the agent's repeat it."""
    end = assistant()
    turn, agent = {"type": "turn_end", "message": end["message"]}, {"type": "agent_end", "messages": [end["message"]]}

    outcome, _ = play(end, turn, agent, SETTLED)

    assert (100, 5, Decimal("0.33")) == (outcome.usage.total, outcome.usage.reasoning, outcome.usage.total_cost)


def test_last_line_of_one_message_wins() -> None:
    """A message that comes twice under its id is counted as it was told last."""
    first = assistant(responseId="r1", timestamp=1, usage={**USAGE, "output": 1, "totalTokens": 81})
    last = assistant(responseId="r1", timestamp=1)

    outcome, _ = play(first, last, SETTLED)

    assert 100 == outcome.usage.total


def test_messages_without_an_id_are_all_counted() -> None:
    """Messages of old versions have no id: none of them may vanish."""
    outcome, _ = play(assistant(), assistant(), {"type": "agent_end", "messages": []})

    assert ("answered", 200, 2) == (outcome.verdict, outcome.usage.total, outcome.turns)


@pytest.mark.parametrize(
    ("cost", "knows_prices", "expected"),
    [
        (COST, False, Decimal("0.33")),
        (dict.fromkeys(COST, 0), True, Decimal(0)),
        (dict.fromkeys(COST, 0), False, None),
        (None, True, None),
        ({"total": 0.5}, True, Decimal("0.5")),
        ({**COST, "total": None}, True, Decimal("0.33")),
    ],
    ids=["priced", "free", "no rates", "no cost", "lump", "no total"],
)
def test_price(cost: Any, knows_prices: bool, expected: Decimal | None) -> None:
    """Zero is a price only where prices are stated; what is not known stays unknown."""
    outcome, _ = play(assistant(usage={**USAGE, "cost": cost}), SETTLED, knows_prices=knows_prices)

    assert expected == outcome.usage.total_cost


def test_total_from_the_provider_shows_its_difference() -> None:
    """A total that its components do not explain is kept, and the difference is told."""
    outcome, _ = play(assistant(usage={**USAGE, "totalTokens": 150, "cost": {**COST, "total": 0.4}}), SETTLED)
    written = outcome.usage.payload()

    assert (150, 50) == (written["total_tokens"], written["unattributed_tokens"])
    assert [0.4, 0.07] == pytest.approx([written["total_cost"], written["unattributed_cost"]])


@pytest.mark.parametrize(
    ("records", "code", "verdict"),
    [
        ([assistant(), SETTLED], 0, "answered"),
        ([assistant(), {"type": "agent_end", "messages": []}], 0, "answered"),
        ([assistant(), {"type": "agent_end", "messages": [], "willRetry": True}], 0, "incomplete"),
        ([assistant()], 0, "incomplete"),
        ([], 0, "incomplete"),
        ([], 1, "failed"),
        ([assistant(), SETTLED], 1, "failed"),
        ([assistant(stopReason="error", errorMessage="429"), SETTLED], 0, "provider_error"),
        ([assistant(stopReason="error"), assistant(), SETTLED], 0, "answered"),
        ([assistant(stopReason="aborted"), SETTLED], 0, "aborted"),
        ([assistant(), {"type": "agent_settled", "aborted": True}], 0, "aborted"),
        ([assistant(stopReason="length"), SETTLED], 0, "cut_off"),
        ([assistant(), SETTLED, {"type": "agent_start"}], 0, "incomplete"),
    ],
)
def test_verdict(records: list[Any], code: int, verdict: str) -> None:
    """How a send ended is told by its stop reason and its end, not by the exit code alone."""
    outcome, _ = play(*records, code=code)

    assert verdict == outcome.verdict
    assert bool(outcome.error) == (verdict != "answered")


def test_tools_by_their_ids() -> None:
    """Calls that overlap are told apart, arguments come from the start, and an open one was interrupted."""
    outcome, seen = play(
        {"type": "tool_execution_start", "toolCallId": "a", "toolName": "bash", "args": {"command": "ls"}},
        {"type": "tool_execution_start", "toolCallId": "b", "toolName": "read", "args": {"path": "x"}},
        {"type": "tool_execution_end", "toolCallId": "b", "toolName": "read", "result": "text", "isError": True},
    )

    assert [("read", {"path": "x"}, "text", False, None)] == [
        (item.tool, item.args, item.result, item.ok, item.duration_ms) for item in seen
    ]
    assert [("bash", True, False)] == [(item.tool, item.interrupted, item.ok) for item in outcome.interrupted]


def test_tool_that_never_began() -> None:
    """An end without a start (an unknown tool) takes its arguments from the assistant's message."""
    call = {"type": "toolCall", "id": "a", "name": "odd", "arguments": {"x": 1}}
    _, seen = play(
        assistant(content=[call]), {"type": "tool_execution_end", "toolCallId": "a", "toolName": "odd", "isError": True}
    )

    assert isinstance(seen[0], ToolReturned)
    assert ({"x": 1}, False) == (seen[0].args, seen[0].ok)


@pytest.mark.parametrize("kind", ["compaction_end", "auto_compaction_end"])
def test_compaction(kind: str) -> None:
    """Its model call is a spend of its own, and the context is unknown until the next turn."""
    end = {"type": kind, "reason": "threshold", "result": {"tokensBefore": 9, "usage": USAGE}, "aborted": False}

    outcome, seen = play(assistant(), end, SETTLED)

    assert isinstance(seen[0], Compacted)
    assert outcome.compaction is not None
    assert (100, 100, None) == (outcome.usage.total, outcome.compaction.total, outcome.context_tokens)
    assert 100 == play(assistant(), end, assistant(), SETTLED)[0].context_tokens


def test_tools_that_call_a_model() -> None:
    """Spend of a tool is a line of its own."""
    result = {"type": "message_end", "message": {"role": "toolResult", "toolCallId": "a", "usage": USAGE}}

    outcome, _ = play(assistant(), result, SETTLED)

    assert outcome.tools is not None
    assert (100, 100) == (outcome.usage.total, outcome.tools.total)


def test_waits() -> None:
    """Retries of the agent are handed on with what is known of them."""
    _, seen = play({"type": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529"})

    assert [
        Waited("auto_retry_start", {"attempt": 1, "maxAttempts": 3, "delayMs": 2000, "errorMessage": "529"})
    ] == seen


@pytest.mark.parametrize(
    "record",
    [
        {"type": "message_end"},
        {"type": "message_end", "message": "text"},
        {"type": "message_end", "message": {"role": "assistant"}},
        {"type": "message_end", "message": {"role": "assistant", "content": [1, None, {"type": "text"}], "usage": []}},
        {
            "type": "message_end",
            "message": {"role": "assistant", "usage": {"input": "9", "output": -1, "totalTokens": 2**70}},
        },
        {"type": "tool_execution_start"},
        {"type": "tool_execution_end", "result": {"content": "x"}},
        {"type": "tool_execution_end", "result": [1]},
        {"type": "compaction_end", "result": "x"},
        {"type": 7},
        {},
    ],
)
def test_odd_records_harm_nobody(record: dict[str, Any]) -> None:
    """A record of an unforeseen shape ends nothing, and what comes after it is read."""
    outcome, _ = play(record, assistant(), SETTLED)

    assert "answered" == outcome.verdict
    assert outcome.usage.total >= 100


def test_unknown_events_and_damaged_lines_are_counted() -> None:
    """What is not understood is counted by type; a line that is no record is counted too."""
    outcome, _ = play({"type": "brand_new"}, {"type": "brand_new"}, b"not json", b'{"cut', assistant(), SETTLED)

    assert ({"brand_new": 2}, 2) == (outcome.unknown, outcome.damaged)


def test_text_of_old_and_new_messages() -> None:
    """Content may be a text or blocks; the last text that says something is the reply."""
    outcome, _ = play(assistant(content="old"), assistant(content=[{"type": "toolCall", "id": "a"}]), SETTLED)

    assert "old" == outcome.text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)


@given(
    st.lists(st.tuples(st.sampled_from(TYPES), st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5)), max_size=8)
)
def test_no_stream_can_stop_the_reader(records: list[Any]) -> None:
    """Whatever a stream holds, reading goes on, and what is summed up can be written."""
    lines = [json.dumps({**fields, "type": kind}).encode() for kind, fields in records]

    outcome, _ = play(*lines)

    assert outcome.usage.total >= 0
    assert json.dumps(outcome.usage.payload(), allow_nan=False)
