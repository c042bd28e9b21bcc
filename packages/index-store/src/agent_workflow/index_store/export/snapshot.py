"""The index as an export reads it: one transaction, its columns, its rows table by table, and how fresh it is."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
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

PARTITION_TIME = "partition_time"
_ROWS_AT_ONCE = 1000


class IndexSnapshot:
    """The index in one read transaction; not for several threads."""

    def __init__(self, root: StateRoot, location: IndexLocation, connection: apsw.Connection) -> None:
        """Use :func:`open_snapshot`."""
        self.root = root
        self.location = location
        self._connection = connection
        digests = _run_digests(connection)
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

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
        """Return all rows of a table of the export, in their order, some thousand at once.

        Args:
            table: its name.
            columns: names from the closed list of fields, never anything else.
        """
        source = (files(__package__) / "sql" / f"{table}.sql").read_text(encoding="utf-8")
        cursor = self._connection.execute(
            f"SELECT {', '.join(columns)} FROM ({source}) ORDER BY {_ORDERS[table]}"  # noqa: S608 -- names of the list
        )
        while rows := list(islice(cursor, _ROWS_AT_ONCE)):
            yield rows


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
