"""How items are kept in the ledger."""

import json
from decimal import Decimal
from typing import Any, Final

from agent_workflow.tracer._json import INT64_MAX, bindable
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.importing._items import Item, ModelCall, ToolCall, Turn

TURN: Final = 0
MODEL_CALL: Final = 1
TOOL_CALL: Final = 2

_encode: Final = json.JSONEncoder(separators=(",", ":")).encode
_NO_RAW: Final = (0, 0, 0, 0, 0)


def item_row(source: int, position: int, item: Item) -> tuple[object, ...]:
    """Write an item as a row of the ledger.

    Args:
        source: number of the file.
        item: from it.
        position: in the file, for the order of things that happened at the same time.
    """
    if isinstance(item, ModelCall):
        raw = (item.lines, *(min(count, INT64_MAX) for count in item.raw))
        return _row(
            source,
            MODEL_CALL,
            item,
            item.turn,
            item.at,
            position,
            min(item.usage.total, INT64_MAX),
            _model_call(item),
            raw,
        )
    if isinstance(item, ToolCall):
        return _row(
            source,
            TOOL_CALL,
            item,
            item.turn,
            item.ended_at,
            position,
            int(not item.interrupted),
            _tool_call(item),
            _NO_RAW,
        )
    digits = "".join(c for c in item.ended_at[:23] if c.isdigit())
    return _row(source, TURN, item, item.key, item.at, position, int(digits or 0), _turn(item), _NO_RAW)


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


def _row(
    source: int,
    kind: int,
    item: Item,
    turn: str,
    at: str,
    position: int,
    weight: int,
    data: dict[str, Any],
    raw: tuple[int, ...],
) -> tuple[object, ...]:
    key, lane = bindable(item.key), bindable(item.lane)
    return (source, kind, key, bindable(turn), lane, at, position, int(item.is_copy), weight, _encode(data), *raw)


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
