"""One walk over the runs of a state root: each is skipped, indexed or removed, then what depends on all of them."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import apsw

from agent_workflow.index_store import database
from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.discovery import Candidate, Discovery, OddEntry, Storage, discover, open_storage
from agent_workflow.index_store.errors import UnknownRun
from agent_workflow.index_store.index_files import IndexLocation
from agent_workflow.index_store.repairs import reconcile_repairs
from agent_workflow.index_store.scanning import RunScan, scan_candidate
from agent_workflow.index_store.state_root import StateRoot, StorageClass
from agent_workflow.index_store.sync_report import IndexedRun, PassResult, SyncReport, report_pass

if TYPE_CHECKING:
    from agent_workflow.index_store.indexing import RunIndexer, RunOutcome

Progress = Callable[[int, int], None]
"""Called with the number of runs done and the number of all runs."""


class Scope(NamedTuple):
    """Which runs a writer looks at."""

    session_id: str | None
    active_only: bool

    @property
    def name(self) -> str:
        """What ``last_sync_scope`` says of it."""
        return "active" if self.active_only else "active+archive"


EVERYTHING = Scope(session_id=None, active_only=False)


@dataclass
class Pass:
    """One walk over the runs of a state root into one connection."""

    connection: apsw.Connection
    scope: Scope
    progress: Progress
    fresh: bool
    """The database is empty: nothing to compare with, to skip or to prune."""
    whole: bool = False
    indexed: list["RunOutcome"] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    pruned: list[str] = field(default_factory=list)

    @cached_property
    def indexer(self) -> "RunIndexer":
        """The indexer, made and its models imported when the first run needs it: an unchanged sync never does."""
        from agent_workflow.index_store.indexing import RunIndexer

        return RunIndexer(self.connection, fresh=self.fresh)


def run_pass(root: StateRoot, location: IndexLocation, work: Pass) -> SyncReport:
    """Reconcile every run in scope, then repairs, then the record of the pass itself."""
    discovery = discover(root, active_only=work.scope.active_only)
    known = {} if work.fresh else known_runs(work.connection)
    runs = _in_scope(discovery, known, work.scope)
    with open_storage(root) as storage:
        for done, candidate in enumerate(runs, 1):
            _reconcile_run(candidate, storage, known, work)
            work.progress(done, len(runs))
        _prune(discovery, known, work)
        _settle_workflow_owners(discovery, storage, work)
    reconcile_repairs(root, work.connection)
    if work.scope.session_id is None:
        _finish(work, discovery.odd_entries)
    indexed = (
        IndexedRun(outcome.session_id, outcome.sources, outcome.records_parsed)
        for outcome in work.indexed
        if outcome.error is None
    )
    return report_pass(
        work.connection,
        str(location.database),
        work.scope.session_id,
        PassResult(indexed, work.skipped, work.pruned),
    )


def known_runs(connection: apsw.Connection) -> dict[str, tuple[str, StorageClass]]:
    """Return the fingerprint and the place of every run that has a row."""
    rows = connection.execute("SELECT session_id, source_fingerprint, storage_class FROM runs")
    return {
        str(session_id): (str(fingerprint), "archive" if storage_class == "archive" else "active")
        for session_id, fingerprint, storage_class in rows
    }


def _in_scope(
    discovery: Discovery, known: Mapping[str, tuple[str, StorageClass]], scope: Scope
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
    work: Pass,
) -> None:
    try:
        scan = _scan(candidate, storage)
        before = known.get(candidate.session_id)
        if before is not None and before[0] == scan.fingerprint and not work.whole:
            work.skipped.append(candidate.session_id)
            return
        whole = work.whole or before is None
        work.indexed.append(work.indexer.index(candidate, scan, storage, whole=whole))
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


def _remove(session_id: str, work: Pass) -> None:
    if work.fresh:
        return
    from agent_workflow.index_store.run_writer import RunWriter  # mostly nothing is removed

    with work.connection:
        RunWriter(work.connection).remove_run(session_id)
    work.pruned.append(session_id)


def _prune(discovery: Discovery, known: Mapping[str, tuple[str, StorageClass]], work: Pass) -> None:
    """Remove the rows of runs whose directories are gone, within the scope that was looked at."""
    settled = {run.session_id for run in discovery.runs} | set(work.pruned)
    for session_id, (_, storage_class) in known.items():
        if session_id in settled:
            continue
        if work.scope.session_id not in (None, session_id):
            continue
        if work.scope.active_only and storage_class == "archive":
            continue
        _remove(session_id, work)


def _settle_workflow_owners(discovery: Discovery, storage: Storage, work: Pass) -> None:
    """Index the first claimant of a workflow again where another run owned its rows, or nobody does any more."""
    candidates = {run.session_id: run for run in discovery.runs}
    for (session_id,) in work.connection.execute(_UNSETTLED_OWNERS).fetchall():
        candidate = candidates.get(str(session_id))
        if candidate is None:
            continue
        try:
            work.indexer.index(candidate, _scan(candidate, storage), storage, whole=True)
        except FileNotFoundError:
            _remove(candidate.session_id, work)


_UNSETTLED_OWNERS = """
SELECT claim.first FROM (
    SELECT workflow_id, min(session_id) AS first FROM workflow_claims GROUP BY workflow_id
) AS claim
LEFT JOIN workflows USING (workflow_id)
WHERE workflows.owner_run_id IS NOT claim.first
"""


def _finish(work: Pass, odd_entries: tuple[OddEntry, ...]) -> None:
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
