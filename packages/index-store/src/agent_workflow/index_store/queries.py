"""The curated questions: a closed list of kinds, each one fixed statement with its filters as parameters.

The statements are the files in ``sql/``. A filter that is not given is NULL and lets every row pass.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import apsw

from agent_workflow.index_store.database import open_for_reading
from agent_workflow.index_store.errors import InvalidQuestion, MissingDatabase
from agent_workflow.index_store.freshness import measure
from agent_workflow.index_store.index_files import IndexLocation, explain, locate_index
from agent_workflow.index_store.moments import parse_moment, to_milliseconds
from agent_workflow.index_store.reports import Freshness, QueryReport
from agent_workflow.index_store.state_root import StateRoot, open_state_root
from agent_workflow.index_store.values import Value

KINDS: Mapping[str, tuple[str, ...]] = {
    "runs": ("session", "state", "category", "executor", "model", "pack", "since", "until"),
    "incidents": ("session", "state", "category", "executor", "model", "pack", "since", "until"),
    "permissions": ("session", "state", "executor", "model", "pack", "since", "until"),
    "performance": ("executor", "model"),
    "workflows": ("session", "state", "pack"),
    "workflow-nodes": ("session", "state", "executor", "model", "pack"),
    "errors": ("session", "category", "since", "until"),
    "repairs": ("session", "since", "until"),
    "events": ("session", "state", "category", "since", "until"),
    "health": ("session", "state", "since", "until"),
    "remediations": ("session", "category", "executor", "model", "pack", "since", "until"),
    "attempts": ("state", "category"),
    "metrics": ("session", "executor", "model", "pack", "since", "until"),
    "processes": ("session", "category", "executor", "model", "pack", "since", "until"),
    "notices": ("session", "category", "since", "until"),
}
"""Every kind of question with the filters it takes, beside ``limit``."""

FILTERS = ("session", "state", "category", "executor", "model", "pack", "since", "until")
DEFAULT_LIMIT = 100
MAXIMUM_LIMIT = 10_000


@dataclass(frozen=True)
class Filters:
    """What a question is narrowed to; None lets everything pass.

    Attributes:
        session: a session id.
        state: what each kind calls its state, for example the durable status of runs.
        category: what each kind calls its category, for example the failure category of runs.
        executor: name of the agent program.
        model: name of the model.
        pack: id of the prompt pack.
        since: ISO 8601 date or time (UTC where it names no offset), or an age such as ``90m``, ``24h``, ``7d``.
        until: likewise; rows of that very moment are still in.
    """

    session: str | None = None
    state: str | None = None
    category: str | None = None
    executor: str | None = None
    model: str | None = None
    pack: str | None = None
    since: str | None = None
    until: str | None = None


def query(state_root: Path, kind: str, filters: Filters | None = None, *, limit: int = DEFAULT_LIMIT) -> QueryReport:
    """Answer one curated question, newest first.

    Args:
        state_root: the root.
        kind: one of :data:`KINDS`.
        filters: only those that the kind takes.
        limit: most rows to return, 1 to 10,000.

    Returns:
        The rows, with the freshness of the projection at this moment.

    Raises:
        InvalidQuestion: the kind, a filter or the limit is not one of the closed list.
        MissingDatabase: there is no index yet.
        IndexStoreError: the database or the state root is at fault.
    """
    checked_parameters(kind, filters or Filters(), limit)  # refused whether or not there is an index
    with open_index(state_root) as index:
        found = index.select(kind, filters, limit)
        return QueryReport(index.database, kind, index.freshness(), found.columns, found.rows)


class Selection(NamedTuple):
    """Columns, named even where no row is found, and rows by column."""

    columns: tuple[str, ...]
    rows: tuple[dict[str, Value], ...]


class IndexReader:
    """The index, open for several questions about one and the same content; not for several threads."""

    def __init__(self, root: StateRoot, location: IndexLocation, connection: apsw.Connection) -> None:
        """Use :func:`open_index`."""
        self._root = root
        self._connection = connection
        self.database = str(location.database)
        """Path of the database."""

    def select(self, kind: str, filters: Filters | None = None, limit: int = DEFAULT_LIMIT) -> Selection:
        """Answer one curated question as :func:`query` does.

        Raises:
            InvalidQuestion: the kind, a filter or the limit is not one of the closed list.
        """
        parameters = checked_parameters(kind, filters or Filters(), limit)
        for name in ("since", "until"):
            if isinstance(moment := parameters.get(name), float):
                parameters[name] = to_milliseconds(moment)
        return self._select(statement(kind), parameters)

    def sources(self, session_id: str) -> Selection:
        """Return the files that a run was indexed from, with their digests."""
        return self._select(_SOURCES, {"session": session_id})

    def retries(self, session_id: str) -> Selection:
        """Return the runs that tried a run again."""
        return self._select(_RETRIES, {"session": session_id})

    def edges(self, workflow_id: str) -> Selection:
        """Return which node of a workflow waits for which."""
        return self._select(_EDGES, {"workflow": workflow_id})

    def spend(self, since: str | None = None) -> Selection:
        """Sum up what all runs cost, by day (UTC), executor, model and currency, newest day first.

        Args:
            since: as in :class:`Filters`.

        Raises:
            InvalidQuestion: it is no time.
        """
        return self._select(statement("spend"), {"since": _moment(since)})

    def outcomes_by_day(self, since: str | None = None) -> Selection:
        """Count all runs by day (UTC) and status, newest day first; one without a time is on no day."""
        return self._select(statement("outcomes-by-day"), {"since": _moment(since)})

    def outcomes_by_agent(self, since: str | None = None) -> Selection:
        """Count how all runs of each executor and model ended, and how long they took in seconds."""
        return self._select(statement("outcomes-by-agent"), {"since": _moment(since)})

    def open_incidents(self, limit: int = DEFAULT_LIMIT) -> Selection:
        """Return the latest record of every incident that is open, newest first, in the columns of ``incidents``."""
        return self._select(statement("open-incidents"), {"limit": limit})

    def pending_permissions(self, limit: int = DEFAULT_LIMIT) -> Selection:
        """Return the latest record of what waits for a permission, newest first, in the columns of ``permissions``."""
        return self._select(statement("pending-permissions"), {"limit": limit})

    def runs_of_session(self, adw_id: str) -> Selection:
        """Return the runs that a traced session was published as, in any repository, newest first."""
        return self._select(_RUNS_OF_SESSION, {"adw_id": adw_id})

    def trace_databases(self, limit: int = DEFAULT_LIMIT) -> tuple[str, ...]:
        """Return the trace databases that runs name, the one of the newest run first; they may be gone."""
        found = self._select(_TRACE_DATABASES, {"limit": limit})
        return tuple(str(row["trace_database"]) for row in found.rows)

    def freshness(self) -> Freshness:
        """Compare the index with its sources now."""
        return measure(self._root, self._connection)

    def _select(self, sql: str, parameters: Mapping[str, Value]) -> Selection:
        columns: list[str] = []

        def before_first_row(cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
            columns.extend(str(column[0]) for column in cursor.get_description())
            return True

        cursor = self._connection.cursor()
        cursor.exec_trace = before_first_row
        found = cursor.execute(sql, parameters).fetchall()
        return Selection(tuple(columns), tuple(dict(zip(columns, row, strict=True)) for row in found))


_SOURCES = """
SELECT relative_path, file_kind, size_bytes, sha256, record_count, schema_ids_json, indexed_at
FROM source_files WHERE session_id = :session ORDER BY relative_path LIMIT 5000
"""
_RETRIES = "SELECT session_id FROM runs WHERE retry_of_run_id = :session ORDER BY session_id LIMIT 1000"
_EDGES = """
SELECT source_node_id AS source, target_node_id AS target
FROM workflow_edges WHERE workflow_id = :workflow ORDER BY 1, 2 LIMIT 10000
"""
_RUNS_OF_SESSION = """
SELECT session_id, trace_database FROM run_traces JOIN runs USING (session_id)
WHERE adw_id = :adw_id ORDER BY unixepoch(created_at, 'subsec') DESC, session_id DESC LIMIT 1000
"""
_TRACE_DATABASES = """
SELECT trace_database FROM run_traces JOIN runs USING (session_id)
GROUP BY trace_database ORDER BY max(unixepoch(created_at, 'subsec')) DESC, trace_database LIMIT :limit
"""


@contextmanager
def open_index(state_root: Path) -> Iterator[IndexReader]:
    """Open the index read-only, in one transaction.

    Raises:
        MissingDatabase: there is no index yet.
        IndexStoreError: the database or the state root is at fault.
    """
    with open_state_root(state_root) as root:
        if root is None:
            raise _no_state_root(state_root)
        with locate_index(root, create=False) as location:
            if location is None:
                raise _no_state_root(state_root)
            connection = open_for_reading(location)
            try:
                connection.execute("BEGIN")
                yield IndexReader(root, location, connection)
            except apsw.Error as error:
                raise explain(location, error) from error
            finally:
                connection.close()


def statement(kind: str) -> str:
    """Return the SQL of a kind."""
    return (files(__package__) / "sql" / f"{kind}.sql").read_text(encoding="utf-8")


def _no_state_root(state_root: Path) -> MissingDatabase:
    return MissingDatabase(
        f"there is no index in {state_root} yet", path=str(state_root), hint="agent-workflow index sync"
    )


def checked_parameters(kind: str, filters: Filters, limit: int) -> dict[str, Value]:
    """Return the parameters of a question: every filter of the kind, None where it is not given; times in seconds.

    Raises:
        InvalidQuestion: the kind, a filter or the limit is not one of the closed list.
    """
    if kind not in KINDS:
        raise InvalidQuestion(f"there is no kind {kind!r}", hint=f"one of: {', '.join(KINDS)}")
    given = {name: value for name in FILTERS if (value := getattr(filters, name)) is not None}
    for name in given:
        if name not in KINDS[kind]:
            raise InvalidQuestion(
                f"{kind} cannot be filtered by {name}", hint=f"its filters are: {', '.join(KINDS[kind])}, limit"
            )
        if not _is_text(given[name]):
            raise InvalidQuestion(f"--{name} {given[name]!r} is not UTF-8", hint="no row has such a value")
    if not 1 <= limit <= MAXIMUM_LIMIT:
        raise InvalidQuestion(f"limit {limit} is not between 1 and {MAXIMUM_LIMIT}", hint=f"--limit {MAXIMUM_LIMIT}")
    parameters: dict[str, Value] = {name: given.get(name) for name in KINDS[kind]}
    for name in ("since", "until"):
        if name in given:
            parameters[name] = parse_moment(given[name], name)
    return parameters | {"limit": limit}


def _moment(since: str | None) -> float | None:
    return None if since is None else to_milliseconds(parse_moment(since, "since"))


def _is_text(value: str) -> bool:
    """Tell whether SQLite can take a value; bytes of a terminal that are no UTF-8 arrive as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in value)
