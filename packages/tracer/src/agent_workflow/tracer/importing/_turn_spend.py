"""What one turn spent: tokens by component, money by its basis, and what somebody would count who counts every line."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from agent_workflow.tracer._usage import COMPONENTS, Usage, money
from agent_workflow.tracer.importing._item_rows import usage_of
from agent_workflow.tracer.importing._items import CostBasis
from agent_workflow.tracer.pricing import Prices

_MINUTES: Final = 15
"""Every time zone is a multiple of this away from UTC, so that days of any of them can be told from the sums."""


@dataclass(slots=True)
class SpendGroup:
    """Model calls of one quarter of an hour, model and basis.

    Attributes:
        amount: dollars by the basis, ``None`` when unknown.
    """

    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    amount: Decimal | None = None


@dataclass(slots=True)
class RawGroup:
    """Usage lines of one quarter of an hour and model, repetitions and copies included."""

    lines: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0, 0, 0])


@dataclass(slots=True)
class TurnSpend:
    """Sums over the model calls of a turn.

    Attributes:
        calls, turns: of a model, and those of them that the conversation itself is made of.
        usage: of the conversation itself, as far as it counts here.
        compaction, tools: of shortening the conversation, and of tools that called a model; ``None`` without any.
        estimated: what those without reported money would have cost, ``None`` unless all of them have a price.
        bases: where the money of each comes from.
        context: tokens of the conversation's newest call, ``None`` when nobody knows.
        context_at: since when.
        model: of the newest call.
    """

    calls: int = 0
    turns: int = 0
    usage: Usage = field(default_factory=Usage)
    compaction: Usage | None = None
    tools: Usage | None = None
    estimated: Decimal | None = None
    has_unpriced: bool = False
    bases: set[CostBasis] = field(default_factory=set)
    context: int | None = None
    context_at: str = ""
    model: str = ""
    groups: dict[tuple[str, str, str, CostBasis], SpendGroup] = field(default_factory=dict)
    raw: dict[tuple[str, str], RawGroup] = field(default_factory=dict)

    def count(self, call: Mapping[str, Any], at: str, prices: Prices | None) -> None:
        """Add a model call that counts for this turn."""
        usage = usage_of(dict(call))
        basis, amount = _money_of(call, usage, at, prices)
        self.calls += 1
        self._add(call["purpose"], usage, at)
        self.model = call["model"] or self.model
        if usage.total:
            self.bases.add(basis)
        if basis in ("estimated", "subscription") and amount is not None:
            self.estimated = (self.estimated or Decimal(0)) + amount
        elif basis != "billed":
            self.has_unpriced = True
        key = (_quarter(at), call["model"], call["provider"], basis)
        group = self.groups.setdefault(key, SpendGroup(amount=None if amount is None else Decimal(0)))
        group.calls += 1
        group.usage += usage
        group.amount = None if group.amount is None or amount is None else group.amount + amount

    def _add(self, purpose: str, usage: Usage, at: str) -> None:
        if purpose == "compaction":
            self.compaction = (self.compaction or Usage()) + usage
        elif purpose == "tool":
            self.tools = (self.tools or Usage()) + usage
        else:
            self.turns += 1
            self.usage += usage
            if usage.total:
                self.context, self.context_at = usage.total, at

    @property
    def everything(self) -> Usage:
        """All that was spent."""
        return self.usage + (self.compaction or Usage()) + (self.tools or Usage())

    def compacted(self, at: str) -> None:
        """Nobody knows how full the window is since then, unless a call came later."""
        if at >= self.context_at:
            self.context, self.context_at = None, at

    def count_raw(self, model: str, at: str, raw: tuple[int, ...]) -> None:
        """Add the lines of a model call, whether it counts here or not."""
        group = self.raw.setdefault((_quarter(at), model), RawGroup())
        group.lines += raw[0]
        group.tokens = [one + other for one, other in zip(group.tokens, raw[1:], strict=True)]

    def take_raw(self, other: "TurnSpend") -> None:
        """Take over the lines of a turn that is not told here."""
        for (at, model), group in other.raw.items():
            self.count_raw(model, at, (group.lines, *group.tokens))

    def payload(self, catalogue: str) -> dict[str, Any]:
        """Write what an ``agent_end`` of an imported turn has beyond that of a recorded one."""
        return {
            "cost_basis": basis_of(self.bases),
            "estimated_cost": money(self.known_estimate),
            "price_catalogue": catalogue if self.estimated is not None else None,
            "spend": [
                {
                    "at": at,
                    "model": model,
                    "provider": provider,
                    "basis": basis,
                    "calls": group.calls,
                    **{f"{name}_tokens": getattr(group.usage, name) for name in COMPONENTS},
                    **({"unattributed_tokens": group.usage.unattributed} if group.usage.unattributed else {}),
                    "amount": money(group.amount),
                }
                for (at, model, provider, basis), group in sorted(self.groups.items())
            ],
            "raw": [
                {
                    "at": at,
                    "model": model,
                    "lines": group.lines,
                    **{f"{name}_tokens": count for name, count in zip(COMPONENTS, group.tokens, strict=True)},
                }
                for (at, model), group in sorted(self.raw.items())
            ],
        }

    @property
    def known_estimate(self) -> Decimal | None:
        """The estimate, ``None`` when the price of a part is not known or a subscription covers a part alone."""
        return None if self.has_unpriced or not are_of_one_kind(self.bases) else self.estimated


def are_of_one_kind(bases: set[CostBasis]) -> bool:
    """Tell whether estimated money may be summed up: what a subscription covers is not added to what is paid."""
    return not {"estimated", "subscription"} <= bases


def basis_of(bases: set[CostBasis]) -> CostBasis | None:
    """Return the one basis, ``None`` when there are several or nothing was spent."""
    return next(iter(bases)) if len(bases) == 1 else None


def _money_of(
    call: Mapping[str, Any], usage: Usage, at: str, prices: Prices | None
) -> tuple[CostBasis, Decimal | None]:
    if usage.total_cost is not None:
        return "billed", usage.total_cost
    basis: CostBasis = "subscription" if call["subscription"] else "estimated"
    told = (
        prices.estimate(call["provider"], call["model"], usage, at, long_cache_write=call["long"]) if prices else None
    )
    if told is None:
        return ("subscription" if call["subscription"] else "unknown"), None
    return basis, told.cost


def _quarter(at: str) -> str:
    if not at:
        return ""
    return f"{at[:14]}{int(at[14:16]) // _MINUTES * _MINUTES:02d}:00.000+00:00"
