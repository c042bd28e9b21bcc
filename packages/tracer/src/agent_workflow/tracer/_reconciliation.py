"""Do the numbers of a run add up? Components to calls, sends to calls, calls to phases, phases to the session.

Every verdict is a word: ``adds_up``, ``differs``, or ``unknown`` where a part is not recorded. Unknown is never zero.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from agent_workflow.tracer._session_parts import json_object, parts_of
from agent_workflow.tracer._source import Row, TraceSource
from agent_workflow.tracer._usage import COMPONENTS, dollars, money

Verdict = Literal["adds_up", "differs", "unknown"]

_CENT_OF_A_CENT: Final = Decimal("0.000001")
"""Money may differ by less: older tracers added binary fractions up."""


def reconcile(source: TraceSource, session: Row) -> dict[str, Any]:
    """Compare a session's stored totals with the sum of its phases, and each level with the one below.

    Args:
        source: the database.
        session: its row.

    Returns:
        ``session`` with stored and summed totals, and ``phases`` with their calls, lines and sends.
    """
    adw_id = str(session["adw_id"])
    calls = _calls(source, adw_id)
    phases = []
    for phase in parts_of(source, "phases", [adw_id]):
        own = calls.pop(phase["phase_id"], [])
        phases.append(_phase(phase["phase_id"], phase["name"], phase["owner"], own))
    for phase_id, own in calls.items():  # of a phase whose row is missing: still spent
        phases.append(_phase(phase_id, None, None, own))
    every = [call for phase in phases for call in phase["calls"]]
    tokens, cost = _sum_tokens(call["tokens"] for call in every), _sum_money(call["cost"] for call in every)
    stored_tokens, stored_cost = _count(session["total_tokens"]), dollars(session["total_cost"])
    return {
        "session": {
            "stored_tokens": stored_tokens,
            "stored_cost": money(stored_cost),
            "tokens": tokens,
            "cost": money(cost),
            "unattributed_tokens": _minus(stored_tokens, tokens),
            "unattributed_cost": _minus_money(stored_cost, cost),
            "tokens_verdict": compare(stored_tokens, tokens),
            "cost_verdict": compare_money(stored_cost, cost),
        },
        "phases": phases,
    }


def compare(whole: int | None, parts: int | None) -> Verdict:
    """Compare a total of tokens with the sum of its parts."""
    if whole is None or parts is None:
        return "unknown"
    return "adds_up" if whole == parts else "differs"


def compare_money(whole: Decimal | None, parts: Decimal | None) -> Verdict:
    """Compare a total of money with the sum of its parts."""
    if whole is None or parts is None:
        return "unknown"
    return "adds_up" if abs(whole - parts) < _CENT_OF_A_CENT else "differs"


def usage_of(payload: object) -> dict[str, Any] | None:
    """Read a ``usage`` and check that its four components sum to its total."""
    if not isinstance(payload, Mapping) or not payload:
        return None
    tokens = {f"{name}_tokens": _count(payload.get(f"{name}_tokens")) for name in COMPONENTS}
    costs = {f"{name}_cost": dollars(payload.get(f"{name}_cost")) for name in COMPONENTS}
    total, total_cost = _count(payload.get("total_tokens")), dollars(payload.get("total_cost"))
    summed, summed_cost = _sum_tokens(tokens.values()), _sum_money(costs.values())
    return {
        **tokens,
        "reasoning_tokens": _count(payload.get("reasoning_tokens")),
        "total_tokens": total,
        **{name: money(cost) for name, cost in costs.items()},
        "total_cost": money(total_cost),
        "unattributed_tokens": _minus(total, summed),
        "unattributed_cost": _minus_money(total_cost, summed_cost),
        "tokens_verdict": compare(total, summed),
        "cost_verdict": compare_money(total_cost, summed_cost),
    }


def call_of(event_id: str, agent: str | None, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Read one ``agent_end``: its lines sum to the call, its sends to the conversation."""
    names = (("conversation", "usage"), ("compaction", "compaction_usage"), ("tools", "tool_usage"))
    lines: list[dict[str, Any]] = [
        {"kind": kind, "usage": usage} for kind, name in names if (usage := usage_of(payload.get(name)))
    ]
    usages = [line["usage"] for line in lines]
    tokens = _count(payload.get("tokens"))
    summed = _sum_tokens(_field(usages, "total_tokens")) if usages else None
    if tokens is None:
        tokens = summed  # older tracers wrote the call's tokens nowhere else
    cost = dollars(payload.get("cost"))
    summed_cost = _sum_money(dollars(usage["total_cost"]) for usage in usages) if usages else None
    sends = [_send(number, send) for number, send in enumerate(_objects(payload.get("sends")), 1)]
    return {
        "event_id": event_id,
        "agent": payload.get("agent") if isinstance(payload.get("agent"), str) else agent,
        "tokens": tokens,
        "cost": money(cost),
        "tokens_verdict": compare(tokens, summed),
        "cost_verdict": compare_money(cost, summed_cost),
        "sends_verdict": _sends_verdict(sends, lines),
        "cost_basis": _text(payload.get("cost_basis")),
        "estimated_cost": money(dollars(payload.get("estimated_cost"))),
        "price_catalogue": _text(payload.get("price_catalogue")),
        "lines": lines,
        "sends": sends,
    }


