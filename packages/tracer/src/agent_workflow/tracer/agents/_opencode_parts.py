"""What opencode's stream and its database say alike: a tool's part, and the spend of a step or a message."""

from decimal import Decimal
from typing import Any, Final

from agent_workflow.tracer._json import as_float, as_int
from agent_workflow.tracer._usage import Usage, dollars
from agent_workflow.tracer.agents._json_stream import count, mapping, trace_time, words
from agent_workflow.tracer.agents._protocol import Denial, ToolReturned

_DENIED: Final = ("The user rejected permission to use this specific tool call", "The user has specified a rule which")


def tool_call(part: dict[str, Any], at: str, parent: str = "") -> ToolReturned:
    """Read the part of a tool; one that has not returned was cut off.

    Args:
        part: as opencode tells it.
        at: taken for times that it does not tell.
        parent: the call whose sub-agent made this one.
    """
    state = mapping(part.get("state"))
    tool, args = words(part.get("tool")) or "tool", state.get("input")
    metadata, times = mapping(state.get("metadata")), mapping(state.get("time"))
    is_invalid = tool == "invalid"  # stands in for a tool that does not exist, and counts as completed
    if is_invalid:
        tool = words(mapping(args).get("tool")) or tool
    status = state.get("status")
    started, ended = as_float(times.get("start")), as_float(times.get("end"))
    return ToolReturned(
        tool=tool,
        tool_call_id=words(part.get("callID")),
        args=args,
        result=words(state.get("output")) or words(state.get("error")) or words(metadata.get("output")),
        ok=status == "completed" and not is_invalid and metadata.get("exit") in (None, 0),
        duration_ms=None if started is None or ended is None else max(0.0, ended - started),
        started_at=trace_time(started, at),
        ended_at=trace_time(ended, at),
        interrupted=status in ("pending", "running"),
        parent_call_id=parent,
    )


def denial(part: dict[str, Any]) -> Denial | None:
    """Return why a tool was not allowed to run, ``None`` when it was."""
    error = words(mapping(part.get("state")).get("error"))
    if not error.startswith(_DENIED):
        return None
    call = tool_call(part, "")
    return Denial(call.tool, call.tool_call_id, error)


def child_session(part: dict[str, Any]) -> str:
    """Return the session of the sub-agent that a call began, empty when it began none."""
    return words(mapping(mapping(part.get("state")).get("metadata")).get("sessionId"))


def spend(told: dict[str, Any]) -> Usage:
    """Read the tokens and the cost of a step or a message."""
    tokens = mapping(told.get("tokens"))
    cache, reasoning = mapping(tokens.get("cache")), count(tokens.get("reasoning"))
    output = count(tokens.get("output")) + reasoning
    parts = (count(tokens.get("input")), output, count(cache.get("read")), count(cache.get("write")))
    total, cost = as_int(tokens.get("total")), dollars(told.get("cost"))
    if not cost and sum(parts) > 0:
        cost = None  # a model without prices costs zero in opencode's eyes; nobody knows its price
    costs = Usage().costs if cost == Decimal(0) else None
    return Usage(*parts, reasoning, sum(parts) if total is None or total < 0 else total, costs, cost)
