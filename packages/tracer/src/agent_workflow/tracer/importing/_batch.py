"""Items on their way into the ledger."""

from dataclasses import replace
from typing import Final

from agent_workflow.tracer.importing._items import Item, ModelCall
from agent_workflow.tracer.importing._ledger import Ledger

_BATCH: Final = 2_000


class Batch:
    """Some items of one source; what comes again in the meantime is put together."""

    def __init__(self, ledger: Ledger, source: int) -> None:
        self._ledger = ledger
        self._source = source
        self._items: dict[tuple[type[Item], str], tuple[int, Item]] = {}

    def add(self, item: Item, number: int) -> None:
        """Take an item with its place in the source; now and then all go into the ledger."""
        key = (type(item), item.key)
        known = self._items.get(key)
        if known is not None:
            number, item = known[0], _merged(known[1], item)
        self._items[key] = (number if isinstance(item, ModelCall) else 0, item)
        if len(self._items) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Put into the ledger what is here."""
        self._ledger.add(self._source, self._items.values())
        self._items.clear()


def _merged(first: Item, second: Item) -> Item:
    is_copy = first.is_copy or second.is_copy
    if not isinstance(first, ModelCall) or not isinstance(second, ModelCall):
        return replace(second, is_copy=is_copy)
    one, other = first.raw, second.raw
    return replace(
        second,
        turn=first.turn,
        at=first.at,
        is_copy=is_copy,
        lines=first.lines + second.lines,
        raw=(one[0] + other[0], one[1] + other[1], one[2] + other[2], one[3] + other[3]),
    )
