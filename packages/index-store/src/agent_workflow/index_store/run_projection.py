"""Projecting one run: its sources are read, validated and written as rows, its seal is verified, its row is made.

Everything happens in a transaction of the caller. An error of the evidence leaves it half done, to be rolled back.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import apsw

from agent_workflow.evidence_schemas import ContractStatus, Record, find_contract
from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.document_rows import metrics_rows, process_result_row, workflow_rows
from agent_workflow.index_store.documents import (
    FINAL_RECEIPT,
    FINAL_STATUS,
    METRICS,
    PROCESS_RESULT,
    PROJECTED_DOCUMENTS,
    STATUS,
    RunDocuments,
    pick_documents,
)
from agent_workflow.index_store.errors import InvalidReceipt, UnsettledSource
from agent_workflow.index_store.journals import NOTHING, Checkpoint, JournalProjector, continues
from agent_workflow.index_store.projection import schema_id_of
from agent_workflow.index_store.reading import Content, identity, read_source
from agent_workflow.index_store.receipts import Artifact, verify_receipt
from agent_workflow.index_store.records import NAMESPACE, RecordReader
from agent_workflow.index_store.run_row import owned_workflow_id, run_columns
from agent_workflow.index_store.run_writer import Notice, ReadSource, RunWriter
from agent_workflow.index_store.scanning import RunScan, Source


class ResumePoint(NamedTuple):
    """Where a journal that was projected before goes on."""

    checkpoint: Checkpoint
    schema_ids: frozenset[str]


_FROM_THE_START = ResumePoint(NOTHING, frozenset())


class JournalRestarted(Exception):
    """A journal did not continue its checkpoint: the run is to be read whole."""


@dataclass
class RunProjection:
    """One run on its way into the database.

    Attributes:
        connection: with the caller's open transaction.
        reader: parses and validates documents.
        journals: projects journals.
        scan: what the run's directory looked like.
        resume: where its journals go on; empty to read it whole.
        moved: a source changed after the scan: the next sync must look again.
        records_parsed: journal records that were parsed.
        notices: what is worth telling.
    """

    connection: apsw.Connection
    reader: RecordReader
    journals: JournalProjector
    scan: RunScan
    resume: Mapping[str, ResumePoint]
    moved: bool = False
    records_parsed: int = 0
    notices: list[Notice] = field(default_factory=list)
    _sources: list[ReadSource] = field(default_factory=list)
    _checkpoints: dict[str, Checkpoint] = field(default_factory=dict)
    _documents: dict[str, Record] = field(default_factory=dict)
    _artifacts: dict[str, Artifact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._writer = RunWriter(self.connection)
        self._reads_whole_next_time = False

    def project(self, run_directory: int, fingerprint: str, moved_fingerprint: str) -> None:
        """Write all rows of the run; what it had before must be cleared.

        Args:
            run_directory: descriptor of the run's directory.
            fingerprint: to be stored with the run's row.
            moved_fingerprint: to be stored instead where a source changed meanwhile.

        Raises:
            EvidenceError: the run is no evidence as it stands.
            JournalRestarted: it must be cleared and read whole.
        """
        session_id = self.scan.session_id
        for source in self.scan.sources:
            self._project_source(source, run_directory)
        documents = pick_documents(self._documents)
        sealed = self._verify_seal(documents, run_directory)
        self._note_other_session(documents)
        indexed_at = utc_now()
        self._writer.write_sources(session_id, self._sources, indexed_at)
        self._writer.write_checkpoints(session_id, {} if self._reads_whole_next_time else self._checkpoints)
        self._write_documents(documents, indexed_at)
        self._writer.write_notices(session_id, self.notices)
        receipt = self._artifacts[FINAL_RECEIPT].sha256 if sealed else None
        stored = moved_fingerprint if self.moved else fingerprint
        self._writer.write_run(self.scan, stored, receipt, run_columns(documents, sealed=sealed), indexed_at)
        if documents.traced_launch is not None:
            self._writer.write_trace(session_id, documents.traced_launch)

    def _project_source(self, source: Source, run_directory: int) -> None:
        try:
            content = read_source(run_directory, source.path, source.kind)
        except FileNotFoundError:
            raise UnsettledSource(
                "it vanished while the run was read; the next sync tries again", source.path
            ) from None
        self.moved = self.moved or content.moved or identity(content.status) != identity(source.status)
        read = Source(source.path, source.kind, content.status)
        if source.kind == "jsonl":
            self._project_journal(read, content)
        else:
            self._project_document(read, content)

    def _project_journal(self, source: Source, content: Content) -> None:
        session_id = self.scan.session_id
        since = self.resume.get(source.path, _FROM_THE_START)
        if not continues(content.data, since.checkpoint):
            raise JournalRestarted
        progress = self.journals.project(
            session_id, source.path, content.data, since.checkpoint, self._writer.write_journal_rows
        )
        self.records_parsed += progress.parsed
        schema_ids = progress.schema_ids | since.schema_ids
        for contract in _unknown_contracts(schema_ids):
            line = self.connection.execute(_FIRST_LINE, (session_id, source.path, contract)).get
            self._note_unknown_contract(source.path, contract, f"line {line} is the first of ")
        if progress.first_foreign_line is not None:
            self._reads_whole_next_time = True  # so that the notice counts all of them then as well
            detail = f"{progress.foreign_lines} lines are no records; the first is {progress.first_foreign_line.detail}"
            self.notices.append(Notice(source.path, "foreign_lines", None, detail))
        self._artifacts[source.path] = Artifact(len(content.data), progress.sha256)
        self._checkpoints[source.path] = progress.checkpoint
        self._sources.append(ReadSource(*source, progress.sha256, progress.checkpoint.record_count, schema_ids))

    def _project_document(self, source: Source, content: Content) -> None:
        record = self.reader.parse(content.data, source.path, None)
        digest = sha256(content.data).hexdigest()
        self._artifacts[source.path] = Artifact(len(content.data), digest)
        schema_id = schema_id_of(record)
        schema_ids = frozenset(() if schema_id is None else (schema_id,))
        for contract in _unknown_contracts(schema_ids):
            self._note_unknown_contract(source.path, contract, "")
        if source.path in PROJECTED_DOCUMENTS:
            if record.model is not None:
                self._documents[source.path] = record.model
            elif record.contract is None:
                detail = "names no contract of ours, so nothing of it is shown"
                self.notices.append(Notice(source.path, "no_contract", None, detail))
        self._sources.append(ReadSource(*source, digest, 1, schema_ids))

    def _note_unknown_contract(self, path: str, contract: str, place: str) -> None:
        detail = f"{place}a contract that this version does not know; indexed by its provenance alone"
        self.notices.append(Notice(path, "unknown_contract", contract, detail))

    def _note_other_session(self, documents: RunDocuments) -> None:
        """Tell of a directory that was copied or renamed: the run it shows is one that lies elsewhere too."""
        status = documents.status
        if status is not None and status.session_id != self.scan.session_id:
            path = FINAL_STATUS if FINAL_STATUS in self._documents else STATUS
            self.notices.append(Notice(path, "other_session", None, f"is the status of session {status.session_id}"))

    def _verify_seal(self, documents: RunDocuments, run_directory: int) -> bool:
        if not self.scan.sealed:
            return False
        if documents.receipt is None:
            raise InvalidReceipt("is no final-receipt/v1", FINAL_RECEIPT)
        mode = next(source.status.st_mode for source in self.scan.sources if source.path == FINAL_RECEIPT)
        complete = verify_receipt(
            self.scan.session_id,
            documents.receipt,
            mode,
            documents.launch,
            documents.final_status,
            (source.path for source in self.scan.sources),
            run_directory,
            self._artifacts,
        )
        if not complete:
            detail = "sealed under a launch contract that this version does not know; completeness cannot be judged"
            self.notices.append(Notice(FINAL_RECEIPT, "unknown_seal", None, detail))
        return complete

    def _write_documents(self, documents: RunDocuments, indexed_at: str) -> None:
        session_id = self.scan.session_id
        if documents.process_result is not None:
            digest = self._artifacts[PROCESS_RESULT].sha256
            self._writer.write_process_result(process_result_row(session_id, documents.process_result, digest))
        if documents.metrics is not None:
            digest = self._artifacts[METRICS].sha256
            self._writer.write_metrics(metrics_rows(session_id, documents.metrics, digest))
        rows = workflow_rows(session_id, documents.workflow_snapshot, documents.workflow_status, indexed_at)
        workflow_id = owned_workflow_id(documents)
        if rows is not None and workflow_id is not None and self._writer.claim_workflow(session_id, workflow_id):
            self._writer.write_workflow(workflow_id, rows)


_FIRST_LINE = "SELECT min(source_sequence) FROM events WHERE session_id = ? AND relative_path = ? AND schema_id = ?"


def _unknown_contracts(schema_ids: Collection[str]) -> list[str]:
    return [
        contract
        for contract in sorted(schema_ids)
        if contract.startswith(NAMESPACE) and find_contract(contract).status is ContractStatus.UNKNOWN
    ]
