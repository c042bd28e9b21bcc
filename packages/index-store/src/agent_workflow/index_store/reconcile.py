"""The two writers: ``sync`` brings the database in line with the files, ``rebuild`` makes it anew."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import apsw

from agent_workflow.index_store import database, replacement
from agent_workflow.index_store.errors import DamagedDatabase, UnsafePath
from agent_workflow.index_store.header import header_verdict
from agent_workflow.index_store.index_files import IndexLocation, exists, explain, locate_index
from agent_workflow.index_store.run_pass import EVERYTHING, Pass, Progress, Scope, known_runs, run_pass
from agent_workflow.index_store.state_root import StateRoot, open_state_root
from agent_workflow.index_store.sync_report import SyncReport
from agent_workflow.index_store.writer_lock import writer_lock

DEFAULT_LOCK_SECONDS = 30.0


def _no_progress(done: int, total: int) -> None:
    """Show nothing."""


def _say_nothing(holder: str) -> None:
    """Tell nobody who holds the lock."""


def sync(
    state_root: Path,
    *,
    session_id: str | None = None,
    active_only: bool = False,
    lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS,
    progress: Progress = _no_progress,
    on_wait: Callable[[str], None] = _say_nothing,
) -> SyncReport:
    """Bring the index in line with the evidence; an unchanged run is skipped without reading a file.

    Args:
        state_root: the root; made, owner-only, where it is missing.
        session_id: only this run.
        active_only: only ``runs/``; what is known of ``archive/`` stays.
        lock_timeout_seconds: how long to wait for another writer.
        progress: called after every run.
        on_wait: told who holds the lock, when a wait for it begins.

    Returns:
        What was done, and every run that is in error, whether it was read again or not.

    Raises:
        IndexStoreError: nothing could be done; the database is as before.
    """
    scope = Scope(session_id, active_only)
    with _writing(state_root, lock_timeout_seconds, on_wait) as (root, location):
        if not exists(location):
            return _rebuild(root, location, scope, progress)
        replacement.remove_scratch(location)
        with _closing(database.open_for_writing(location)) as connection:
            if "last_sync_at" not in database.metadata(connection):
                # Never synced as a whole, or by an earlier version: a narrow rebuild would lose the other rows.
                filled = known_runs(connection)
                connection.close()
                return _rebuild(root, location, EVERYTHING if filled else scope, progress)
            report = run_pass(root, location, Pass(connection, scope, progress, fresh=False))
            database.checkpoint(connection)
            return report


def rebuild(
    state_root: Path,
    *,
    session_id: str | None = None,
    active_only: bool = False,
    lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS,
    progress: Progress = _no_progress,
    on_wait: Callable[[str], None] = _say_nothing,
) -> SyncReport:
    """Make the index anew from the evidence and put it in place in one transaction.

    Args:
        state_root: the root; made, owner-only, where it is missing.
        session_id: read only this run again, whole; the others stay as they are.
        active_only: leave ``archive/`` out.
        lock_timeout_seconds: how long to wait for another writer.
        progress: called after every run.
        on_wait: told who holds the lock, when a wait for it begins.

    Raises:
        IndexStoreError: nothing could be done; readers still have the old content.
    """
    scope = Scope(session_id, active_only)
    with _writing(state_root, lock_timeout_seconds, on_wait) as (root, location):
        if session_id is not None and exists(location):
            with _closing(database.open_for_writing(location)) as connection:
                report = run_pass(root, location, Pass(connection, scope, progress, fresh=False, whole=True))
                database.checkpoint(connection)
                return report
        return _rebuild(root, location, scope, progress)


def initialize(state_root: Path, *, lock_timeout_seconds: float = DEFAULT_LOCK_SECONDS) -> Path:
    """Make sure that there is a database of the current schema, upgrading an older one.

    Returns:
        The path of the database. An empty one has no ``last_sync_at`` and is filled by the next sync.
    """
    with _writing(state_root, lock_timeout_seconds, _say_nothing) as (_, location):
        database.open_for_writing(location).close()
        return location.database


@contextmanager
def _writing(
    state_root: Path, lock_timeout_seconds: float, on_wait: Callable[[str], None]
) -> Iterator[tuple[StateRoot, IndexLocation]]:
    with ExitStack() as stack:
        root = stack.enter_context(open_state_root(state_root, create=True))
        location = None if root is None else stack.enter_context(locate_index(root, create=True))
        if root is None or location is None:
            raise UnsafePath(f"{state_root} vanished while it was opened", path=str(state_root), hint="call again")
        stack.enter_context(writer_lock(location.directory, location.path, lock_timeout_seconds, on_wait))
        try:
            yield root, location
        except apsw.Error as error:
            raise explain(location, error) from error


@contextmanager
def _closing(connection: apsw.Connection) -> Iterator[apsw.Connection]:
    try:
        yield connection
    finally:
        connection.close()


def _rebuild(root: StateRoot, location: IndexLocation, scope: Scope, progress: Progress) -> SyncReport:
    _refuse_what_is_not_ours(location)
    scratch = replacement.create_scratch(location)
    try:
        with scratch:  # one transaction around them all: a run is then only a savepoint
            report = run_pass(root, location, Pass(scratch, scope, progress, fresh=True))
        replacement.put_in_place(scratch, location)
    finally:
        scratch.close()
        replacement.remove_scratch(location)
    return report


def _refuse_what_is_not_ours(location: IndexLocation) -> None:
    if exists(location):
        try:
            header_verdict(location)
        except DamagedDatabase:
            return
