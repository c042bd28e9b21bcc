"""Several questions to the evidence index over one connection, with its freshness measured once in a while."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent_workflow.index_store import (
    MAXIMUM_LIMIT,
    Freshness,
    IndexReader,
    InvalidQuestion,
    Selection,
    open_index,
)
from agent_workflow.index_store import Filters as IndexFilters
from agent_workflow.visualizer._errors import MalformedRequest
from agent_workflow.visualizer._memory import Memory

Row = dict[str, Any]
Filters = Mapping[str, str | None]

_TIMES_THE_COST: Final = 20.0
_LEAST_SECONDS: Final = 2.0


class IndexReading:
    """The index, open; its rows as dictionaries."""

    def __init__(self, reader: IndexReader) -> None:
        self._reader = reader
        self.database = reader.database

    def rows(self, kind: str, filters: Filters | None = None, limit: int = MAXIMUM_LIMIT) -> list[Row]:
        """Answer one of the index's curated questions, newest first.

        Args:
            kind: of the question.
            filters: of the kind.
            limit: at most so many rows, and never more than the index answers with.

        Raises:
            MalformedRequest: a filter is none of the kind's, or no time.
        """
        try:
            found = self._reader.select(kind, IndexFilters(**(filters or {})), max(1, min(limit, MAXIMUM_LIMIT)))
        except InvalidQuestion as error:
            raise MalformedRequest(f"{error}; {error.hint}") from error
        return _rows(found)

    def sources(self, session: str) -> list[Row]:
        """Return the files that a run was indexed from."""
        return _rows(self._reader.sources(session))

    def retried_by(self, session: str) -> list[str]:
        """Return the runs that tried a run again."""
        return [str(row["session_id"]) for row in self._reader.retries(session).rows]

    def runs_of_session(self, adw_id: str) -> list[Row]:
        """Return the runs that a traced session was published as, newest first."""
        return _rows(self._reader.runs_of_session(adw_id))

    def open_incidents(self, limit: int) -> list[Row]:
        """Return the latest record of every incident that is open."""
        return _rows(self._reader.open_incidents(limit))

    def pending_permissions(self, limit: int) -> list[Row]:
        """Return the latest record of what waits for a permission."""
        return _rows(self._reader.pending_permissions(limit))

    def spend(self, since: str | None) -> list[Row]:
        """Return what all runs cost, by day, executor, model and currency."""
        return _rows(self._reader.spend(since))

    def outcomes_by_day(self, since: str | None) -> list[Row]:
        """Count all runs by day and status."""
        return _rows(self._reader.outcomes_by_day(since))

    def outcomes_by_agent(self, since: str | None) -> list[Row]:
        """Count how all runs ended by executor and model."""
        return _rows(self._reader.outcomes_by_agent(since))

    def edges(self, workflow: str) -> list[Row]:
        """Return which node of a workflow waits for which."""
        return _rows(self._reader.edges(workflow))

    def freshness(self) -> Freshness:
        """Compare the index with its sources now."""
        return self._reader.freshness()


def _rows(found: Selection) -> list[Row]:
    return [dict(row) for row in found.rows]


class Index:
    """The evidence index of one state root.

    Attributes:
        state_root: the root.
    """

    def __init__(self, state_root: Path) -> None:
        self.state_root = state_root
        self.memory = Memory(16)
        self._measured: tuple[float, Freshness] | None = None

    @contextmanager
    def open(self) -> Iterator[IndexReading]:
        """Open the index read-only.

        Raises:
            MissingDatabase: there is none yet.
            IndexStoreError: it cannot be read.
        """
        with open_index(self.state_root) as reader:
            yield IndexReading(reader)

    def freshness(self, reading: IndexReading) -> dict[str, Any]:
        """Say how fresh the index is; measured again only after many times what measuring took."""
        now = time.monotonic()
        if self._measured is None or now >= self._measured[0]:
            found = reading.freshness()
            took = time.monotonic() - now
            self._measured = (time.monotonic() + max(_LEAST_SECONDS, _TIMES_THE_COST * took), found)
        found = self._measured[1]
        return {
            "word": found.word,
            "source_runs": found.source_runs,
            "current_runs": found.current_runs,
            "stale_runs": found.stale_runs,
            "error_runs": found.error_runs,
            "historical_runs": found.historical_runs,
        }
