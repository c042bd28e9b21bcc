"""Which turns are told in a session of the ledger, with what each has spent."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.importing._items import CostBasis, Happening
from agent_workflow.tracer.importing._owned_items import OwnedItems
from agent_workflow.tracer.importing._turn_spend import TurnSpend, are_of_one_kind
from agent_workflow.tracer.pricing import Prices


@dataclass(slots=True)
class ToldTurn:
    """A turn that is told in this session."""

    data: dict[str, Any]
    spend: TurnSpend
    start_id: str = ""
    notes: list[dict[str, Any]] = field(default_factory=list)

    def noted(self, happening: Happening) -> list[dict[str, Any]]:
        """Return what was noted of one kind, by time."""
        return [note for note in self.notes if note["happening"] == happening]


@dataclass(slots=True)
class Totals:
    """What the session came to."""

    usage: Usage = field(default_factory=Usage)
    estimated: Decimal | None = None
    has_unpriced: bool = False
    bases: set[CostBasis] = field(default_factory=set)

    @property
    def is_estimated(self) -> bool:
        """Whether everything without reported money has a price, all of one kind."""
        return not self.has_unpriced and are_of_one_kind(self.bases)


def read_turns(items: OwnedItems, prices: Prices | None) -> dict[tuple[str, str], ToldTurn]:
    """Find the turns that are told in a session, by lane and key, in order.

    A turn is told where it, or a model call in it, counts for this session and something was answered. What stands in
    the files beyond that is left to the first turn as raw usage.

    Args:
        items: of the session.
        prices: for what has no money.
    """
    spends: dict[tuple[str, str], TurnSpend] = {}
    for call, turn, at, raw, is_owned in items.model_calls():
        spend = spends.setdefault((call["lane"], turn), TurnSpend())
        spend.count_raw(call["model"], at, raw if raw[0] else (1, *call["tokens"]))
        if is_owned:
            spend.count(call, at, prices)
    told: dict[tuple[str, str], ToldTurn] = {}
    untold: list[ToldTurn] = []
    for data, is_owned in items.turns():
        key = (data["lane"], data["key"])
        known = told.get(key)
        if known is not None:  # another file of this session has it as well; the one that is owned is the fullest
            known.data = data if is_owned else known.data
            continue
        told_turn = ToldTurn(data, spends.pop(key, TurnSpend()))
        is_empty = data["verdict"] == "incomplete" and told_turn.spend.calls == 0
        if told_turn.spend.calls or (is_owned and not is_empty):
            told[key] = told_turn
        else:
            untold.append(told_turn)
    if not told and untold:
        # The newest prompt stands for a session in which nothing was answered.
        last = untold.pop()
        told[(last.data["lane"], last.data["key"])] = last
    home = next(iter(told.values()), None)
    for other in [turn.spend for turn in untold] + list(spends.values()):
        if home is not None:
            home.spend.take_raw(other)
    _add_notes(told, items.notes())
    return told


def _add_notes(told: Mapping[tuple[str, str], ToldTurn], notes: Iterable[dict[str, Any]]) -> None:
    for note in notes:
        turn = told.get((note["lane"], note["turn"]))
        if turn is None:
            continue  # of a turn that another session tells
        turn.notes.append(note)
        if note["happening"] == "compacted":
            turn.spend.compacted(note["at"])


def sum_up(turns: Iterable[ToldTurn]) -> Totals:
    """Sum up all lanes; each model call is in one."""
    totals = Totals()
    for turn in turns:
        totals.usage += turn.spend.everything
        totals.bases |= turn.spend.bases
        totals.has_unpriced = totals.has_unpriced or turn.spend.has_unpriced
        if turn.spend.estimated is not None:
            totals.estimated = (totals.estimated or Decimal(0)) + turn.spend.estimated
    return totals
