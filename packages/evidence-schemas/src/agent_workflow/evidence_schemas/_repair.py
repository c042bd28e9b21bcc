"""Evidence repairs: supplements beside a sealed run, which itself is never changed."""

from typing import Annotated, Any, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape, Unique
from agent_workflow.evidence_schemas._completion import Result, ReviewDisposition
from agent_workflow.evidence_schemas._scalars import Natural, Sha256, Text


class RepairSource(Shape, extra="forbid"):
    """The sealed artifact that was repaired."""

    session_id: Text
    final_receipt_sha256: Sha256
    artifact_path: Text
    artifact_sha256: Sha256


class RepairAdapter(Shape, extra="forbid"):
    """The program that made the repair."""

    id: Literal["completion-normalize-v1"]
    version: Literal["1"]
    sha256: Sha256


class RepairCanonical(Shape, extra="forbid"):
    """The repaired copy."""

    path: Literal["canonical-completion.json"]
    sha256: Sha256
    schema_: Literal["agent-workflow/completion/v1"] = Field(alias="schema")
    validation_result: Literal["valid"]


class OriginalInterpretation(Shape, extra="forbid"):
    """What the artifact said before, as far as it could be read."""

    schema_: str | None = Field(alias="schema")
    result: str | None
    review_disposition: str | None


class SupplementalInterpretation(Shape, extra="forbid"):
    """What the repaired copy says; it decides nothing."""

    result: Result
    review_disposition: ReviewDisposition | None
    acceptance_authority: Annotated[Literal[False], Exactly()]


class NormalizationDifference(Shape, extra="forbid"):
    """One field that the repair changed."""

    field: str
    before: Any
    after: Any
    classification: Literal["structural-normalization"]


class SourceMutationCheck(Shape, extra="forbid"):
    """The proof that the run was left as it was."""

    fingerprint_before: Sha256
    fingerprint_after: Sha256
    unchanged: Annotated[Literal[True], Exactly()]


class EvidenceRepair(Record, extra="forbid"):
    """``evidence-repair.json``."""

    schema_: Literal["agent-workflow/evidence-repair/v1"] = Field(alias="schema")
    repair_id: Text
    created_at: str
    actor: Text
    source: RepairSource
    adapter: RepairAdapter
    canonical: RepairCanonical
    original_interpretation: OriginalInterpretation
    supplemental_interpretation: SupplementalInterpretation
    normalization_differences: list[NormalizationDifference]
    source_mutation_check: SourceMutationCheck


class RepairArtifact(Shape, extra="forbid"):
    """One file of a repair."""

    path: Text
    size: Natural
    sha256: Sha256


class EvidenceRepairReceipt(Record, extra="forbid"):
    """``repair-receipt.json``: the sealed list of a repair's files."""

    schema_: Literal["agent-workflow/evidence-repair-receipt/v1"] = Field(alias="schema")
    repair_id: Text
    source_session_id: Text
    source_final_receipt_sha256: Sha256
    sealed_at: str
    artifacts: Annotated[list[RepairArtifact], Field(min_length=3), Unique()]
