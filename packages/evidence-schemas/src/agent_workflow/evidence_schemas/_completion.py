"""What an agent says it has done, and what was collected of that."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from agent_workflow.evidence_schemas._base import Record, Shape, Unique, WhenPresent
from agent_workflow.evidence_schemas._scalars import FreeObject, Int64, Sha256, SomeTexts, Texts
from agent_workflow.evidence_schemas._status import CompletionResult

Result = Literal["completed", "partial", "failed", "blocked"]
ReviewDisposition = Literal["approved", "changes_requested", "blocked"]

# Which results go with a review disposition; without a disposition any result does.
_RESULTS_OF_DISPOSITION: dict[str, tuple[str, ...]] = {
    "approved": ("completed",),
    "changes_requested": ("completed", "partial"),
    "blocked": ("partial", "blocked"),
}


# The same as JSON Schema.
_RULES: FreeObject = {
    "allOf": [
        {
            "if": {"properties": {"review_disposition": {"const": disposition}}, "required": ["review_disposition"]},
            "then": {"properties": {"result": {"enum": list(results)}}},
        }
        for disposition, results in _RESULTS_OF_DISPOSITION.items()
    ]
}


class CriterionResult(Shape, extra="forbid"):
    """One acceptance criterion and the evidence for its result."""

    id: str
    result: Literal["pass", "fail", "not_verified"]
    evidence: Texts


class CommandResult(Shape, extra="forbid"):
    """One command that the agent ran to check its work."""

    argv: SomeTexts
    cwd: str
    exit_code: Int64
    receipt: str


class CloseoutReference(Shape, extra="forbid"):
    """The repository closeout, by digest."""

    path: Literal["repository-closeout.json"]
    sha256: Sha256


class CloseoutClaims(Shape, extra="forbid"):
    """What the agent claims about its commits."""

    committed: bool
    pushed: bool
    merged: bool | None


class Completion(Record, extra="forbid", json_schema_extra=_RULES):
    """``completion.json``, and ``canonical-completion.json`` of an evidence repair."""

    schema_: Literal["agent-workflow/completion/v1"] = Field(alias="schema")
    session_id: str
    ticket_id: str | None = None
    pack_id: str | None = None
    result: Result
    base_revision: str | None
    head_revision: str | None
    changed_files: Annotated[list[str], Unique()]
    criteria: list[CriterionResult]
    commands: list[CommandResult]
    unresolved: Texts
    usage: FreeObject | None = None
    review_disposition: WhenPresent[ReviewDisposition] = None
    repository_closeout: CloseoutReference | None = None

    @model_validator(mode="after")
    def _result_fits_disposition(self) -> Self:
        if self.review_disposition and self.result not in _RESULTS_OF_DISPOSITION[self.review_disposition]:
            raise PydanticCustomError("contradiction", "a result that goes with its review_disposition")
        return self


class CompletionCollection(Record, extra="forbid"):
    """``collections/completion.json``: whether a completion was found, and whether it was valid."""

    schema_: Literal["agent-workflow/completion-collection/v1"] = Field(alias="schema")
    session_id: str
    adapter: Literal["native"]
    adapter_version: Literal["1"]
    source_path: str | None
    source_sha256: Sha256 | None
    canonical_mapping: Literal["identity"] | None
    canonical_sha256: Sha256 | None
    validation_status: CompletionResult
    validation_errors: Texts
    collected_at: str
    stored_path: str | None
    repository_closeout_source_path: str | None = None
    repository_closeout_source_sha256: Sha256 | None = None
    repository_closeout_stored_path: str | None = None
    repository_closeout_payload_sha256: Sha256 | None = None
    repository_closeout_claims: CloseoutClaims | None = None


class TaskResultCollection(Record, extra="forbid"):
    """``collections/task-result.json``: whether the task's own result was found and fits its schema."""

    schema_: Literal["agent-workflow/task-result-collection/v1"] = Field(alias="schema")
    session_id: str
    required: bool
    schema_path: str | None
    source_path: str | None
    source_sha256: str | None
    stored_path: str | None
    stored_sha256: str | None
    validation_status: Literal["not-configured", "missing", "valid", "invalid"]
    validation_errors: Texts
    collected_at: str
