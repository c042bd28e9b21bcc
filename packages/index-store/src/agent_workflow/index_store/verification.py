"""Verification: is the database whole, does it still equal its sources, and is one run reviewed evidence."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import apsw

from agent_workflow.index_schema import SCHEMA_VERSION
from agent_workflow.index_store.database import open_for_reading
from agent_workflow.index_store.discovery import Candidate, Storage, discover, open_run, open_storage
from agent_workflow.index_store.error_check import ErrorCheck
from agent_workflow.index_store.errors import EvidenceError, MissingDatabase
from agent_workflow.index_store.index_files import explain, locate_index
from agent_workflow.index_store.reading import digest_file
from agent_workflow.index_store.repair_check import RECEIPT, verified_row
from agent_workflow.index_store.review import review_run
from agent_workflow.index_store.scanning import scan_run
from agent_workflow.index_store.schema_check import altered_parts
from agent_workflow.index_store.sealing import check_seal
from agent_workflow.index_store.state_root import REPAIRS_DIRECTORY, StateRoot, open_state_root
from agent_workflow.index_store.values import Value
from agent_workflow.index_store.verification_report import SourceMismatch, VerificationReport

Progress = Callable[[int, int], None]


def _no_progress(done: int, total: int) -> None:
    """Show nothing."""


def verify(
    state_root: Path, *, full: bool = False, review: str | None = None, progress: Progress = _no_progress
) -> VerificationReport:
    """Check the database, and on request its sources or one run's review.

    Args:
        state_root: the root.
        full: hash every source, every sealed artifact and every repair again.
        review: a session id to judge as well.
        progress: called after every run that was hashed.

    Raises:
        MissingDatabase, DamagedDatabase, UnsafePath, ForeignDatabase, NewerDatabase: as named.
        UnknownRun: there is no run called ``review``.
    """
    with ExitStack() as stack:
        root = stack.enter_context(open_state_root(state_root))
        location = None if root is None else stack.enter_context(locate_index(root, create=False))
        if root is None or location is None:
            raise MissingDatabase(
                f"there is no index in {state_root} yet", path=str(state_root), hint="agent-workflow index sync"
            )
        connection = open_for_reading(location)
        stack.callback(connection.close)
        try:
            integrity = _integrity(connection)
            foreign = tuple(_foreign_key_errors(connection))
            mismatches: tuple[SourceMismatch, ...] = ()
            if full:
                mismatches = (*_compare_sources(root, connection, progress), *_compare_repairs(root, connection))
            historical = tuple(str(row[0]) for row in connection.execute(_HISTORICAL))
        except apsw.Error as error:
            raise explain(location, error) from error
        return VerificationReport(
            database=str(location.database),
            schema_version=int(connection.pragma("user_version")),
            expected_schema_version=SCHEMA_VERSION,
            integrity_check=integrity,
            foreign_key_errors=foreign,
            full=full,
            source_mismatches=mismatches,
            historical_artifacts=historical,
            review=None if review is None else review_run(root, stack.enter_context(open_storage(root)), review),
        )


_HISTORICAL = "SELECT session_id FROM index_errors WHERE category = 'historical_artifact' ORDER BY session_id"


def _integrity(connection: apsw.Connection) -> tuple[str, ...]:
    """Return ``ok`` alone, or what is wrong with the pages or with the tables."""
    found = tuple(str(row[0]) for row in connection.execute("PRAGMA integrity_check"))
    altered = tuple(altered_parts(connection))
    return found if not altered else altered if found == ("ok",) else (*found, *altered)


def _foreign_key_errors(connection: apsw.Connection) -> list[Mapping[str, Value]]:
    names = ("table", "rowid", "parent", "foreign_key")
    return [dict(zip(names, row, strict=True)) for row in connection.execute("PRAGMA foreign_key_check").fetchall()]


def _compare_sources(root: StateRoot, connection: apsw.Connection, progress: Progress) -> list[SourceMismatch]:
    """Hash every source of every run and compare it with what was indexed; judge every run in error again."""
    known = {
        str(session_id): (None if state == "current" else str(error), bool(complete), str(storage_class))
        for session_id, state, error, complete, storage_class in connection.execute(
            "SELECT session_id, index_state, index_error, evidence_complete, storage_class FROM runs"
        ).fetchall()
    }
    found: list[SourceMismatch] = []
    with open_storage(root) as storage, closing(ErrorCheck()) as errors:
        discovery = discover(root)
        for done, candidate in enumerate(discovery.runs, 1):
            before = known.pop(candidate.session_id, None)
            if before is None:
                found.append(SourceMismatch(candidate.session_id, ".", "unindexed", "the run is not in the index"))
            elif before[0] is not None:
                mismatch = errors.compare(candidate, storage, before[0])
                found.extend(() if mismatch is None else (mismatch,))
            else:
                indexed = Candidate(candidate.session_id, "archive" if before[2] == "archive" else "active")
                found.extend(_compare_run(indexed, storage, connection, complete=before[1]))
            progress(done, len(discovery.runs))
    gone = "the run is in the index, and its directory is gone"
    found.extend(SourceMismatch(session_id, ".", "missing", gone) for session_id in sorted(known))
    return found


def _compare_repairs(root: StateRoot, connection: apsw.Connection) -> Iterator[SourceMismatch]:
    """Check every projected repair again, and compare it with its row."""
    with root.directory(REPAIRS_DIRECTORY) as descriptor:
        for row in connection.execute(_REPAIRS).fetchall():
            repair_id, session_id = str(row[0]), str(row[1])
            place = f"{REPAIRS_DIRECTORY}/{repair_id}"
            candidate = Candidate(repair_id, "active")
            try:
                if descriptor is None:
                    raise FileNotFoundError(REPAIRS_DIRECTORY)
                scan = scan_run(candidate, descriptor, every_file=True)
                now = verified_row(root, connection, candidate, scan, descriptor)
            except FileNotFoundError:
                yield SourceMismatch(session_id, place, "missing", "the repair is in the index, and is gone")
            except EvidenceError as error:
                yield SourceMismatch(session_id, f"{place}/{error.source_path}", "mismatch", error.detail)
            else:
                if now[:-1] != row[:-1]:  # but for the time of indexing
                    path = f"{place}/{RECEIPT}"
                    yield SourceMismatch(session_id, path, "mismatch", "the repair is not what was indexed")


_REPAIRS = "SELECT * FROM evidence_repairs ORDER BY repair_id"


def _compare_run(
    candidate: Candidate, storage: Storage, connection: apsw.Connection, *, complete: bool
) -> list[SourceMismatch]:
    descriptor = storage[candidate.storage_class]
    session_id = candidate.session_id
    if descriptor is None:
        return [SourceMismatch(session_id, ".", "missing", "the run's directory is gone")]
    indexed = {
        str(path): str(sha256)
        for path, sha256 in connection.execute(
            "SELECT relative_path, sha256 FROM source_files WHERE session_id = ?", (session_id,)
        ).fetchall()
    }
    try:
        scan = scan_run(candidate, descriptor)
        directory = open_run(candidate, descriptor)
    except OSError as error:
        return [SourceMismatch(session_id, ".", "unreadable", f"the run cannot be opened: {error.strerror}")]
    try:
        found = [SourceMismatch(session_id, fault.path, "unreadable", fault.reason) for fault in scan.faults]
        found.extend(_compare_digests(session_id, directory, indexed))
        present = {source.path for source in scan.sources}
        found.extend(
            SourceMismatch(session_id, path, "unindexed", "the source is not in the index")
            for path in sorted(present - indexed.keys())
        )
        if complete:
            # The artifacts that are no sources, which only the receipt speaks of.
            seal = check_seal(candidate, descriptor)
            if seal.error is not None and seal.error.source_path not in {mismatch.path for mismatch in found}:
                found.append(SourceMismatch(session_id, seal.error.source_path, "mismatch", seal.error.detail))
    finally:
        os.close(directory)
    return found


def _compare_digests(session_id: str, directory: int, indexed: Mapping[str, str]) -> list[SourceMismatch]:
    found = []
    for path, sha256 in sorted(indexed.items()):
        try:
            if digest_file(directory, path).sha256 != sha256:
                detail = "its content is not what was indexed"
                found.append(SourceMismatch(session_id, path, "mismatch", detail))
        except FileNotFoundError:
            found.append(SourceMismatch(session_id, path, "missing", "it was indexed, and is gone"))
        except EvidenceError as error:
            found.append(SourceMismatch(session_id, path, "unreadable", error.detail))
    return found
