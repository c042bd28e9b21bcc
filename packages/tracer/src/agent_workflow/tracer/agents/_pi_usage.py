"""How pi tells the spend of a model call, in its stream and in its session files alike."""

from decimal import Decimal
from typing import Final

from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._usage import Costs, Usage, dollars
from agent_workflow.tracer.agents._json_stream import count, mapping

PARTS: Final = ("input", "output", "cacheRead", "cacheWrite")


def pi_usage(told: object, *, knows_prices: bool = False) -> Usage:
    """Read a usage.

    Args:
        told: as pi tells it; what is no object is a call whose spend nobody told.
        knows_prices: the model's prices are stated, so that a cost of zero means free and not unknown.
    """
    if not isinstance(told, dict):
        return Usage(costs=None, total_cost=None)
    parts = [count(told.get(key)) for key in PARTS]
    reported = as_int(told.get("totalTokens"))
    total = sum(parts) if reported is None or reported < 0 else reported
    costs, cost = _costs(told.get("cost"), total, knows_prices=knows_prices)
    return Usage(parts[0], parts[1], parts[2], parts[3], as_int(told.get("reasoning")), total, costs, cost)


def _costs(told: object, tokens: int, *, knows_prices: bool) -> tuple[Costs | None, Decimal | None]:
    if tokens == 0:
        return Usage().costs, Decimal(0)
    parts = [part for key in PARTS if (part := dollars(mapping(told).get(key))) is not None]
    known: Costs | None = (parts[0], parts[1], parts[2], parts[3]) if len(parts) == len(PARTS) else None
    total = dollars(mapping(told).get("total"))
    if total is None and known is not None:
        total = sum(known, Decimal(0))
    if not total and not knows_prices:
        return None, None  # a model without rates costs zero in pi's eyes; nobody knows its price
    return known, total
