"""How items are kept in the ledger."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from agent_workflow.tracer._json import INT64_MAX, bindable
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.importing._items import Item, ModelCall, Note, ToolCall, Turn

TURN: Final = 0
MODEL_CALL: Final = 1
TOOL_CALL: Final = 2
NOTE: Final = 3

_NO_RAW: Final[tuple[int, ...]] = (0, 0, 0, 0, 0)


Encode = Callable[[object], str]


def item_row(source: int, position: int, item: Item, encode: Encode) -> tuple[object, ...]:
    """Write an item as a row of the ledger.

    Args:
        source: number of the file.
        item: from it.
        position: in the file, for the order of things that happened at the same time.
        encode: writes JSON without secrets.
    """
    if isinstance(item, ModelCall):
        raw = (item.lines, *(min(count, INT64_MAX) for count in item.raw))
        weight = min(item.usage.total, INT64_MAX)
        kept = (MODEL_CALL, item.at, weight, encode(_model_call(item)))
    elif isinstance(item, ToolCall):
        raw = _NO_RAW
        kept = (TOOL_CALL, item.ended_at, int(not item.interrupted), encode(_tool_call(item)))
    elif isinstance(item, Note):
        raw = _NO_RAW
        kept = (NOTE, item.at, 0, encode(_note(item)))
    else:
        raw = _NO_RAW
        digits = "".join(c for c in item.ended_at[:23] if c.isdigit())
        kept = (TURN, item.at, int(digits or 0), encode(_turn(item)))
    kind, at, weight, data = kept
    turn = item.key if isinstance(item, Turn) else item.turn
    keys = (bindable(item.key), bindable(turn), bindable(item.lane))
    return (source, kind, *keys, at, position, int(item.is_copy), weight, data, *raw)


def usage_of(data: dict[str, Any]) -> Usage:
    """Read the usage of a model call again."""
    fresh, output, cache_read, cache_write = data["tokens"]
    costs, cost = data["costs"], data["cost"]
    return Usage(
        input=fresh,
        output=output,
        cache_read=cache_read,
        cache_write=cache_write,
        reasoning=data["reasoning"],
        total=data["total"],
        costs=None if costs is None else (Decimal(costs[0]), Decimal(costs[1]), Decimal(costs[2]), Decimal(costs[3])),
        total_cost=None if cost is None else Decimal(cost),
    )


def _turn(item: Turn) -> dict[str, Any]:
    return {
        "key": bindable(item.key),
        "lane": bindable(item.lane),
        "at": item.at,
        "text": item.text,
        "ended_at": item.ended_at,
        "verdict": item.verdict,
        "error": item.error,
        "stop_reason": item.stop_reason,
    }


def _model_call(item: ModelCall) -> dict[str, Any]:
    usage = item.usage
    return {
        "lane": bindable(item.lane),
        "model": item.model,
        "provider": item.provider,
        "tokens": [usage.input, usage.output, usage.cache_read, usage.cache_write],
        "reasoning": usage.reasoning,
        "total": usage.total,
        "costs": None if usage.costs is None else [str(cost) for cost in usage.costs],
        "cost": None if usage.total_cost is None else str(usage.total_cost),
        "long": item.long_cache_write,
        "subscription": item.is_subscription,
        "purpose": item.purpose,
    }


def _note(item: Note) -> dict[str, Any]:
    return {
        "happening": item.happening,
        "key": bindable(item.key),
        "turn": bindable(item.turn),
        "lane": bindable(item.lane),
        "at": item.at,
        "details": dict(item.details),
    }


def _tool_call(item: ToolCall) -> dict[str, Any]:
    return {
        "key": bindable(item.key),
        "turn": bindable(item.turn),
        "lane": bindable(item.lane),
        "tool": item.tool,
        "call_id": item.call_id,
        "args": item.args,
        "result": item.result,
        "ok": item.ok,
        "duration_ms": item.duration_ms,
        "started_at": item.started_at,
        "ended_at": item.ended_at,
        "interrupted": item.interrupted,
    }
