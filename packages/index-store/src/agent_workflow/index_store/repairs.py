"""Evidence repairs: supplements to sealed runs, projected only where they verify. They never change a run's row."""

import os
from hashlib import sha256
from typing import TypeVar

import apsw

from agent_workflow.evidence_schemas import Completion, EvidenceRepair, EvidenceRepairReceipt, FinalReceipt, Record
from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.discovery import ID_PATTERN, Candidate, RunScan, open_run, scan_run
from agent_workflow.index_store.documents import FINAL_RECEIPT
from agent_workflow.index_store.errors import EvidenceError, InvalidReceipt, UnsafeSource
from agent_workflow.index_store.projection import Row
from agent_workflow.index_store.reading import read_source
from agent_workflow.index_store.receipts import Artifact, check_artifact, listed_artifacts, refuse_unsafe_path
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.state_root import REPAIRS_DIRECTORY, STORAGE_DIRECTORIES, StateRoot

R = TypeVar("R", bound=Record)

_RECORD = "evidence-repair.json"
_RECEIPT = "repair-receipt.json"


def reconcile_repairs(root: StateRoot, connection: apsw.Connection) -> None:
    """Verify every repair whose files or whose run changed, and forget those that are gone.

    Runs must have been reconciled before: a repair is judged against their rows.

    Raises:
        UnsafePath: the directory of the repairs itself is unsafe.
    """
    reader = RecordReader()
    with root.directory(REPAIRS_DIRECTORY) as descriptor:
        names = (
            [] if descriptor is None else sorted(name for name in os.listdir(descriptor) if ID_PATTERN.fullmatch(name))
        )
        for name in names:
            if descriptor is not None:
                _reconcile_repair(root, connection, reader, descriptor, name)
    for (gone,) in connection.execute("SELECT repair_id FROM repair_checkpoints").fetchall():
        if gone not in names:
            _store(connection, str(gone), None, None, None)


def _reconcile_repair(
    root: StateRoot, connection: apsw.Connection, reader: RecordReader, descriptor: int, repair_id: str
) -> None:
    candidate = Candidate(repair_id, "active")
    try:
        scan = scan_run(candidate, descriptor, every_file=True)
    except FileNotFoundError:
        _store(connection, repair_id, None, None, None)
        return
    fingerprint = _fingerprint(connection, scan)
    before = connection.execute("SELECT fingerprint FROM repair_checkpoints WHERE repair_id = ?", (repair_id,)).get
    if before == fingerprint:
        return
    try:
        row = _verify(root, connection, reader, candidate, scan, descriptor)
    except EvidenceError as error:
        _store(connection, repair_id, fingerprint, None, error)
    else:
        _store(connection, repair_id, fingerprint, row, None)


def _fingerprint(connection: apsw.Connection, scan: RunScan) -> str:
    """Return what a verdict depends on: the repair's files and the state of every sealed run."""
    digest = sha256(scan.fingerprint.encode())
    rows = connection.execute(
        "SELECT session_id, source_fingerprint, final_receipt_sha256 FROM runs "
        "WHERE final_receipt_sha256 IS NOT NULL ORDER BY session_id"
    )
    for row in rows:
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _verify(
    root: StateRoot,
    connection: apsw.Connection,
    reader: RecordReader,
    candidate: Candidate,
    scan: RunScan,
    descriptor: int,
) -> Row:
    """Check a repair against its receipt, its run and its own claims.

    Raises:
        EvidenceError: naming what does not hold.
    """
    if scan.faults:
        raise UnsafeSource(scan.faults[0].reason, scan.faults[0].path)
    try:
        directory = open_run(candidate, descriptor)
    except OSError as error:
        raise UnsafeSource(f"the repair cannot be opened: {error.strerror}", ".") from error
    try:
        record, record_digest = _read(directory, _RECORD, EvidenceRepair, reader)
        receipt, receipt_digest = _read(directory, _RECEIPT, EvidenceRepairReceipt, reader)
        _check_identities(candidate.session_id, record, receipt)
        listed = _check_files(receipt, scan, directory)
        if listed.get(_RECORD) != record_digest:
            raise InvalidReceipt(f"does not seal {_RECORD} as it is", _RECEIPT)
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
        raise InvalidReceipt("names another repair than its directory", _RECEIPT)
    if receipt.source_session_id != record.source.session_id:
        raise InvalidReceipt(f"names another run than {_RECORD}", _RECEIPT)
    if receipt.source_final_receipt_sha256 != record.source.final_receipt_sha256:
        raise InvalidReceipt(f"names another receipt of the run than {_RECORD}", _RECEIPT)
    check = record.source_mutation_check
    if check.fingerprint_before != check.fingerprint_after:
        raise InvalidReceipt("says that the run changed while it was repaired", _RECORD)


def _check_files(receipt: EvidenceRepairReceipt, scan: RunScan, directory: int) -> dict[str, Artifact]:
    listed: dict[str, Artifact] = {}
    for entry in receipt.artifacts:
        refuse_unsafe_path(entry.path, _RECEIPT)
        artifact = Artifact(entry.size, entry.sha256)
        if listed.setdefault(entry.path, artifact) != artifact:
            raise InvalidReceipt("has two entries for one path that disagree", _RECEIPT)
        check_artifact(entry.path, artifact, directory, None, listed_by=_RECEIPT)
    unlisted = [path for path in scan.files if path != _RECEIPT and path not in listed]
    if unlisted:
        raise InvalidReceipt(f"does not seal {unlisted[0]}", _RECEIPT)
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
        directory = open_run(Candidate(source.session_id, "active"), storage)
        try:
            receipt, _ = _read(directory, FINAL_RECEIPT, FinalReceipt, reader)
        finally:
            os.close(directory)
    sealed = listed_artifacts(receipt).get(source.artifact_path)
    if sealed is None:
        raise InvalidReceipt(f"repairs {source.artifact_path}, which its run does not seal", _RECORD)
    if sealed.sha256 != source.artifact_sha256:
        raise InvalidReceipt(f"names another digest of {source.artifact_path} than its run seals", _RECORD)


def _store(
    connection: apsw.Connection, repair_id: str, fingerprint: str | None, row: Row | None, error: EvidenceError | None
) -> None:
    """Replace everything that is known of one repair, in one transaction."""
    prefix = f"{REPAIRS_DIRECTORY}/{repair_id}/"
    with connection:
        connection.execute("DELETE FROM evidence_repairs WHERE repair_id = ?", (repair_id,))
        connection.execute("DELETE FROM repair_checkpoints WHERE repair_id = ?", (repair_id,))
        connection.execute(
            "DELETE FROM index_errors WHERE session_id IS NULL AND substr(source_path, 1, ?) = ?", (len(prefix), prefix)
        )
        if fingerprint is not None:
            connection.execute("INSERT INTO repair_checkpoints VALUES (?, ?)", (repair_id, fingerprint))
        if row is not None:
            connection.execute(f"INSERT INTO evidence_repairs VALUES ({', '.join('?' * 16)})", row)  # noqa: S608
        if error is not None:
            connection.execute(
                "INSERT INTO index_errors (session_id, source_path, detected_at, category, detail) "
                "VALUES (NULL, ?, ?, ?, ?)",
                (prefix + error.source_path, utc_now(), error.category, error.detail),
            )
