"""Indexing one run: its rows are replaced in one transaction, by what its files say or by what is wrong with them."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass

import apsw

from agent_workflow.index_store.discovery import Candidate, Storage, open_run
from agent_workflow.index_store.errors import EvidenceError, HistoricalArtifact, LockedSource, UnsafeSource
from agent_workflow.index_store.journals import Checkpoint, JournalProjector
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.run_projection import JournalRestarted, ResumePoint, RunProjection
from agent_workflow.index_store.run_writer import Notice, RunWriter
from agent_workflow.index_store.scanning import RunScan, scan_candidate, scan_run

UNSETTLED_PREFIX = "unsettled:"
"""Before a fingerprint that no scan can equal: the files were still moving, so the next sync must look again."""

# A file's ctime is taken from a clock that moves in steps of up to 10 ms. A file that was changed less than this ago
# may change again without its times telling, so reading waits; a file system with whole seconds cannot be waited for.
_CLOCK_STEP_NS = 20_000_000
_COARSE_STEP_NS = 2_000_000_000
_FURTHER_ATTEMPTS = 2


@dataclass(frozen=True)
class RunOutcome:
    """What became of one run.

    Attributes:
        session_id: the run.
        error: why it is no current evidence; None where it is.
        sources: structured files read.
        records_parsed: journal records that were parsed; less than it has where journals only grew.
        notices: what is worth telling.
    """

    session_id: str
    error: EvidenceError | None
    sources: int = 0
    records_parsed: int = 0
    notices: tuple[Notice, ...] = ()


class RunIndexer:
    """Indexes runs into one database connection; not for several threads."""

    def __init__(self, connection: apsw.Connection, *, fresh: bool) -> None:
        """Prepare to index.

        Args:
            connection: an open database of the current schema.
            fresh: the database holds no row of any run yet, so nothing is to be cleared.
        """
        self._connection = connection
        self._fresh = fresh
        self._writer = RunWriter(connection)
        self._reader = RecordReader()
        self._journals = JournalProjector(self._reader)

    def index(self, candidate: Candidate, scan: RunScan, storage: Storage, *, whole: bool = False) -> RunOutcome:
        """Replace the rows of a run by what its files say now.

        Args:
            candidate: the run.
            scan: what its directory looked like just now.
            storage: descriptors of ``runs/`` and ``archive/``.
            whole: ignore checkpoints.

        Returns:
            The outcome; bad evidence is an outcome, not an exception.

        Raises:
            FileNotFoundError: the run vanished; its rows are as before.
            apsw.Error: the database refused; its rows are as before.
        """
        outcome, moving = self._attempt(candidate, scan, storage, whole=whole)
        for _ in range(_FURTHER_ATTEMPTS):
            if not moving:
                break
            scan = scan_candidate(candidate, storage)
            outcome, moving = self._attempt(candidate, scan, storage, whole=whole)
        return outcome

    def _attempt(
        self, candidate: Candidate, scan: RunScan, storage: Storage, *, whole: bool
    ) -> tuple[RunOutcome, bool]:
        """Index a run once; the flag says that its files were still moving."""
        resume = {} if whole else self._resume_points(scan)
        settled = settle(scan)
        descriptor = _directory(candidate, storage)
        try:
            outcome, moving = self._replace(candidate, scan, descriptor, resume, settled=settled)
        except JournalRestarted:
            outcome, moving = self._replace(candidate, scan, descriptor, {}, settled=settled)
        if candidate.has_archived_twin and isinstance(outcome.error, HistoricalArtifact):
            twin = candidate.archived_twin
            archive = _directory(twin, storage)
            twin_scan = scan_run(twin, archive)._replace(fingerprint=scan.fingerprint)
            with self._connection:
                self._writer.clear(scan.session_id)  # the error just written, which a fresh database is not cleared of
            return self._replace(twin, twin_scan, archive, {}, settled=settled)
        return outcome, moving

    def _replace(
        self,
        candidate: Candidate,
        scan: RunScan,
        storage_descriptor: int,
        resume: Mapping[str, ResumePoint],
        *,
        settled: bool,
    ) -> tuple[RunOutcome, bool]:
        """Replace the rows in one transaction; the flag says that the files were still moving."""
        work = RunProjection(self._connection, self._reader, self._journals, scan, resume)
        fault: EvidenceError | None = None
        try:
            with self._connection:
                self._project(candidate, storage_descriptor, work, settled=settled)
        except EvidenceError as error:
            fault = error
            self._write_error(scan, error, settled=settled)
        moving = work.moved or (fault is not None and not fault.settled and not isinstance(fault, LockedSource))
        notices = () if fault is not None else tuple(work.notices)
        return RunOutcome(scan.session_id, fault, len(scan.sources), work.records_parsed, notices), moving

    def _write_error(self, scan: RunScan, error: EvidenceError, *, settled: bool) -> None:
        """Replace a run's rows by its error; where its files were only moving, rows that it has stay, and are stale."""
        with self._connection:
            if error.settled or not self._writer.is_current(scan.session_id):
                self._writer.write_error(scan, _stored(scan, settled=settled and error.settled), error)
            else:
                self._writer.write_notices(
                    scan.session_id, [Notice(error.source_path, "unsettled", None, error.reason)]
                )

    def _project(self, candidate: Candidate, storage_descriptor: int, work: RunProjection, *, settled: bool) -> None:
        scan = work.scan
        if scan.faults:
            raise UnsafeSource(scan.faults[0].reason, scan.faults[0].path)
        if work.resume:
            self._writer.clear_documents(scan.session_id)
        elif not self._fresh:
            self._writer.clear(scan.session_id)
        run_directory = _open_run(candidate, storage_descriptor)
        try:
            work.project(run_directory, _stored(scan, settled=settled), _stored(scan, settled=False))
        finally:
            os.close(run_directory)

    def _resume_points(self, scan: RunScan) -> dict[str, ResumePoint]:
        """Return where the journals of a run go on; nothing unless it is current and still has all of them."""
        found = {
            str(path): ResumePoint(Checkpoint(int(size), int(count), str(digest)), frozenset(json.loads(str(ids))))
            for path, ids, size, count, digest in self._connection.execute(_RESUME_POINTS, (scan.session_id,))
        }
        journals = {source.path for source in scan.sources if source.kind == "jsonl"}
        return found if found.keys() <= journals else {}


