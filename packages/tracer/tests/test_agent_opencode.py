"""opencode's stream, quirk by quirk."""

import json
from decimal import Decimal
from typing import Any

import pytest

from agent_workflow.tracer.agents import SendOutcome
from agent_workflow.tracer.agents._opencode_stream import OpencodeStream

AT = "2026-11-30T00:00:00.000+00:00"
SESSION = "ses_dd4a68513ffetWCfkGZPq1Nljm"
REJECTED = "The user rejected permission to use this specific tool call."


def event(kind: str, **part: Any) -> dict[str, Any]:
    """Make an event with its part."""
    return {"type": kind, "timestamp": 1796023616027, "sessionID": SESSION, "part": part}


def finish(reason: str, number: int = 0, cost: float = 0.5, **tokens: Any) -> dict[str, Any]:
    """Make the end of a step: 100 fresh, 30 and 20 of thinking given, 1000 from the cache."""
    told = {"total": 1150, "input": 100, "output": 30, "reasoning": 20, "cache": {"read": 1000, "write": 0}}
    return event("step_finish", id=f"prt_{number}", reason=reason, tokens={**told, **tokens}, cost=cost)


def tool(name: str = "bash", status: str = "completed", **state: Any) -> dict[str, Any]:
    """Make a call that has returned."""
    times = {"start": 1796023615985, "end": 1796023616096}
    return event("tool_use", tool=name, callID="c", state={"status": status, "input": {}, "time": times, **state})


def failure(name: str, message: str = "no") -> dict[str, Any]:
    """Make an error."""
    return {"type": "error", "sessionID": SESSION, "error": {"name": name, "data": {"message": message}}}


def play(*records: Any, code: int = 0) -> tuple[SendOutcome, list[Any]]:
    """Feed records and return what came of them."""
    reader = OpencodeStream()
    seen = [item for record in records for item in reader.read(json.dumps(record).encode(), AT)]
    seen += reader.complete()
    return reader.outcome(code, AT), seen


def test_spend_of_steps() -> None:
    """Each step tells its own; thinking is told beside the output and is part of it here."""
    outcome, _ = play(event("step_start"), finish("tool-calls"), event("step_start"), finish("stop", 1))

    usage = outcome.usage
    assert (200, 100, 2000, 0, 40, 2300, Decimal(1)) == (
        usage.input,
        usage.output,
        usage.cache_read,
        usage.cache_write,
        usage.reasoning,
        usage.total,
        usage.total_cost,
    )
    assert (SESSION, 1150, 2, "agent_reported", None, True) == (
        outcome.session_id,
        outcome.context_tokens,
        outcome.turns,
        outcome.cost_basis,
        outcome.retries,
        outcome.resumable,
    )


def test_step_that_is_told_twice_counts_once() -> None:
    """A step has an id: what was told last counts."""
    outcome, _ = play(event("step_start"), finish("stop", cost=0.1), finish("stop", cost=0.2))

    assert (1150, Decimal("0.2")) == (outcome.usage.total, outcome.usage.total_cost)


def test_cost_of_zero_is_unknown() -> None:
    """A model without prices costs zero in opencode's eyes."""
    outcome, _ = play(event("step_start"), finish("stop", cost=0))

    assert ("none", None) == (outcome.cost_basis, outcome.usage.total_cost)


@pytest.mark.parametrize(
    ("records", "code", "verdict"),
    [
        ([event("step_start"), finish("stop")], 0, "answered"),
        ([event("step_start"), finish("stop")], 1, "failed"),
        ([event("step_start"), finish("length")], 0, "cut_off"),
        ([event("step_start"), finish("tool-calls")], 0, "incomplete"),
        ([event("step_start"), finish("tool-calls"), event("step_start")], 0, "incomplete"),
        ([event("step_start"), finish("stop"), event("step_start")], 0, "incomplete"),
        ([], 0, "incomplete"),
        ([], 143, "failed"),
        ([event("step_start"), tool(status="error", error=REJECTED), finish("tool-calls")], 0, "aborted"),
        ([failure("APIError")], 1, "provider_error"),
        ([failure("MessageAbortedError")], 1, "aborted"),
        ([failure("MessageOutputLengthError")], 1, "cut_off"),
        ([failure("APIError"), event("step_start"), finish("stop")], 0, "answered"),
    ],
)
def test_verdict(records: list[Any], code: int, verdict: str) -> None:
    """There is no event for the end: the last step's reason tells it, not the exit code."""
    outcome, _ = play(*records, code=code)

    assert verdict == outcome.verdict
    assert bool(outcome.error) == (verdict != "answered")


@pytest.mark.parametrize(
    ("record", "name", "ok", "result"),
    [
        (tool(output="x", metadata={"exit": 0}), "bash", True, "x"),
        (tool(output="x", metadata={"exit": 3}), "bash", False, "x"),
        (tool("read", "error", error="gone"), "read", False, "gone"),
        (tool("invalid", input={"tool": "novel"}, output="no such tool"), "novel", False, "no such tool"),
    ],
)
def test_tools(record: dict[str, Any], name: str, ok: bool, result: str) -> None:
    """A call that counts as completed may have failed; its own times say when it ran."""
    _, seen = play(event("step_start"), record, finish("tool-calls"))

    call = seen[0]
    assert (name, ok, result, 111.0) == (call.tool, call.ok, call.result, call.duration_ms)
    assert "2026-11-30T07:26:55.985+00:00" == call.started_at


def test_reply_is_the_text_of_the_last_message() -> None:
    """Parts of one message belong together; earlier messages are no part of the reply."""
    outcome, _ = play(
        event("text", messageID="m1", text="Look."),
        event("text", messageID="m2", text="All"),
        event("text", messageID="m2", text="done."),
        event("step_start"),
        finish("stop"),
    )

    assert "All\ndone." == outcome.text


def test_denials() -> None:
    """A refused permission names the tool and says why."""
    rule = "The user has specified a rule which prevents you from using this specific tool call."
    records = [
        tool(status="error", error=REJECTED),
        tool("edit", "error", error=rule),
        tool("read", "error", error="x"),
    ]
    outcome, _ = play(event("step_start"), *records, finish("stop"))

    assert [("bash", REJECTED), ("edit", rule)] == [(denial.tool, denial.reason) for denial in outcome.denials]
