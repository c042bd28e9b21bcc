"""The two writers: ``sync`` brings the database in line with the files, ``rebuild`` makes it anew."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw

from agent_workflow.index_store import database
from agent_workflow.index_store.database import IndexLocation, locate_index, utc_now
from agent_workflow.index_store.discovery import (
    Candidate,
    Discovery,
    OddEntry,
    RunScan,
    Storage,
    discover,
    scan_candidate,
)
from agent_workflow.index_store.errors import DamagedDatabase, HistoricalArtifact, UnknownRun, UnsafePath
from agent_workflow.index_store.indexing import RunIndexer, RunOutcome
from agent_workflow.index_store.repairs import reconcile_repairs
from agent_workflow.index_store.reports import IndexedRun, ReportedNotice, RunError, SyncReport
from agent_workflow.index_store.run_writer import RunWriter
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot, StorageClass, open_state_root
from agent_workflow.index_store.writer_lock import writer_lock

Progress = Callable[[int, int], None]
"""Called with the number of runs done and the number of all runs."""

DEFAULT_LOCK_SECONDS = 30.0


def _no_progress(done: int, total: int) -> None:
    """Show nothing."""


@dataclass(frozen=True)
class _Scope:
    """Which runs a writer looks at."""

    session_id: str | None
    active_only: bool

    @property
    def name(self) -> str:
        return "active" if self.active_only else "active+archive"


@dataclass
class _Pass:
    """One walk over the runs of a state root into one connection."""

    connection: apsw.Connection
    scope: _Scope
    progress: Progress
    fresh: bool
    """The database is empty: nothing to compare with, to skip or to prune."""
    whole: bool = False
    indexed: list[RunOutcome] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)


def sync(
    state_root: Path,
    *,
    session_id: str | None = None,
    active_only: bool = False,
    lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS,
    progress: Progress = _no_progress,
) -> SyncReport:
    """Bring the index in line with the evidence; an unchanged run is skipped without reading a file.

    Args:
        state_root: the root; made, owner-only, where it is missing.
        session_id: only this run.
        active_only: only ``runs/``; what is known of ``archive/`` stays.
        lock_timeout_seconds: how long to wait for another writer.
        progress: called after every run.

    Returns:
        What was done, and every run that is in error, whether it was read again or not.

    Raises:
        IndexStoreError: nothing could be done; the database is as before.
    """
    scope = _Scope(session_id, active_only)
    with _writing(state_root, lock_timeout_seconds) as (root, location):
        if not database.exists(location):
            return _rebuild(root, location, scope, progress)
        database.remove_scratch(location)
        with _closing(database.open_for_writing(location)) as connection:
            if "last_sync_at" not in database.metadata(connection):
                connection.close()
                return _rebuild(root, location, scope, progress)
            report = _run_pass(root, location, _Pass(connection, scope, progress, fresh=False))
            database.checkpoint(connection)
            return report


def rebuild(
    state_root: Path,
    *,
    session_id: str | None = None,
    active_only: bool = False,
    lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS,
    progress: Progress = _no_progress,
) -> SyncReport:
    """Make the index anew from the evidence and put it in place in one transaction.

    Args:
        state_root: the root; made, owner-only, where it is missing.
        session_id: read only this run again, whole; the others stay as they are.
        active_only: leave ``archive/`` out.
        lock_timeout_seconds: how long to wait for another writer.
        progress: called after every run.

    Raises:
        IndexStoreError: nothing could be done; readers still have the old content.
    """
    scope = _Scope(session_id, active_only)
    with _writing(state_root, lock_timeout_seconds) as (root, location):
        if session_id is not None and database.exists(location):
            with _closing(database.open_for_writing(location)) as connection:
                report = _run_pass(root, location, _Pass(connection, scope, progress, fresh=False, whole=True))
                database.checkpoint(connection)
                return report
        return _rebuild(root, location, scope, progress)


def initialize(state_root: Path, *, lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS) -> Path:
    """Make sure that there is a database of the current schema, upgrading an older one.

    Returns:
        The path of the database. An empty one has no ``last_sync_at`` and is filled by the next sync.
    """
    with _writing(state_root, lock_timeout_seconds) as (_, location):
        database.open_for_writing(location).close()
        return location.database


@contextmanager
def _writing(state_root: Path, lock_timeout_seconds: float) -> Iterator[tuple[StateRoot, IndexLocation]]:
    with ExitStack() as stack:
        root = stack.enter_context(open_state_root(state_root, create=True))
        location = None if root is None else stack.enter_context(locate_index(root, create=True))
        if root is None or location is None:
            raise UnsafePath(f"{state_root} vanished while it was opened", path=str(state_root), hint="call again")
        stack.enter_context(writer_lock(location.directory, location.path, lock_timeout_seconds))
        try:
            yield root, location
        except apsw.Error as error:
            raise database.explain(location, error) from error


@contextmanager
def _closing(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    try:
        yield connection
    finally:
        connection.close()


def _rebuild(root: StateRoot, location: IndexLocation, scope: _Scope, progress: Progress) -> SyncReport:
    _refuse_what_is_not_ours(location)
    scratch = database.create_scratch(location)
    try:
        with scratch:  # one transaction around them all: a run is then only a savepoint
            report = _run_pass(root, location, _Pass(scratch, scope, progress, fresh=True))
        database.put_in_place(scratch, location)
    finally:
        scratch.close()
        database.remove_scratch(location)
    return report


def _refuse_what_is_not_ours(location: IndexLocation) -> None:
    if database.exists(location):
        try:
            database.header_verdict(location)
        except DamagedDatabase:
            return


def _run_pass(root: StateRoot, location: IndexLocation, work: _Pass) -> SyncReport:
    """Reconcile every run in scope, then repairs, then the record of the pass itself."""
    discovery = discover(root, active_only=work.scope.active_only)
    known = {} if work.fresh else _known_runs(work.connection)
    runs = _in_scope(discovery, known, work.scope)
    indexer = RunIndexer(work.connection, fresh=work.fresh)
    with ExitStack() as stack:
        storage = {
            name: stack.enter_context(root.directory(directory)) for name, directory in STORAGE_DIRECTORIES.items()
        }
        for done, candidate in enumerate(runs, 1):
            _reconcile_run(candidate, storage, known, indexer, work)
            work.progress(done, len(runs))
        _prune(discovery, known, work)
        _settle_workflow_owners(discovery, storage, indexer, work)
    reconcile_repairs(root, work.connection)
    if work.scope.session_id is None:
        _finish(work, discovery.odd_entries)
    return _report(location, work)


def _known_runs(connection: apsw.Connection) -> dict[str, tuple[str, StorageClass]]:
    rows = connection.execute("SELECT session_id, source_fingerprint, storage_class FROM runs")
    return {
        str(session_id): (str(fingerprint), "archive" if storage_class == "archive" else "active")
        for session_id, fingerprint, storage_class in rows
    }


def _in_scope(
    discovery: Discovery, known: Mapping[str, tuple[str, StorageClass]], scope: _Scope
) -> tuple[Candidate, ...]:
    if scope.session_id is None:
        return discovery.runs
    chosen = tuple(run for run in discovery.runs if run.session_id == scope.session_id)
    if not chosen and scope.session_id not in known:
        raise UnknownRun(f"no run is called {scope.session_id}", hint="agent-workflow index query runs")
    return chosen


def _reconcile_run(
    candidate: Candidate,
    storage: Storage,
    known: Mapping[str, tuple[str, StorageClass]],
    indexer: RunIndexer,
    work: _Pass,
) -> None:
    try:
        scan = _scan(candidate, storage)
        before = known.get(candidate.session_id)
        if before is not None and before[0] == scan.fingerprint and not work.whole:
            work.skipped.append(candidate.session_id)
            return
        whole = work.whole or before is None
        work.indexed.append(indexer.index(candidate, scan, storage, whole=whole))
    except FileNotFoundError:
        _remove(candidate.session_id, work)


def _scan(candidate: Candidate, storage: Storage) -> RunScan:
    """Scan a run; a directory below it that vanishes meanwhile is looked for again."""
    for _ in range(3):
        try:
            return scan_candidate(candidate, storage)
        except FileNotFoundError:
            time.sleep(0.01)
    return scan_candidate(candidate, storage)


def _remove(session_id: str, work: _Pass) -> None:
    if work.fresh:
        return
    with work.connection:
        RunWriter(work.connection).remove_run(session_id)
    work.pruned.append(session_id)


def _prune(discovery: Discovery, known: Mapping[str, tuple[str, StorageClass]], work: _Pass) -> None:
    """Remove the rows of runs whose directories are gone, within the scope that was looked at."""
    present = {run.session_id for run in discovery.runs}
    for session_id, (_, storage_class) in known.items():
        if session_id in present or session_id in work.pruned:
            continue
        if work.scope.session_id not in (None, session_id):
            continue
        if work.scope.active_only and storage_class == "archive":
            continue
        _remove(session_id, work)


def _settle_workflow_owners(discovery: Discovery, storage: Storage, indexer: RunIndexer, work: _Pass) -> None:
    """Index the first claimant of a workflow again where another run owned its rows, or nobody does any more."""
    candidates = {run.session_id: run for run in discovery.runs}
    for (session_id,) in work.connection.execute(_UNSETTLED_OWNERS).fetchall():
        candidate = candidates.get(str(session_id))
        if candidate is None:
            continue
        try:
            indexer.index(candidate, _scan(candidate, storage), storage, whole=True)
        except FileNotFoundError:
            _remove(candidate.session_id, work)


_UNSETTLED_OWNERS = """
SELECT claim.first FROM (
    SELECT workflow_id, min(session_id) AS first FROM workflow_claims GROUP BY workflow_id
) AS claim
LEFT JOIN workflows USING (workflow_id)
WHERE workflows.owner_run_id IS NOT claim.first
"""


def _finish(work: _Pass, odd_entries: tuple[OddEntry, ...]) -> None:
    """Record the pass: its time and scope, what stood beside the runs, and errors in the order of their runs."""
    connection = work.connection
    with connection:
        _write_odd_entries(connection, odd_entries)
        _number_errors(connection)
        database.set_metadata(connection, {"last_sync_at": utc_now(), "last_sync_scope": work.scope.name})


def _write_odd_entries(connection: apsw.Connection, odd_entries: tuple[OddEntry, ...]) -> None:
    rows = [(entry.path, entry.kind, entry.detail) for entry in odd_entries]
    before = connection.execute(
        "SELECT source_path, kind, detail FROM notices WHERE session_id IS NULL ORDER BY source_path"
    ).fetchall()
    if before != rows:
        connection.execute("DELETE FROM notices WHERE session_id IS NULL")
        connection.executemany(
            "INSERT INTO notices VALUES (NULL, ?, ?, NULL, ?, ?)", [(*row, utc_now()) for row in rows]
        )


def _number_errors(connection: apsw.Connection) -> None:
    """Number the errors from 1 in the order of their runs, so that a sync leaves what a rebuild would."""
    rows = connection.execute(
        "SELECT error_id, session_id, source_path, detected_at, category, detail FROM index_errors "
        "ORDER BY session_id IS NULL, session_id, source_path"
    ).fetchall()
    if [row[0] for row in rows] == list(range(1, len(rows) + 1)):
        return
    connection.execute("DELETE FROM index_errors")
    connection.executemany(
        "INSERT INTO index_errors VALUES (?, ?, ?, ?, ?, ?)",
        [(number, *row[1:]) for number, row in enumerate(rows, 1)],
    )


def _report(location: IndexLocation, work: _Pass) -> SyncReport:
    connection = work.connection
    in_error = [
        (_text(session_id), str(category), str(detail))
        for session_id, category, detail in connection.execute(
            "SELECT session_id, category, detail FROM index_errors WHERE ?1 IS NULL OR session_id = ?1 "
            "ORDER BY error_id",
            (work.scope.session_id,),
        )
    ]
    notices = tuple(
        ReportedNotice(_text(session_id), _text(contract), str(source_path), str(kind), str(detail))
        for session_id, contract, source_path, kind, detail in connection.execute(
            "SELECT session_id, contract, source_path, kind, detail FROM notices WHERE ?1 IS NULL OR session_id = ?1 "
            "ORDER BY session_id IS NULL, session_id, source_path, contract",
            (work.scope.session_id,),
        )
    )
    bad = {session_id for session_id, _, _ in in_error}
    return SyncReport(
        database=str(location.database),
        indexed=tuple(
            IndexedRun(outcome.session_id, outcome.sources, outcome.records_parsed)
            for outcome in work.indexed
            if outcome.error is None
        ),
        skipped=tuple(session_id for session_id in work.skipped if session_id not in bad),
        pruned=tuple(sorted(work.pruned)),
        errors=tuple(
            RunError(session_id, detail) for session_id, category, detail in in_error if category != _HISTORICAL
        ),
        quarantined=tuple(str(session_id) for session_id, category, _ in in_error if category == _HISTORICAL),
        notices=notices,
    )


_HISTORICAL = HistoricalArtifact.category


def _text(value: object) -> str | None:
    return None if value is None else str(value)
