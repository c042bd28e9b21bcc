"""Judging one run's seal from its files alone, as verification does; indexing uses what it has read already."""

import os
from dataclasses import dataclass
from hashlib import sha256

from agent_workflow.evidence_schemas import FinalReceipt, Record, SessionStatus
from agent_workflow.index_store.discovery import Candidate, open_run
from agent_workflow.index_store.documents import FINAL_RECEIPT, FINAL_STATUS, LAUNCH, as_launch
from agent_workflow.index_store.errors import EvidenceError, InvalidReceipt, UnsafeSource
from agent_workflow.index_store.reading import read_source
from agent_workflow.index_store.receipts import verify_receipt
from agent_workflow.index_store.records import RecordReader
from agent_workflow.index_store.scanning import scan_run


@dataclass(frozen=True)
class Seal:
    """The judgement of a seal.

    Attributes:
        verdict: ``verified``, ``unsealed`` (no receipt), ``mismatch`` (it does not hold), ``unreadable``, or
            ``incomplete`` (every artifact matches, but what must be listed is not known to this version).
        receipt_sha256: digest of the receipt, where it could be read.
        error: what does not hold.
    """

    verdict: str
    receipt_sha256: str | None
    error: EvidenceError | None


def check_seal(candidate: Candidate, storage_descriptor: int) -> Seal:
    """Read a run's receipt and hash everything that it seals."""
    try:
        sources = tuple(source.path for source in scan_run(candidate, storage_descriptor).sources)
        directory = open_run(candidate, storage_descriptor)
    except OSError as error:
        reason = f"the run directory cannot be opened: {error.strerror}"
        return Seal("unreadable", None, UnsafeSource(reason, "."))
    try:
        return _check(candidate.session_id, directory, sources)
    finally:
        os.close(directory)


def _check(session_id: str, directory: int, sources: tuple[str, ...]) -> Seal:
    reader = RecordReader()
    digest = None
    try:
        content = read_source(directory, FINAL_RECEIPT, "json")
        digest = sha256(content.data).hexdigest()
        receipt = reader.parse(content.data, FINAL_RECEIPT, None).model
        if not isinstance(receipt, FinalReceipt):
            raise InvalidReceipt("is no final-receipt/v1", FINAL_RECEIPT)
        launch = as_launch(read_document(directory, LAUNCH, reader))
        ended = read_document(directory, FINAL_STATUS, reader)
        final_status = ended if isinstance(ended, SessionStatus) else None
        mode = content.status.st_mode
        complete = verify_receipt(session_id, receipt, mode, launch, final_status, sources, directory, {})
    except FileNotFoundError:
        return Seal("unsealed", None, None)
    except InvalidReceipt as error:
        return Seal("mismatch", digest, error)
    except EvidenceError as error:
        return Seal("unreadable", digest, error)
    return Seal("verified" if complete else "incomplete", digest, None)


def read_document(directory: int, path: str, reader: RecordReader) -> Record | None:
    """Read and validate one document of a run.

    Returns:
        The record; None where there is no such file or its contract is not known.

    Raises:
        EvidenceError: it cannot be read safely, or breaks its contract.
    """
    try:
        content = read_source(directory, path, "json")
    except FileNotFoundError:
        return None
    return reader.parse(content.data, path, None).model
