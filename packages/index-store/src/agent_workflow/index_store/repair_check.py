"""Checking one evidence repair: against its receipt, against the run it supplements, and against its own claims."""

import os
from hashlib import sha256
from typing import TypeVar

import apsw

from agent_workflow.evidence_schemas import Completion, EvidenceRepair, EvidenceRepairReceipt, FinalReceipt, Record
from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.discovery import Candidate, open_run
from agent_workflow.index_store.documents import FINAL_RECEIPT
from agent_workflow.index_store.errors import InvalidReceipt, UnsafeSource
from agent_workflow.index_store.reading import read_source
from agent_workflow.index_store.receipts import Artifact, check_artifact, listed_artifacts
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.scanning import RunScan
from agent_workflow.index_store.state_root import REPAIRS_DIRECTORY, STORAGE_DIRECTORIES, StateRoot
from agent_workflow.index_store.values import Row

R = TypeVar("R", bound=Record)

_RECORD = "evidence-repair.json"
RECEIPT = "repair-receipt.json"


def verified_row(
    root: StateRoot, connection: apsw.Connection, candidate: Candidate, scan: RunScan, descriptor: int
) -> Row:
    """Check a repair and return its row of ``evidence_repairs``.

    Args:
        root: the open state root.
        connection: the index, in which runs have been reconciled.
        candidate: the repair, by its directory's name.
        scan: what its directory looked like just now.
        descriptor: descriptor of ``evidence-repairs/``.

    Raises:
        EvidenceError: naming what does not hold.
    """
    reader = RecordReader()
    if scan.faults:
        raise UnsafeSource(scan.faults[0].reason, scan.faults[0].path)
    try:
        directory = open_run(candidate, descriptor)
    except OSError as error:
        raise UnsafeSource(f"the repair cannot be opened: {error.strerror}", ".") from error
    try:
        record, record_digest = _read(directory, _RECORD, EvidenceRepair, reader)
        receipt, receipt_digest = _read(directory, RECEIPT, EvidenceRepairReceipt, reader)
        _check_identities(candidate.session_id, record, receipt)
        listed = _check_files(receipt, scan, directory)
        if listed.get(_RECORD) != record_digest:
            raise InvalidReceipt(f"does not seal {_RECORD} as it is", RECEIPT)
        _, canonical = _read(directory, record.canonical.path, Completion, reader)
        if canonical.sha256 != record.canonical.sha256:
            raise InvalidReceipt(f"differs from the digest in {_RECORD}", record.canonical.path)
    finally:
        os.close(directory)
    _check_source_run(root, connection, reader, record)
    return (
        record.repair_id,
        record.source.session_id,
        record.source.final_receipt_sha256,
        record.source.artifact_path,
        record.source.artifact_sha256,
        record.adapter.id,
        record.adapter.version,
        record.adapter.sha256,
        record.canonical.sha256,
        record.canonical.validation_result,
        int(record.source_mutation_check.unchanged),
        receipt_digest.sha256,
        f"{REPAIRS_DIRECTORY}/{record.repair_id}",
        record.created_at,
        record.actor,
        utc_now(),
    )


def _read(directory: int, path: str, model: type[R], reader: RecordReader) -> tuple[R, Artifact]:
    try:
        content = read_source(directory, path, "json")
    except FileNotFoundError:
        raise InvalidReceipt("is missing", path) from None
    record = reader.parse(content.data, path, None).model
    if not isinstance(record, model):
        raise InvalidReceipt("follows another contract than its name says", path)
    return record, Artifact(len(content.data), sha256(content.data).hexdigest())


def _check_identities(repair_id: str, record: EvidenceRepair, receipt: EvidenceRepairReceipt) -> None:
    if record.repair_id != repair_id:
        raise InvalidReceipt("names another repair than its directory", _RECORD)
    if receipt.repair_id != repair_id:
        raise InvalidReceipt("names another repair than its directory", RECEIPT)
    if receipt.source_session_id != record.source.session_id:
        raise InvalidReceipt(f"names another run than {_RECORD}", RECEIPT)
    if receipt.source_final_receipt_sha256 != record.source.final_receipt_sha256:
        raise InvalidReceipt(f"names another receipt of the run than {_RECORD}", RECEIPT)
    check = record.source_mutation_check
    if check.fingerprint_before != check.fingerprint_after:
        raise InvalidReceipt("says that the run changed while it was repaired", _RECORD)


def _check_files(receipt: EvidenceRepairReceipt, scan: RunScan, directory: int) -> dict[str, Artifact]:
    listed = listed_artifacts(receipt, RECEIPT)
    for path, artifact in listed.items():
        check_artifact(path, artifact, directory, None, listed_by=RECEIPT)
    unlisted = [path for path in scan.files if path != RECEIPT and path not in listed]
    if unlisted:
        raise InvalidReceipt(f"does not seal {unlisted[0]}", RECEIPT)
    return listed


def _check_source_run(
    root: StateRoot, connection: apsw.Connection, reader: RecordReader, record: EvidenceRepair
) -> None:
    source = record.source
    run = connection.execute(
        "SELECT storage_class, final_receipt_sha256 FROM runs WHERE session_id = ? AND evidence_complete = 1",
        (source.session_id,),
    ).fetchone()
    if run is None:
        raise InvalidReceipt(f"its run {source.session_id} has no seal that verifies", _RECORD)
    if run[1] != source.final_receipt_sha256:
        raise InvalidReceipt(f"names another receipt than run {source.session_id} has now", _RECORD)
    with root.directory(STORAGE_DIRECTORIES["archive" if run[0] == "archive" else "active"]) as storage:
        if storage is None:
            raise InvalidReceipt(f"its run {source.session_id} is gone", _RECORD)
        try:
            directory = open_run(Candidate(source.session_id, "active"), storage)
        except OSError as error:
            raise InvalidReceipt(f"its run {source.session_id} cannot be opened: {error.strerror}", _RECORD) from error
        try:
            receipt, _ = _read(directory, FINAL_RECEIPT, FinalReceipt, reader)
        finally:
            os.close(directory)
    sealed = listed_artifacts(receipt).get(source.artifact_path)
    if sealed is None:
        raise InvalidReceipt(f"repairs {source.artifact_path}, which its run does not seal", _RECORD)
    if sealed.sha256 != source.artifact_sha256:
        raise InvalidReceipt(f"names another digest of {source.artifact_path} than its run seals", _RECORD)
