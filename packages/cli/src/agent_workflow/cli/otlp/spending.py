"""Tokens and money as attributes. The trace counts input apart from the cache; the conventions include it."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from agent_workflow.cli.otlp.span import Attributes

_LINES = ("usage", "compaction_usage", "tool_usage")
_INPUT = ("input_tokens", "cache_read_tokens", "cache_write_tokens")
_ATTRIBUTES = (
    ("gen_ai.usage.input_tokens", _INPUT),
    ("gen_ai.usage.output_tokens", ("output_tokens",)),
    ("gen_ai.usage.cache_read.input_tokens", ("cache_read_tokens",)),
    ("gen_ai.usage.cache_creation.input_tokens", ("cache_write_tokens",)),
    ("gen_ai.usage.reasoning.output_tokens", ("reasoning_tokens",)),
    ("agent_workflow.usage.total_tokens", ("total_tokens",)),
)

Usage = Mapping[str, Any]


def usages_of(payload: Mapping[str, Any]) -> list[Usage]:
    """Return what an ``agent_end``, or one of its sends, says it used: turns, compaction, tools that called a model."""
    return [line for name in _LINES if isinstance(line := payload.get(name), dict)]


def token_attributes(usages: Iterable[Usage]) -> Attributes:
    """Sum up usage; what nobody told is left out, never zero."""
    lines = list(usages)
    attributes: Attributes = {}
    for name, parts in _ATTRIBUTES:
        known = [count for line in lines for part in parts if (count := _count(line.get(part))) is not None]
        if known:
            attributes[name] = sum(known)
    return attributes


def cost_attributes(amount: object) -> Attributes:
    """Return a cost in US dollars with its basis.

    Agents report what their provider charges for the tokens, which the evidence records as provider-billed. An unknown
    cost has a basis that says so and no amount.
    """
    if not _is_amount(amount):
        return {"agent_workflow.cost.basis": "unknown"}
    return {"agent_workflow.cost.usd": float(amount), "agent_workflow.cost.basis": "provider_billed"}


def session_cost_attributes(row: Mapping[str, Any]) -> Attributes:
    """Return the cost of a whole session: what was billed, and apart from it what was estimated on this host.

    Args:
        row: of ``sessions``; older databases and those of other writers have no estimate.
    """
    attributes, estimated = cost_attributes(row["total_cost"]), row.get("estimated_cost")
    if _is_amount(estimated):
        attributes["agent_workflow.cost.estimated_usd"] = float(estimated)
        if isinstance(catalogue := row.get("price_catalogue"), str) and catalogue:
            attributes["agent_workflow.cost.catalogue"] = catalogue
        if attributes["agent_workflow.cost.basis"] == "unknown":
            is_covered = row.get("cost_basis") == "subscription"  # nobody pays it by the token
            attributes["agent_workflow.cost.basis"] = "subscription" if is_covered else "local_estimated"
    return attributes


def _is_amount(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
