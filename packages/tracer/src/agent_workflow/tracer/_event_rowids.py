"""Which rows hold the events of each session, without reading one payload.

Databases of other writers have no index on ``events``: there one scan is made, and after that only what is new is read.
"""

from array import array
from collections.abc import Sequence
from typing import Final

from agent_workflow.tracer._event_queries import event_at
from agent_workflow.tracer._source import TraceSource

_EMPTY: Final = array("q")
_CHUNK: Final = 20_000


class EventRowids:
    """Rowids by session, ascending; for one database in one generation."""

    def __init__(self) -> None:
        self._by_session: dict[str, array[int]] = {}
        self._read_to = 0
        self._anchor: str | None = None

    def of(self, source: TraceSource, adw_id: str) -> Sequence[int]:
        """Return the rowids of a session's events."""
        if not source.columns("events"):
            return _EMPTY
        if source.has_index("events", "adw_id"):
            return [
                row[0] for row in source.tuples("SELECT rowid FROM events WHERE adw_id = ? ORDER BY rowid", (adw_id,))
            ]
        self._read_on(source)
        return self._by_session.get(adw_id, _EMPTY)

    def last(self, source: TraceSource, adw_id: str) -> int:
        """Return the rowid of a session's newest event, 0 when it has none."""
        if source.columns("events") and source.has_index("events", "adw_id"):
            return int(source.value("SELECT max(rowid) FROM events WHERE adw_id = ?", (adw_id,)) or 0)
        rowids = self.of(source, adw_id)
        return rowids[-1] if rowids else 0

    def _read_on(self, source: TraceSource) -> None:
        newest = int(source.value("SELECT max(rowid) FROM events") or 0)
        if event_at(source, self._read_to) != self._anchor:  # rows were renumbered
            self._by_session.clear()
            self._read_to = 0
        if newest == self._read_to:
            return
        statement = "SELECT rowid, adw_id FROM events WHERE rowid > ? AND rowid <= ? ORDER BY rowid LIMIT ?"
        read_to = self._read_to
        while read_to < newest:
            part = source.tuples(statement, (read_to, newest, _CHUNK))
            for rowid, adw_id in part:
                known = self._by_session.get(adw_id)
                if known is None:
                    known = self._by_session[str(adw_id)] = array("q")
                known.append(rowid)
            read_to = part[-1][0] if part else newest
        self._read_to, self._anchor = newest, event_at(source, newest)
