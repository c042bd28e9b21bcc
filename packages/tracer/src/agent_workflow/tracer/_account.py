"""What the sends of a call cost, added up as an ``agent_end`` tells it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from agent_workflow.tracer._json import clip
from agent_workflow.tracer._usage import Usage, money
from agent_workflow.tracer.agents import Denial, SendOutcome

_ERROR_CHARACTERS: Final = 2_000
_REASON_CHARACTERS: Final = 500
_MOST_DENIALS: Final = 100


def account(outcomes: list[SendOutcome]) -> tuple[dict[str, Any], int, int | None]:
    """Sum up the sends of a call.

    Returns:
        The payload of its ``agent_end``, all tokens it cost, and how full the agent's window is now. ``usage`` is the
        conversation's own, sub-agents included, and null when nobody told it; compaction and tools that called a model
        are lines of their own; ``cost`` and ``tokens`` are all three together.
    """
    turns = sum((outcome.usage for outcome in outcomes), Usage())
    compaction = _sum_if_any([outcome.compaction for outcome in outcomes])
    tools = _sum_if_any([outcome.tools for outcome in outcomes])
    everything = turns + (compaction or Usage()) + (tools or Usage())
    context = outcomes[-1].context_tokens if outcomes else None
    unknown: dict[str, int] = {}
    for outcome in outcomes:
        for kind, count in outcome.unknown.items():
            unknown[kind] = unknown.get(kind, 0) + count
    payload: dict[str, Any] = {
        "cost": money(everything.total_cost),
        "tokens": everything.total,
        "usage": turns.payload() if _is_known(outcomes) else None,
        "compaction_usage": compaction.payload() if compaction else None,
        "tool_usage": tools.payload() if tools else None,
        "sends": [_send_payload(outcome) for outcome in outcomes],
        "context_tokens": context,
        "unknown_events": unknown,
        "damaged_lines": sum(outcome.damaged for outcome in outcomes),
    }
    return payload, everything.total, context


def _is_known(outcomes: list[SendOutcome]) -> bool:
    return not outcomes or any(outcome.usage_known != "unknown" for outcome in outcomes)


def told_denials(denied: Sequence[Denial]) -> list[dict[str, str]]:
    """Write denials as a send tells them, the first hundred."""
    denials = [asdict(denial) for denial in denied[:_MOST_DENIALS]]
    return [{**denial, "reason": clip(denial["reason"], _REASON_CHARACTERS)} for denial in denials]


def _sum_if_any(usages: list[Usage | None]) -> Usage | None:
    present = [usage for usage in usages if usage is not None]
    return sum(present, Usage()) if present else None


def _send_payload(outcome: SendOutcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict,
        "stop_reason": outcome.stop_reason,
        "error": outcome.error[:_ERROR_CHARACTERS] or None,
        "turns": outcome.turns,
        "usage": None if outcome.usage_known == "unknown" else outcome.usage.payload(),
        "usage_known": outcome.usage_known,
        "subagent_usage": outcome.subagents.payload() if outcome.subagents else None,
        "cost_basis": outcome.cost_basis,
        "model": outcome.model or None,
        "session_id": outcome.session_id or None,
        "retries": outcome.retries,
        "denials": told_denials(outcome.denials),
        "compaction_usage": outcome.compaction.payload() if outcome.compaction else None,
        "tool_usage": outcome.tools.payload() if outcome.tools else None,
    }
