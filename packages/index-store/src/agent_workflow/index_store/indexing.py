"""Indexing one run: read, validate, verify the seal, and replace its rows in one transaction."""

import json
import os
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import NamedTuple

import apsw

from agent_workflow.evidence_schemas import ContractStatus, Record, find_contract
from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.discovery import Candidate, RunScan, Source, Storage, open_run, scan_candidate, scan_run
from agent_workflow.index_store.document_rows import metrics_rows, process_result_row, workflow_rows
from agent_workflow.index_store.documents import (
    FINAL_RECEIPT,
    METRICS,
    PROCESS_RESULT,
    PROJECTED_DOCUMENTS,
    RunDocuments,
    pick_documents,
)
from agent_workflow.index_store.errors import (
    EvidenceError,
    HistoricalArtifact,
    InvalidReceipt,
    UnsafeSource,
    UnsettledSource,
)
from agent_workflow.index_store.journals import NOTHING, Checkpoint, JournalProjector, continues
from agent_workflow.index_store.projection import schema_id_of
from agent_workflow.index_store.reading import Content, identity, read_source
from agent_workflow.index_store.receipts import Artifact, verify_receipt
from agent_workflow.index_store.records import NAMESPACE, RecordReader
from agent_workflow.index_store.run_row import owned_workflow_id, run_columns
from agent_workflow.index_store.run_writer import Notice, ReadSource, RunWriter

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
        records_parsed: records that were parsed; less than it has where journals only grew.
        notices: what is worth telling.
    """

    session_id: str
    error: EvidenceError | None
    sources: int = 0
    records_parsed: int = 0
    notices: tuple[Notice, ...] = ()


class _ResumePoint(NamedTuple):
    """Where a journal that was projected before goes on."""

    checkpoint: Checkpoint
    schema_ids: frozenset[str]


_FROM_THE_START = _ResumePoint(NOTHING, frozenset())


class _Restart(Exception):
    """A journal did not continue its checkpoint: the run is to be read whole."""


@dataclass
class _Reading:
    """What reading a run gathers until its row can be made."""

    resume: Mapping[str, _ResumePoint]
    moved: bool = False
    records_parsed: int = 0
    sources: list[ReadSource] = field(default_factory=list)
    checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    documents: dict[str, Record] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)


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
        settled = _settle(scan)
        descriptor = _directory(candidate, storage)
        try:
            outcome, moving = self._replace(candidate, scan, descriptor, resume, settled=settled)
        except _Restart:
            outcome, moving = self._replace(candidate, scan, descriptor, {}, settled=settled)
        if candidate.has_archived_twin and isinstance(outcome.error, HistoricalArtifact):
            twin = candidate.archived_twin
            archive = _directory(twin, storage)
            twin_scan = replace(scan_run(twin, archive), fingerprint=scan.fingerprint)
            with self._connection:
                self._writer.clear(scan.session_id)  # the error just written, which a fresh database is not cleared of
            return self._replace(twin, twin_scan, archive, {}, settled=settled)
        return outcome, moving

    def _replace(
        self,
        candidate: Candidate,
        scan: RunScan,
        storage_descriptor: int,
        resume: Mapping[str, _ResumePoint],
        *,
        settled: bool,
    ) -> tuple[RunOutcome, bool]:
        """Replace the rows in one transaction; the flag says that the files were still moving."""
        reading = _Reading(resume)
        try:
            with self._connection:
                self._project(candidate, scan, storage_descriptor, reading, settled=settled)
        except EvidenceError as error:
            self._write_error(scan, error, settled=settled)
            moving = reading.moved or not error.settled
            return RunOutcome(scan.session_id, error, len(scan.sources), reading.records_parsed), moving
        outcome = RunOutcome(scan.session_id, None, len(scan.sources), reading.records_parsed, tuple(reading.notices))
        return outcome, reading.moved

    def _write_error(self, scan: RunScan, error: EvidenceError, *, settled: bool) -> None:
        fingerprint = _stored(scan, settled=settled and error.settled)
        with self._connection:
            self._writer.write_error(scan, fingerprint, error)

    def _project(
        self, candidate: Candidate, scan: RunScan, storage_descriptor: int, reading: _Reading, *, settled: bool
    ) -> None:
        if scan.faults:
            raise UnsafeSource(scan.faults[0].reason, scan.faults[0].path)
        if reading.resume:
            self._writer.clear_documents(scan.session_id)
        elif not self._fresh:
            self._writer.clear(scan.session_id)
        run_directory = _open_run(candidate, storage_descriptor)
        try:
            for source in scan.sources:
                self._project_source(scan.session_id, source, run_directory, reading)
            documents = pick_documents(reading.documents)
            sealed = self._verify_seal(scan, documents, run_directory, reading)
        finally:
            os.close(run_directory)
        indexed_at = utc_now()
        self._writer.write_sources(scan.session_id, reading.sources, indexed_at)
        self._writer.write_checkpoints(scan.session_id, reading.checkpoints)
        self._write_documents(scan.session_id, documents, reading, indexed_at)
        self._writer.write_notices(scan.session_id, reading.notices)
        columns = run_columns(documents, sealed=sealed)
        receipt = reading.artifacts[FINAL_RECEIPT].sha256 if sealed else None
        fingerprint = _stored(scan, settled=settled and not reading.moved)
        self._writer.write_run(scan, fingerprint, receipt, columns, indexed_at)

    def _project_source(self, session_id: str, source: Source, run_directory: int, reading: _Reading) -> None:
        try:
            content = read_source(run_directory, source.path, source.kind)
        except FileNotFoundError:
            raise UnsettledSource(
                "it vanished while the run was read; the next sync tries again", source.path
            ) from None
        reading.moved = reading.moved or content.moved or identity(content.status) != identity(source.status)
        read = Source(source.path, source.kind, content.status)
        if source.kind == "jsonl":
            self._project_journal(session_id, read, content, reading)
        else:
            self._project_document(read, content, reading)

    def _project_journal(self, session_id: str, source: Source, content: Content, reading: _Reading) -> None:
        since = reading.resume.get(source.path, _FROM_THE_START)
        if not continues(content.data, since.checkpoint):
            raise _Restart
        progress = self._journals.project(
            session_id, source.path, content.data, since.checkpoint, self._writer.write_journal_rows
        )
        reading.records_parsed += progress.parsed
        schema_ids = progress.schema_ids | since.schema_ids
        _note_unknown_contracts(source.path, schema_ids, reading)
        reading.artifacts[source.path] = Artifact(len(content.data), progress.sha256)
        reading.checkpoints[source.path] = progress.checkpoint
        reading.sources.append(ReadSource(*source, progress.sha256, progress.checkpoint.record_count, schema_ids))

    def _project_document(self, source: Source, content: Content, reading: _Reading) -> None:
        record = self._reader.parse(content.data, source.path, None)
        reading.records_parsed += 1
        digest = sha256(content.data).hexdigest()
        reading.artifacts[source.path] = Artifact(len(content.data), digest)
        schema_id = schema_id_of(record)
        schema_ids = frozenset(() if schema_id is None else (schema_id,))
        _note_unknown_contracts(source.path, schema_ids, reading)
        if record.model is not None and source.path in PROJECTED_DOCUMENTS:
            reading.documents[source.path] = record.model
        reading.sources.append(ReadSource(*source, digest, 1, schema_ids))

    def _verify_seal(self, scan: RunScan, documents: RunDocuments, run_directory: int, reading: _Reading) -> bool:
        if not scan.sealed:
            return False
        if documents.receipt is None:
            raise InvalidReceipt("is no final-receipt/v1", FINAL_RECEIPT)
        mode = next(source.status.st_mode for source in scan.sources if source.path == FINAL_RECEIPT)
        complete = verify_receipt(
            scan.session_id, documents.receipt, mode, documents.launch, run_directory, reading.artifacts
        )
        if not complete:
            detail = "sealed under a launch contract that this version does not know; completeness cannot be judged"
            reading.notices.append(Notice(FINAL_RECEIPT, "unknown_seal", None, detail))
        return complete

    def _write_documents(self, session_id: str, documents: RunDocuments, reading: _Reading, indexed_at: str) -> None:
        if documents.process_result is not None:
            digest = reading.artifacts[PROCESS_RESULT].sha256
            self._writer.write_process_result(process_result_row(session_id, documents.process_result, digest))
        if documents.metrics is not None:
            digest = reading.artifacts[METRICS].sha256
            self._writer.write_metrics(metrics_rows(session_id, documents.metrics, digest))
        rows = workflow_rows(session_id, documents.workflow_snapshot, documents.workflow_status, indexed_at)
        workflow_id = owned_workflow_id(documents)
        if rows is not None and workflow_id is not None and self._writer.claim_workflow(session_id, workflow_id):
            self._writer.write_workflow(workflow_id, rows)

    def _resume_points(self, scan: RunScan) -> dict[str, _ResumePoint]:
        """Return where the journals of a run go on; nothing unless it is current and still has all of them."""
        found = {
            str(path): _ResumePoint(Checkpoint(int(size), int(count), str(digest)), frozenset(json.loads(str(ids))))
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


def _note_unknown_contracts(path: str, schema_ids: Collection[str], reading: _Reading) -> None:
    detail = "a contract that this version does not know; indexed by its provenance alone"
    for contract in sorted(schema_ids):
        if contract.startswith(NAMESPACE) and find_contract(contract).status is ContractStatus.UNKNOWN:
            reading.notices.append(Notice(path, "unknown_contract", contract, detail))


def _stored(scan: RunScan, *, settled: bool) -> str:
    return scan.fingerprint if settled else UNSETTLED_PREFIX + scan.fingerprint


def _settle(scan: RunScan) -> bool:
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
