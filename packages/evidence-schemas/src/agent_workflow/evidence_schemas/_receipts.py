"""Receipts and archives: records that seal, judge or move a run."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape, Unique, WhenPresent
from agent_workflow.evidence_schemas._scalars import Natural, Sha256, SomeTexts, Text


class ReceiptArtifact(Shape, extra="forbid"):
    """One sealed file; the path is relative to the run directory."""

    path: str
    size: Natural
    sha256: Sha256


class FinalReceipt(Record, extra="forbid"):
    """``final-receipt.json``: the sealed list of a run's artifacts."""

    schema_: Literal["agent-workflow/final-receipt/v1"] = Field(alias="schema")
    session_id: str
    sealed_at: str
    artifacts: Annotated[list[ReceiptArtifact], Field(min_length=1)]


class LifecycleReceipt(Record, extra="forbid"):
    """``receipts/NNNNNN-<action>.json``: a sealed run was reviewed, accepted or rejected."""

    schema_: Literal["agent-workflow/lifecycle-receipt/v1"] = Field(alias="schema")
    session_id: str
    action: Literal["reviewed", "accepted", "rejected"]
    actor: Text
    reason: Text
    created_at: str
    final_receipt_sha256: Sha256
    score_receipt_sha256: Sha256 | None = None
    revision: str | None = None
    reviewer_independent: WhenPresent[bool] = None


class ForceAcceptReceipt(Record, extra="forbid"):
    """``force-accept-receipt.json``: someone accepted a run against its gates."""

    schema_: Literal["agent-workflow/force-accept-receipt/v1"] = Field(alias="schema")
    session_id: Text
    actor: Text
    created_at: Text
    reason: Text
    acknowledgement: Literal["FORCE-ACCEPT"]
    command: SomeTexts
    command_sha256: Sha256
    final_receipt_sha256: Sha256
    normal_gate_failures: Annotated[list[Text], Field(min_length=1), Unique()]


class RunArchive(Record, extra="forbid"):
    """``archive-manifest.json``: a run was moved to the archive."""

    schema_: Literal["agent-workflow/run-archive/v1"] = Field(alias="schema")
    session_id: Text
    source_run: Text
    archived_run: Text
    archived_at: Text
    reason: Text
    final_receipt_sha256: Sha256
    accepted_revision: str | None
    operation: Literal["moved"]


class ExportedFile(Shape, extra="forbid"):
    """One file of an archive's export."""

    path: Text
    sha256: Sha256
    size: Natural


class TransferChecksum(Shape, extra="forbid"):
    """How the checksum of the transferred archive is to be made."""

    required_in_repository: Annotated[Literal[False], Exactly()]
    instruction: Text


class LifecycleArchive(Record, extra="forbid"):
    """``archive-plan.json``: how long a run is kept and what is exported of it."""

    schema_: Literal["agent-workflow/lifecycle-archive/v1"] = Field(alias="schema")
    run_id: Text
    retention_class: Literal["transient", "standard", "release", "legal-hold"]
    export_contents: list[ExportedFile]
    transfer_checksum: TransferChecksum
    archive_status: Literal["not_started", "prepared", "archived", "verified", "failed"]
    cleanup_status: Literal["not_started", "retained", "cleaned", "blocked"]
