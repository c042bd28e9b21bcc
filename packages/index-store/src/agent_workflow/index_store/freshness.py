"""How the projection compares with its sources at this moment, found by names and ``lstat`` alone."""

from dataclasses import replace
from pathlib import Path

import apsw

from agent_workflow.index_schema import DATABASE_NAME
from agent_workflow.index_store import database
from agent_workflow.index_store.database import open_for_reading
from agent_workflow.index_store.discovery import discover, open_storage
from agent_workflow.index_store.errors import MissingDatabase, OutdatedDatabase
from agent_workflow.index_store.index_files import IndexLocation, exists, explain, locate_index
from agent_workflow.index_store.reports import Freshness, StatusReport
from agent_workflow.index_store.scanning import scan_candidate
from agent_workflow.index_store.state_root import INDEX_DIRECTORY, StateRoot, open_state_root


def status(state_root: Path) -> StatusReport:
    """Report the state of the index without changing anything.

    Raises:
        UnsafePath, ForeignDatabase, NewerDatabase, DamagedDatabase: as named. A missing root or database is no error.
    """
    with open_state_root(state_root) as root:
        if root is None:
            return _missing(str(state_root / INDEX_DIRECTORY / DATABASE_NAME), str(state_root), 0)
        with locate_index(root, create=False) as location:
            if location is None or not exists(location):
                path = root.path / INDEX_DIRECTORY / DATABASE_NAME
                return _missing(str(path), str(root.path), _count_sources(root))
            try:
                connection = open_for_reading(location)
            except MissingDatabase:
                return _missing(str(location.database), str(root.path), _count_sources(root))
            except OutdatedDatabase as error:
                # Its rows cannot be compared until the next sync has upgraded it, so no run counts as current.
                missing = _missing(str(location.database), str(root.path), _count_sources(root))
                freshness = replace(missing.freshness, word="stale")
                return replace(missing, exists=True, schema_version=error.schema_version, freshness=freshness)
            try:
                connection.execute("BEGIN")  # every figure of one and the same content
                return _status(root, location, connection)
            except apsw.Error as error:
                raise explain(location, error) from error
            finally:
                connection.close()


def _missing(path: str, state_root: str, source_runs: int) -> StatusReport:
    return StatusReport(
        database=path,
        state_root=state_root,
        exists=False,
        schema_version=None,
        run_count=0,
        last_sync_at=None,
        last_sync_scope=None,
        size_bytes=0,
        application_id=None,
        journal_mode=None,
        generation=None,
        notice_count=0,
        sqlite_version=apsw.sqlite_lib_version(),
        freshness=Freshness("missing", source_runs, 0, source_runs, 0, 0),
    )


def _count_sources(root: StateRoot) -> int:
    return len(discover(root).runs)


def _status(root: StateRoot, location: IndexLocation, connection: apsw.Connection) -> StatusReport:
    metadata = database.metadata(connection)
    pages = int(connection.pragma("page_count")) * int(connection.pragma("page_size"))
    return StatusReport(
        database=str(location.database),
        state_root=str(root.path),
        exists=True,
        schema_version=int(connection.pragma("user_version")),
        run_count=int(connection.execute("SELECT count(*) FROM runs").get),
        last_sync_at=metadata.get("last_sync_at"),
        last_sync_scope=metadata.get("last_sync_scope"),
        size_bytes=pages,
        application_id=int(connection.pragma("application_id")),
        journal_mode=str(connection.pragma("journal_mode")),
        generation=metadata.get("generation"),
        notice_count=int(connection.execute("SELECT count(*) FROM notices").get),
        sqlite_version=apsw.sqlite_lib_version(),
        freshness=measure(root, connection),
    )


def measure(root: StateRoot, connection: apsw.Connection) -> Freshness:
    """Compare every run's fingerprint now with the one it was indexed with.

    Returns:
        ``stale`` where any run changed, came or went; else ``incomplete`` where a run or repair is in error or the
        last sync left the archive out; else ``current``.
    """
    known = {
        str(session_id): (str(fingerprint), str(state))
        for session_id, fingerprint, state in connection.execute(
            "SELECT session_id, source_fingerprint, index_state FROM runs"
        )
    }
    discovery = discover(root)
    current = stale = unseen_archive = 0
    active_only = database.metadata(connection).get("last_sync_scope") == "active"
    with open_storage(root) as storage:
        for candidate in discovery.runs:
            before = known.pop(candidate.session_id, None)
            if before is None and active_only and candidate.storage_class == "archive":
                unseen_archive += 1
                continue
            try:
                unchanged = before is not None and before[0] == scan_candidate(candidate, storage).fingerprint
            except FileNotFoundError:
                unchanged = False
            stale += not unchanged
            current += unchanged and before is not None and before[1] == "current"
    stale += len(known)
    errors, historical = next(
        iter(
            connection.execute(
                "SELECT count(*) FILTER (WHERE category IS NOT 'historical_artifact'), "
                "count(*) FILTER (WHERE category IS 'historical_artifact') FROM index_errors"
            )
        )
    )
    word = "stale" if stale else "incomplete" if errors or unseen_archive else "current"
    return Freshness(word, len(discovery.runs), current, stale, int(errors), int(historical))
