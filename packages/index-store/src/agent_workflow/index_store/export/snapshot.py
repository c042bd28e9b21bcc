"""The index as an export reads it: one transaction, its columns, its rows table by table, and how fresh it is."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.resources import files
from itertools import islice
from pathlib import Path

import apsw

from agent_workflow.index_store import database
from agent_workflow.index_store.database import open_for_reading
from agent_workflow.index_store.errors import MissingDatabase
from agent_workflow.index_store.export.fields import INDEX_COLUMNS
from agent_workflow.index_store.freshness import measure
from agent_workflow.index_store.index_files import IndexLocation, explain, locate_index
from agent_workflow.index_store.reports import Freshness
from agent_workflow.index_store.state_root import StateRoot, open_state_root
from agent_workflow.index_store.values import Row, Value

_JOURNAL_ORDER = "session_id, relative_path, source_sequence"
_ORDERS: Mapping[str, str] = {
    "runs": "session_id",
    "incidents": _JOURNAL_ORDER,
    "permissions": _JOURNAL_ORDER,
    "workflows": "workflow_id",
    "workflow_nodes": "workflow_id, node_id",
    "errors": "session_id, source_path, category, detail, error_id",
    "repairs": "repair_id",
    "events": _JOURNAL_ORDER,
    "health": _JOURNAL_ORDER,
    "remediations": _JOURNAL_ORDER,
    "metrics": "session_id, stage",
    "processes": "session_id",
    "notices": "session_id, source_path, category, contract, detail, detected_at",
}
"""The order of a table's rows, which no two rows of it share, so that equal rows make equal files."""

_RUN_FACTS = """
SELECT
    session_id, storage_class, source_dir, executor, model, pack_id,
    session_id IN (SELECT session_id FROM superseded_runs), coalesce(started_at, created_at)
FROM runs
"""
_RUN_MARKS = """
SELECT
    session_id, source_fingerprint, indexed_at, index_state,
    session_id IN (SELECT session_id FROM superseded_runs)
FROM runs
"""
_RUN_COLUMNS = ("storage_class", "source_dir", "executor", "model", "pack_id", "superseded", "run_at")

PARTITION_TIME = "partition_time"
"""Of tables whose rows bring the time of their run along: what decides the day of a row without a time of its own."""

OF_ONE_RUN = frozenset({"incidents", "permissions", "events", "health", "remediations", "metrics", "processes"})
"""Tables whose rows each belong to one run, by ``session_id``, and have some columns from its row in ``runs``."""

_ROWS_AT_ONCE = 1000


class IndexSnapshot:
    """The index in one read transaction; not for several threads."""

    def __init__(self, root: StateRoot, location: IndexLocation, connection: apsw.Connection) -> None:
        """Use :func:`open_snapshot`."""
        self.root = root
        self.location = location
        self._connection = connection
        self._digests = digests = _run_digests(connection)
        connection.create_scalar_function("run_digest", lambda *run: digests.get(run[0]), 1, deterministic=True)
        connection.create_scalar_function("text_digest", _text_digest, -1, deterministic=True)

    def metadata(self) -> dict[str, str]:
        """Return what the index notes of itself: generation, schema version, last sync."""
        return database.metadata(self._connection)

    def freshness(self) -> Freshness:
        """Compare the index with its sources now."""
        return measure(self.root, self._connection)

    def columns(self) -> dict[str, tuple[str, ...]]:
        """Return the columns that the tables of the index have, for those tables that an export reads."""
        listed = self._connection.execute(
            "SELECT tables.name, columns.name FROM pragma_table_list AS tables "
            "JOIN pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' ORDER BY 1, columns.cid"
        )
        found: dict[str, tuple[str, ...]] = {}
        for table, column in listed:
            if table in INDEX_COLUMNS:
                found[str(table)] = (*found.get(str(table), ()), str(column))
        return found

    def rows(self, table: str, columns: Sequence[str], runs: Iterable[str] | None = None) -> Iterator[list[Row]]:
        """Return the rows of a table of the export, in their order, some thousand at once.

        Args:
            table: its name.
            columns: names from the closed list of fields, never anything else.
            runs: only the rows of these, in ``runs`` and the tables of :data:`OF_ONE_RUN`; None for all rows.
        """
        source = (files(__package__) / "sql" / f"{table}.sql").read_text(encoding="utf-8")
        some = "" if runs is None else "WHERE session_id IN (SELECT value FROM json_each(:runs))"
        cursor = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM ({source}) {some} ORDER BY {_ORDERS[table]}",  # noqa: S608 -- names of the list
            None if runs is None else {"runs": json.dumps(list(runs))},
        )
        while rows := list(islice(cursor, _ROWS_AT_ONCE)):
            yield rows

    @cached_property
    def run_facts(self) -> dict[str, dict[str, Value]]:
        """What the rows of :data:`OF_ONE_RUN` have from their runs, by session; ``run_at`` is when that ran."""
        cursor = self._connection.execute(_RUN_FACTS)
        return {str(session): dict(zip(_RUN_COLUMNS, columns, strict=True)) for session, *columns in cursor}

    @cached_property
    def run_marks(self) -> dict[str, str]:
        """A digest of each run that changes whenever its rows, here or in other tables, may have changed.

        A writer puts the rows of a run in place in one transaction, which gives the run a new ``indexed_at``; beside it
        stand the identities of the files, the digests of all that was read from them, and what other runs decide.
        """
        return {
            str(session): _text_digest(session, *others, self._digests.get(session))
            for session, *others in self._connection.execute(_RUN_MARKS)
        }

    def table_digest(self, table: str, columns: Sequence[str]) -> str:
        """Return a digest of all rows of a table, which is what those cost that are not kept run by run."""
        digest = hashlib.sha256()
        for rows in self.rows(table, columns):
            digest.update(repr(rows).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()


def _run_digests(connection: apsw.Connection) -> dict[Value, str]:
    """Return one digest of each run over the digests of all files that it was indexed from."""
    digests = {}
    for session_id, listing in connection.execute(
        "SELECT session_id, group_concat(relative_path || char(0) || sha256, char(10) ORDER BY relative_path) "
        "FROM source_files GROUP BY session_id"
    ):
        digests[session_id] = hashlib.sha256(str(listing).encode("utf-8", "surrogatepass")).hexdigest()
    return digests


def _text_digest(*parts: Value) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()


@contextmanager
def open_snapshot(state_root: Path) -> Iterator[IndexSnapshot]:
    """Open the index read-only, in one transaction.

    Raises:
        MissingDatabase: there is no index yet.
        IndexStoreError: the database or the state root is at fault.
    """
    missing = MissingDatabase(
        f"there is no index in {state_root} yet", path=str(state_root), hint="agent-workflow index sync"
    )
    with open_state_root(state_root) as root:
        if root is None:
            raise missing
        with locate_index(root, create=False) as location:
            if location is None:
                raise missing
            connection = open_for_reading(location)
            try:
                connection.execute("BEGIN")
                yield IndexSnapshot(root, location, connection)
            except apsw.Error as error:
                raise explain(location, error) from error
            finally:
                connection.close()
