"""``execution-metrics.json``: what a run used, as a whole and by each agent. Unknown is never zero.

In this contract ``input_tokens`` includes what came from the cache; the trace counts that apart.
"""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any, Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._usage import dollars, money
from agent_workflow.tracer.evidence._facts import Call, Facts
from agent_workflow.tracer.evidence._names import agent_name

_LINES: Final = ("usage", "compaction_usage", "tool_usage")
_TOKENS: Final = {
    "input_tokens": ("input_tokens", "cache_read_tokens", "cache_write_tokens"),
    "cached_input_tokens": ("cache_read_tokens",),
    "cache_write_input_tokens": ("cache_write_tokens",),
    "output_tokens": ("output_tokens",),
    "reasoning_output_tokens": ("reasoning_tokens",),
    "provider_total_tokens": ("total_tokens",),
}


def metrics_document(session_id: str, facts: Facts, began_at: str, ended_at: str | None) -> dict[str, object]:
    """Write ``execution-metrics/v1``: the stage ``total``, and ``child:<agent>`` for every agent that was called.

    Args:
        session_id: of the run.
        facts: what the session's files say.
        began_at: when the run began.
        ended_at: when it ended; ``None`` for a run that is lost, whose end nobody saw: its time is told up to its last
            sign of work.
    """
    by_agent: dict[str, list[Call]] = {}
    for call in facts.calls:
        by_agent.setdefault(agent_name(call.agent), []).append(call)
    total = {
        **_spend(facts.calls),
        "stage": "total",
        "elapsed_seconds": seconds_between(began_at, ended_at or facts.last_sign_at),
        "first_output_latency_seconds": seconds_between(began_at, facts.first_output_at),
        "retry_count": sum(facts.asked_again.values()),
        "errors": _errors(facts.calls),
    }
    children = [_child(name, calls, facts) for name, calls in sorted(by_agent.items())]
    stages = [{**_STEERING, **stage} for stage in (total, *children)]
    return {"schema": "agent-workflow/execution-metrics/v1", "session_id": session_id, "stages": stages}


_STEERING: Final = {"steer_count": 0, "steer_acknowledged_count": 0, "steer_pending_count": 0}


def _child(name: str, calls: list[Call], facts: Facts) -> dict[str, object]:
    spans = [seconds_between(call.began_at, call.ended_at) for call in calls]
    first = calls[0]
    return {
        **_spend(calls),
        "stage": f"child:{name}",
        "elapsed_seconds": _sum_known(spans),
        "first_output_latency_seconds": seconds_between(
            first.began_at, str((first.payload or {}).get("first_output_at") or "") or None
        ),
        "retry_count": sum(count for agent, count in facts.asked_again.items() if agent_name(agent) == name),
        "errors": _errors(calls),
    }


def _spend(calls: list[Call]) -> dict[str, object]:
    """Sum up tokens and money; a call that has no end, or no price, makes its sum unknown."""
    usages = [usage for call in calls for usage in _usages(call)]
    spent: dict[str, object] = {
        name: _sum_tokens(usage.get(part) for usage in usages for part in parts) if usages else None
        for name, parts in _TOKENS.items()
    }
    paid = [call for call in calls if not _spent_nothing(call)]
    cost = _sum_money([(call.payload or {}).get("cost") for call in paid])
    estimated, catalogue = _estimate(paid)
    spent |= {
        "cost": cost,
        "provider_billed_cost": cost,
        "local_estimated_cost": estimated,
        "currency": "USD" if cost is not None or estimated is not None else None,
        "price_catalog_id": catalogue,
    }
    return spent


def _spent_nothing(call: Call) -> bool:
    """Tell whether an imported turn called no model that counts for it: it has no price because it needs none."""
    return (call.payload or {}).get("spend") == []


def _estimate(calls: list[Call]) -> tuple[float | None, str | None]:
    """Sum up what calls without billed money would have cost at list price, never added to what was billed.

    Returns:
        The sum and the name of the price list; both unknown unless each of those calls has an estimate, all are of one
        list, and what a subscription covers does not meet what is paid by use.
    """
    unpaid = [call.payload or {} for call in calls if dollars((call.payload or {}).get("cost")) is None]
    total = _sum_money([payload.get("estimated_cost") for payload in unpaid])
    catalogues = {payload.get("price_catalogue") for payload in unpaid}
    if total is None or len(catalogues) != 1 or _mixes_bases(unpaid):
        return None, None
    (catalogue,) = catalogues
    return (total, catalogue[:256]) if isinstance(catalogue, str) else (None, None)


def _mixes_bases(payloads: list[Mapping[str, Any]]) -> bool:
    groups = [payload.get("spend") for payload in payloads]
    bases = {group.get("basis") for listed in groups if isinstance(listed, list) for group in listed}
    return {"estimated", "subscription"} <= bases


def _usages(call: Call) -> list[Mapping[str, Any]]:
    if call.payload is None:
        return [{}]  # all of it unknown
    return [line for name in _LINES if isinstance(line := call.payload.get(name), dict)] or [{}]


def _errors(calls: list[Call]) -> list[dict[str, object]]:
    """Name what sends ended with; their messages may quote anything."""
    found: list[dict[str, object]] = []
    for call in calls:
        sends = (call.payload or {}).get("sends")
        for send in sends if isinstance(sends, list) else []:
            verdict = send.get("verdict") if isinstance(send, dict) else None
            if isinstance(verdict, str) and verdict in _BAD_VERDICTS:
                found.append({"category": verdict, "detail": None})
    return found


_BAD_VERDICTS: Final = frozenset({"cut_off", "provider_error", "aborted", "failed", "incomplete"})


def seconds_between(begin: str | None, end: str | None) -> float | None:
    """Return the seconds between two times of the trace; unknown where one is, or where the clock was set back."""
    first, last = _clock.parse_time(begin), _clock.parse_time(end)
    if first is None or last is None or last < first:
        return None
    return (last - first).total_seconds()


def _sum_known(parts: Iterable[float | None]) -> float | None:
    known = list(parts)
    present = [part for part in known if part is not None]
    return round(sum(present), 3) if present and len(present) == len(known) else None


def _sum_tokens(counts: Iterable[object]) -> int | None:
    known = [as_int(count) for count in counts]
    present = [count for count in known if count is not None and count >= 0]
    return sum(present) if len(present) == len(known) else None


def _sum_money(amounts: list[object]) -> float | None:
    known = [dollars(amount) for amount in amounts]
    present = [amount for amount in known if amount is not None]
    return money(sum(present, Decimal(0))) if present and len(present) == len(known) else None
