"""What the files of one session hold, and which of it counts for this session and not for another."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from agent_workflow.tracer.importing._item_rows import MODEL_CALL, NOTE, TOOL_CALL, TURN

# One thing may stand in several files: it is told once, for the session that had it first. What says itself that it was
# copied comes last; within a session a sub-agent's own file comes first, then what knows more.
_OWNED: Final = """
NOT EXISTS (
    SELECT 1 FROM items AS other JOIN sources AS its ON its.source = other.source
    JOIN sessions AS theirs ON theirs.adw_id = its.adw_id
    WHERE other.kind = item.kind AND other.key = item.key AND other.source IS NOT item.source
    AND (other.is_copy, theirs.started_at, theirs.ended_at, theirs.adw_id, its.is_main, -other.weight, its.path)
      < (item.is_copy, session.started_at, session.ended_at, session.adw_id, source.is_main, -item.weight, source.path))
"""
# CROSS JOIN keeps the order: SQLite would rather go through all items of a kind, for every session again.
_FROM: Final = """
FROM sources AS source CROSS JOIN sessions AS session ON session.adw_id = source.adw_id
CROSS JOIN items AS item INDEXED BY items_by_source ON item.source = source.source
WHERE source.adw_id = ? AND item.kind = ?
"""
_ORDER: Final = "ORDER BY item.at, source.is_main DESC, source.path, item.position, item.key"


class OwnedItems:
    """Reads the ledger for one session."""

    def __init__(self, connection: sqlite3.Connection, adw_id: str) -> None:
        self._connection = connection
        self._adw_id = adw_id

    def turns(self) -> Iterator[tuple[dict[str, Any], bool]]:
        """Yield all turns in order, and whether the session is the one that they count for."""
        statement = f"SELECT item.data, {_OWNED} {_FROM} {_ORDER}"
        for data, is_owned in self._connection.execute(statement, (self._adw_id, TURN)):
            yield json.loads(data), bool(is_owned)

    def model_calls(self) -> Iterator[tuple[dict[str, Any], str, str, tuple[int, ...], bool]]:
        """Yield all model calls: what is known, turn, time, raw lines and tokens, whether they count."""
        raw = "item.raw_lines, item.raw_input, item.raw_output, item.raw_cache_read, item.raw_cache_write"
        statement = f"SELECT item.data, item.turn, item.at, {raw}, {_OWNED} {_FROM} {_ORDER}"
        for row in self._connection.execute(statement, (self._adw_id, MODEL_CALL)):
            yield json.loads(row[0]), row[1], row[2], tuple(row[3:8]), bool(row[8])

    def call_key(self, call_id: str) -> tuple[str, str] | None:
        """Return lane and key of a tool call."""
        if not call_id:
            return None
        row = self._connection.execute(
            "SELECT item.lane, item.key FROM items AS item JOIN sources AS source ON source.source = item.source"
            " WHERE item.kind = ? AND item.key >= ? AND item.key < ? AND source.adw_id = ? ORDER BY item.key LIMIT 1",
            (TOOL_CALL, f"{call_id}@", f"{call_id}A", self._adw_id),
        ).fetchone()
        return None if row is None else (row[0], row[1])

    def tool_calls(self) -> Iterator[dict[str, Any]]:
        """Yield the tool calls that count, by the time of their end."""
        return self._owned(TOOL_CALL)

    def notes(self) -> Iterator[dict[str, Any]]:
        """Yield what else happened, by time."""
        return self._owned(NOTE)

    def _owned(self, kind: int) -> Iterator[dict[str, Any]]:
        statement = f"SELECT item.data {_FROM} AND {_OWNED} {_ORDER}"
        for (data,) in self._connection.execute(statement, (self._adw_id, kind)):
            yield json.loads(data)
