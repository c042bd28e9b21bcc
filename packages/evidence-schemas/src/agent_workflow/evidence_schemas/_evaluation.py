"""How a run was judged: its scope, its scores, its row in the ledger."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape, Unique, WhenPresent
from agent_workflow.evidence_schemas._completion import CloseoutClaims
from agent_workflow.evidence_schemas._scalars import (
    FreeArray,
    FreeObject,
    GitRevision,
    Int64,
    Natural,
    Positive,
    Sha256,
    SomeTexts,
    Text,
    Texts,
)
from agent_workflow.evidence_schemas._status import (
    AttemptClassification,
    CompletionResult,
    Disposition,
    ExecutorResult,
    PolicyResult,
    Verdict,
)


class ToolingArtifact(Shape, extra="forbid"):
    """Files that a tool of the host left in the scope."""

    path: Text
    tool: Literal["codebase-memory"]
    valid: bool
    owner_uid: Natural | None
    owner_gid: Natural | None
    mode: Natural | None
    file_count: Natural
    size_bytes: Natural
    tree_sha256: Sha256 | None
    authorized_disposable: bool
    cleanup_policy: Literal["host-owned-disposable", "not-authorized"]
    size_limit_bytes: Positive
    within_size_limit: bool
    error: str | None


class ScopeSnapshot(Record, extra="forbid"):
    """``scope/scope-baseline.json`` and ``scope/scope-post.json``: the writable scope before and after."""

    schema_: Literal["agent-workflow/scope-snapshot/v1"] = Field(alias="schema")
    phase: Literal["baseline", "post"]
    root: str
    captured_at: str
    policy: FreeObject
    repositories: list[FreeObject]
    inventory: list[FreeObject]
    excluded: Texts
    tooling_artifacts: WhenPresent[list[ToolingArtifact]] = None


class EvidencePaths(Shape, extra="forbid"):
    """Where the evidence of a ledger row is; ``None`` where there is none."""

    status: str | None
    completion: str | None
    run_provenance: str | None
    final_receipt: str | None
    evaluation_runtime: str | None
    score_set: str | None
    evaluation_report: str | None
    trial_collection: str | None
    lifecycle_disposition: str | None
    completion_collection: str | None
    repository_closeout: str | None


class RepairAdapterIdentity(Shape, extra="forbid"):
    """The program that made a repair."""

    id: str
    version: str
    sha256: Sha256


class SupplementalRepair(Shape, extra="forbid"):
    """A repair that supplements the run and decides nothing."""

    repair_id: str
    source_artifact_path: str
    source_artifact_sha256: Sha256
    adapter: RepairAdapterIdentity
    canonical_sha256: Sha256
    validation_result: Literal["valid"]
    acceptance_authority: Annotated[Literal[False], Exactly()]
    repair_path: str


class DirtyCounts(Shape, extra="forbid"):
    """Changed files that were not committed, by kind."""

    source: Natural
    operational: Natural
    disposable: Natural


class RepositoryCloseout(Shape, extra="forbid"):
    """The repository as it was found after the run, beside what the agent claimed."""

    path: Literal["repository-closeout.json"]
    payload_sha256: Sha256
    baseline_revision: GitRevision | None
    local_head: GitRevision
    local_branch: str | None
    commit_state: Literal["clean", "source-clean-operational-dirty", "source-dirty"]
    dirty_counts: DirtyCounts
    remote_name: Text
    remote_branch: str | None
    remote_revision_before: GitRevision | None
    remote_revision_after: GitRevision | None
    remote_verification: Literal["verified", "failed", "cached-unverified", "unverified"]
    fetch_result: Literal["not-attempted", "succeeded", "failed"]
    push_result: Literal["not-attempted", "failed", "succeeded-unverified", "succeeded-verified"]
    ahead: Natural | None
    behind: Natural | None
    comparison_state: Literal["no-upstream", "unverified", "equal", "ahead", "behind", "diverged"]
    comparison_verification: Literal["verified", "cached-unverified", "unverified"]
    integration_branch: str | None
    integration_revision: GitRevision | None
    merged_verified: bool | None
    claims: CloseoutClaims


class EvaluationLedgerRow(Record, extra="forbid"):
    """``ledger-row.json``: the outcome of one attempt."""

    schema_: Literal["agent-workflow/evaluation-ledger-row/v1"] = Field(alias="schema")
    run_id: Text
    ticket_id: str | None
    case_id: str | None
    source_revision: str | None
    pack_id: str | None
    pack_checksum_reference: Sha256 | None
    run_receipt_sha256: Sha256 | None
    receipt_verification: Literal["verified", "not_verified", "unavailable"]
    evaluation_state: Literal["not_planned", "verified", "not_verified", "unavailable"]
    evaluation_result: Verdict | None
    disposition: Disposition | None
    evidence_paths: EvidencePaths
    failures: Annotated[list[str], Unique()]
    executor_result: ExecutorResult | None
    completion_result: CompletionResult | None
    policy_result: PolicyResult
    acceptance_eligible: bool
    attempt_classification: AttemptClassification
    supplemental_repairs: list[SupplementalRepair]
    repository_closeout: RepositoryCloseout | None


class ScorerIdentity(Shape, extra="forbid"):
    """The program that gave a score."""

    id: str
    version: str


class ScoreEvidence(Shape, extra="forbid"):
    """A file that a score rests on."""

    path: str
    sha256: Sha256


class ScoreReceipt(Record, extra="forbid"):
    """``scores/<id>.json``: the verdict of one scorer."""

    schema_: Literal["agent-workflow/score-receipt/v1"] = Field(alias="schema")
    scorer: ScorerIdentity
    final_receipt_sha256: Sha256
    verdict: Verdict
    facts: FreeObject
    evidence: list[ScoreEvidence]


class ScoreSet(Record):
    """``scores/score-set.json``: the verdict over all scorers."""

    schema_: Literal["agent-workflow/score-set/v1"] = Field(alias="schema")
    final_receipt_sha256: WhenPresent[str] = None
    scores: WhenPresent[FreeArray] = None
    verdict: WhenPresent[str] = None


class AcceptanceCommand(Shape, extra="forbid"):
    """A command that must pass."""

    id: Text
    argv: SomeTexts
    cwd: WhenPresent[str] = None
    timeout_seconds: WhenPresent[Positive] = None
    result_format: WhenPresent[Literal["exit-code", "junit"]] = None
    junit_path: str | None = None


class WritableScope(Shape, extra="forbid"):
    """What the run may write to."""

    writable_paths: WhenPresent[Annotated[list[str], Unique()]] = None
    writable_trees: WhenPresent[Annotated[list[str], Unique()]] = None
    disposable_trees: WhenPresent[Annotated[list[str], Unique()]] = None


class EvaluationRuntime(Record, extra="forbid"):
    """``evaluation-runtime.json``: how the run is to be judged."""

    schema_: Literal["agent-workflow/evaluation-runtime/v1"] = Field(alias="schema")
    evaluation_path: str | None
    evaluation_sha256: Sha256 | None
    timeout_seconds: Positive | None
    acceptance_commands: list[AcceptanceCommand]
    scope: WritableScope
    scorers: Annotated[list[Text], Unique()]
    oracle_refs: FreeObject
    statistics_policy: Text
    ticket_id: str | None
    native_job_binding_sha256: Sha256 | None


class EvaluationReport(Record):
    """``reports/evaluation.json``: the judgement as it was shown. Known from genuine files only, so it is lenient."""

    schema_: Literal["agent-workflow/evaluation-report/v1"] = Field(alias="schema")
    session_id: WhenPresent[str] = None
    status: str | None = None
    acceptance_eligible: bool | None = None
    completion_result: str | None = None
    executor: str | None = None
    executor_result: str | None = None
    executor_version: str | None = None
    failure_category: str | None = None
    metrics: FreeObject | None = None
    policy_failures: WhenPresent[FreeArray] = None
    policy_result: str | None = None
    score_verdict: str | None = None
    scores: WhenPresent[FreeArray] = None
    sealed_artifact_count: Int64 | None = None
    source_revision: str | None = None
    supplemental_repairs: WhenPresent[FreeArray] = None
    usage: FreeObject | None = None
