"""Tokens and money as attributes. The trace counts input apart from the cache; the conventions include it."""

from collections.abc import Iterable, Mapping
from typing import Any

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
    if isinstance(amount, bool) or not isinstance(amount, int | float) or not 0 <= amount < 1e12:
        return {"agent_workflow.cost.basis": "unknown"}
    return {"agent_workflow.cost.usd": float(amount), "agent_workflow.cost.basis": "provider_billed"}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