# A checkpoint counts only where the rows it speaks of are there: the last one, and none behind it.
_RESUME_POINTS = """
SELECT mark.relative_path, schema_ids_json, complete_bytes, mark.record_count, prefix_sha256
FROM journal_checkpoints AS mark
JOIN source_files USING (session_id, relative_path)
JOIN runs USING (session_id)
WHERE session_id = ? AND index_state = 'current'
  AND mark.record_count = (
      SELECT coalesce(max(source_sequence), 0) FROM events
      WHERE events.session_id = mark.session_id AND events.relative_path = mark.relative_path
  )
"""


def _directory(candidate: Candidate, storage: Storage) -> int:
    descriptor = storage[candidate.storage_class]
    if descriptor is None:
        raise FileNotFoundError(candidate.session_id)
    return descriptor


def _open_run(candidate: Candidate, storage_descriptor: int) -> int:
    try:
        return open_run(candidate, storage_descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnsafeSource(f"the run directory cannot be opened: {error.strerror}", ".") from error


def _stored(scan: RunScan, *, settled: bool) -> str:
    return scan.fingerprint if settled else UNSETTLED_PREFIX + scan.fingerprint


def settle(scan: RunScan) -> bool:
    """Wait until a further change of any source would show in its times.

    Returns:
        False where that cannot be had: the newest time lies in the future, or has no fraction of a second.
    """
    age = time.time_ns() - scan.newest_change_ns
    if scan.newest_change_ns and scan.newest_change_ns % 1_000_000_000 == 0:
        return age > _COARSE_STEP_NS
    if age < -_CLOCK_STEP_NS:
        return False
    if age < _CLOCK_STEP_NS:
        time.sleep((_CLOCK_STEP_NS - age) / 1e9)
    return True
