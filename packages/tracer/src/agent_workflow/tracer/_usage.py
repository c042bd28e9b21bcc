"""Tokens and money of agent calls: four components that sum to the total, and what is not known stays unknown."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

COMPONENTS: Final = ("input", "output", "cache_read", "cache_write")
_PICO: Final = Decimal("1e-12")  # prices are per million tokens; finer digits are noise of binary fractions

Costs = tuple[Decimal, Decimal, Decimal, Decimal]
"""Dollars of input, output, cache read and cache write."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Spend of one or more model calls.

    Attributes:
        input, output, cache_read, cache_write: tokens; input excludes the cache.
        reasoning: tokens of thinking, inside output; ``None`` when nobody told.
        total: tokens as reported; the four components sum to it, unless ``unattributed`` says otherwise.
        costs: dollars of each component in the same order, ``None`` when a price is not known.
        total_cost: dollars as reported, ``None`` when a price is not known.
    """

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int | None = None
    total: int = 0
    costs: Costs | None = (Decimal(0), Decimal(0), Decimal(0), Decimal(0))
    total_cost: Decimal | None = Decimal(0)

    def __add__(self, other: "Usage") -> "Usage":
        """Sum two spends; what one of them does not know is unknown in the sum."""
        return Usage(
            input=self.input + other.input,
            output=self.output + other.output,
            cache_read=self.cache_read + other.cache_read,
            cache_write=self.cache_write + other.cache_write,
            reasoning=_either(self.reasoning, other.reasoning),
            total=self.total + other.total,
            costs=_sum_costs(self.costs, other.costs),
            total_cost=None
            if self.total_cost is None or other.total_cost is None
            else self.total_cost + other.total_cost,
        )

    @property
    def unattributed(self) -> int:
        """Tokens of the total that no component accounts for."""
        return self.total - self.input - self.output - self.cache_read - self.cache_write

    def payload(self) -> dict[str, Any]:
        """Write it as the ``usage`` of an ``agent_end``."""
        costs = self.costs or (None, None, None, None)
        written: dict[str, Any] = {f"{name}_tokens": getattr(self, name) for name in COMPONENTS}
        written["reasoning_tokens"] = self.reasoning
        written["total_tokens"] = self.total
        written.update({f"{name}_cost": money(cost) for name, cost in zip(COMPONENTS, costs, strict=True)})
        written["total_cost"] = money(self.total_cost)
        if self.unattributed:
            written["unattributed_tokens"] = self.unattributed
        if self.costs is not None and self.total_cost is not None and sum(self.costs) != self.total_cost:
            written["unattributed_cost"] = money(self.total_cost - sum(self.costs, Decimal(0)))
        return written


def money(amount: Decimal | None) -> float | None:
    """Write dollars as a JSON number."""
    return None if amount is None else float(amount)


def dollars(value: object) -> Decimal | None:
    """Read dollars from a JSON number, to a trillionth; ``None`` for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return None
    return Decimal(repr(value)).quantize(_PICO)


def spend_of(payload: Mapping[str, Any]) -> tuple[int, Decimal | None]:
    """Read tokens and dollars from the payload of an ``agent_end`` of any writer."""
    usage = payload.get("usage")
    tokens = payload.get("tokens")
    if tokens is None and isinstance(usage, dict):
        tokens = usage.get("total_tokens")
    return (tokens if isinstance(tokens, int) and not isinstance(tokens, bool) else 0), dollars(payload.get("cost"))


def _either(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)


def _sum_costs(left: Costs | None, right: Costs | None) -> Costs | None:
    if left is None or right is None:
        return None
    return (left[0] + right[0], left[1] + right[1], left[2] + right[2], left[3] + right[3])