def _send(number: int, send: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "number": number,
        **{name: _text(send.get(name)) for name in _SEND_WORDS},
        "turns": _count(send.get("turns")),
        "usage": usage_of(send.get("usage")),
        "subagent_usage": usage_of(send.get("subagent_usage")),
        "retries": _count(send.get("retries")),
        "denials": [
            {name: _text(denial.get(name)) for name in _DENIAL_WORDS} for denial in _objects(send.get("denials"))
        ],
    }


_SEND_WORDS: Final = ("verdict", "stop_reason", "error", "usage_known", "cost_basis", "model", "session_id")
_DENIAL_WORDS: Final = ("tool", "tool_call_id", "reason")


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _sends_verdict(sends: Sequence[Mapping[str, Any]], lines: Sequence[Mapping[str, Any]]) -> Verdict:
    conversation = next((line["usage"] for line in lines if line["kind"] == "conversation"), None)
    if not sends or conversation is None:
        return "unknown"
    summed = _sum_tokens(send["usage"]["total_tokens"] if send["usage"] else None for send in sends)
    return compare(conversation["total_tokens"], summed)


def _phase(phase_id: str, name: str | None, owner: str | None, calls: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "phase_id": phase_id,
        "name": name,
        "owner": owner,
        "tokens": _sum_tokens(call["tokens"] for call in calls) if calls else None,
        "cost": money(_sum_money(dollars(call["cost"]) for call in calls)) if calls else None,
        "calls": calls,
    }


def _calls(source: TraceSource, adw_id: str) -> dict[str, list[dict[str, Any]]]:
    if not source.columns("events"):
        return {}
    statement = (
        "SELECT phase_id, event_id, name, payload_json, tokens FROM events"
        " WHERE adw_id = ? AND type = 'agent_end' ORDER BY rowid"
    )
    calls: dict[str, list[dict[str, Any]]] = {}
    for phase_id, event_id, name, text, tokens in source.tuples(statement, (adw_id,)):
        payload = json_object(text)
        payload.setdefault("tokens", tokens)
        calls.setdefault(str(phase_id), []).append(call_of(str(event_id), name, payload))
    return calls


def _objects(value: object) -> list[Mapping[str, Any]]:
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def _field(usages: Sequence[Mapping[str, Any]], name: str) -> list[int | None]:
    return [usage[name] for usage in usages]


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sum_tokens(counts: Any) -> int | None:  # noqa: ANN401 - any iterable of counts
    known = list(counts)
    return None if any(count is None for count in known) else sum(known)


def _sum_money(amounts: Any) -> Decimal | None:  # noqa: ANN401 - any iterable of amounts
    known = [amount if isinstance(amount, Decimal) or amount is None else dollars(amount) for amount in amounts]
    return None if any(amount is None for amount in known) else sum((a for a in known if a is not None), Decimal(0))


def _minus(whole: int | None, parts: int | None) -> int | None:
    return None if whole is None or parts is None else whole - parts


def _minus_money(whole: Decimal | None, parts: Decimal | None) -> float | None:
    return None if whole is None or parts is None else money(whole - parts)
