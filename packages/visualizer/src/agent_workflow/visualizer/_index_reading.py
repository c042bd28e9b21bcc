"""Several questions to the evidence index over one connection, with its freshness measured once in a while."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from agent_workflow.index_store import KINDS, MAXIMUM_LIMIT, Freshness, IndexStoreError, MissingDatabase
from agent_workflow.index_store.database import IndexLocation, locate_index, open_for_reading
from agent_workflow.index_store.freshness import measure
from agent_workflow.index_store.queries import parse_moment, statement
from agent_workflow.index_store.state_root import StateRoot, open_state_root
from agent_workflow.visualizer._errors import MalformedRequest
from agent_workflow.visualizer._memory import Memory

Row = dict[str, Any]
Filters = Mapping[str, str | None]

_SOURCES: Final = """
SELECT relative_path, file_kind, size_bytes, sha256, record_count, schema_ids_json, indexed_at
FROM source_files WHERE session_id = :session ORDER BY relative_path LIMIT 5000
"""
_RETRIES: Final = "SELECT session_id FROM runs WHERE retry_of_run_id = :session ORDER BY session_id LIMIT 1000"
_EDGES: Final = """
SELECT source_node_id AS source, target_node_id AS target
FROM workflow_edges WHERE workflow_id = :workflow ORDER BY 1, 2 LIMIT 10000
"""
_TIMES_THE_COST: Final = 20.0
_LEAST_SECONDS: Final = 2.0


class IndexReading:
    """The index, open; its rows as dictionaries."""

    def __init__(self, root: StateRoot, location: IndexLocation, connection: Any) -> None:  # noqa: ANN401 - apsw's
        self.root = root
        self.database = str(location.database)
        self.connection = connection

    def rows(
        self,
        kind: str,
        filters: Filters | None = None,
        limit: int = MAXIMUM_LIMIT,
        keep: Callable[[Row], bool] | None = None,
    ) -> list[Row]:
        """Answer one of the index's curated questions, newest first.

        Args:
            kind: of the question.
            filters: of the kind.
            limit: rows to look at.
            keep: which of them to return, all when omitted.

        Raises:
            MalformedRequest: a filter is none of the kind's, or no time.
        """
        filters = filters or {}
        wrong = [name for name, value in filters.items() if value is not None and name not in KINDS[kind]]
        if wrong:
            raise MalformedRequest(f"{kind} cannot be filtered by {wrong[0]}; it takes {', '.join(KINDS[kind])}")
        bound: dict[str, object] = {name: filters.get(name) for name in KINDS[kind]}
        for name in ("since", "until"):
            if bound.get(name) is not None:
                bound[name] = parse_moment(str(bound[name]), name)
        return self._select(statement(kind), bound | {"limit": max(1, min(limit, MAXIMUM_LIMIT))}, keep)

    def sources(self, session: str) -> list[Row]:
        """Return the files that a run was indexed from."""
        return self._select(_SOURCES, {"session": session})

    def retried_by(self, session: str) -> list[str]:
        """Return the runs that tried a run again."""
        return [str(row["session_id"]) for row in self._select(_RETRIES, {"session": session})]

    def edges(self, workflow: str) -> list[Row]:
        """Return which node of a workflow waits for which."""
        return self._select(_EDGES, {"workflow": workflow})

    def freshness(self) -> Freshness:
        """Compare the index with its sources now."""
        return measure(self.root, self.connection)

    def _select(self, sql: str, bound: Mapping[str, object], keep: Callable[[Row], bool] | None = None) -> list[Row]:
        cursor = self.connection.cursor()
        rows: list[Row] = []
        for row in cursor.execute(sql, bound):
            found = {column[0]: value for column, value in zip(cursor.get_description(), row, strict=True)}
            if keep is None or keep(found):
                rows.append(found)
        return rows


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
        with open_state_root(self.state_root) as root:
            if root is None:
                raise self._missing()
            with locate_index(root, create=False) as location:
                if location is None:
                    raise self._missing()
                connection = open_for_reading(location)
                try:
                    yield IndexReading(root, location, connection)
                except Exception as error:
                    if type(error).__module__.partition(".")[0] != "apsw":
                        raise
                    raise IndexStoreError(f"the index cannot be read: {error}", path=str(location.database)) from error
                finally:
                    connection.close()

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

    def _missing(self) -> MissingDatabase:
        return MissingDatabase(
            f"there is no index in {self.state_root} yet", path=str(self.state_root), hint="agent-workflow index sync"
        )
