"""Where a run came from: executor, revisions, digests, and what the provider reported."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape, Unique, WhenPresent
from agent_workflow.evidence_schemas._metrics import TokenUsage
from agent_workflow.evidence_schemas._scalars import (
    FreeObject,
    Identifier,
    Int64,
    Natural,
    Positive,
    Sha256,
    SomeTexts,
    Texts,
)
from agent_workflow.evidence_schemas._status import StreamFormat


class Executable(Shape, extra="forbid"):
    """The executor's program file."""

    requested: str
    resolved_path: str | None
    version: str | None
    sha256: Sha256 | None


class ExecutorCompatibility(Shape):
    """Whether this version of the executor is one the writer knows."""

    schema_: Literal["agent-workflow/executor-compatibility/v1"] = Field(alias="schema")
    policy_version: str | None = None
    policy_sha256: Sha256 | None = None
    executor: str | None = None
    adapter_version: str | None = None
    decision: Literal["supported", "unsupported", "unclassified"]
    explanation_code: str
    executable: WhenPresent[FreeObject] = None
    capabilities: WhenPresent[Texts] = None
    expected_capabilities: WhenPresent[Texts] = None


class ModelPolicy(Shape, extra="forbid"):
    """Who allowed a model that is otherwise not to be used."""

    no_go_authorized: bool
    authorization_source: str | None


class JobBinding(Shape, extra="forbid"):
    """The job that the run belongs to."""

    path: str
    sha256: Sha256
    job_id: str


class WorkflowBinding(Shape, extra="forbid"):
    """The node of a workflow that the run executes."""

    workflow_id: str
    node_id: str
    attempt: Positive
    inputs_path: str | None
    inputs_sha256: Sha256 | None
    routing: FreeObject | None


class ProviderEvidenceReference(Shape, extra="forbid"):
    """The provider's evidence, by digest."""

    path: Literal["provider-evidence.json"]
    sha256: Sha256
    usage_complete: bool
    capture_complete: bool


class RunProvenance(Record, extra="forbid"):
    """``run-provenance.json``."""

    schema_: Literal["agent-workflow/run-provenance/v1"] = Field(alias="schema")
    session_id: str
    executor: str | None
    agent_name: str | None = None
    agent_class: str | None = None
    argv: SomeTexts
    stream_format: WhenPresent[StreamFormat] = None
    executor_version: str | None = None
    executable: Executable | None = None
    compatibility: ExecutorCompatibility | None = None
    adapter_version: str | None = None
    model: str | None = None
    model_policy: WhenPresent[ModelPolicy] = None
    prompt_sha256: Sha256
    launch_prompt_sha256: WhenPresent[Sha256] = None
    config_sha256: Sha256 | None = None
    pack_manifest_sha256: Sha256 | None = None
    source_revision: str | None
    worktree: WhenPresent[str] = None
    environment: FreeObject
    retry_of_run_id: Identifier | None = None
    budgets: WhenPresent[FreeObject] = None
    job_binding: JobBinding | None = None
    evaluation_sha256: Sha256 | None = None
    usage: FreeObject | None = None
    started_at: str
    first_output_at: str | None = None
    finished_at: str | None = None
    exit_code: Int64 | None = None
    workflow: WorkflowBinding | None = None
    provider_evidence: ProviderEvidenceReference | None = None


class SourceBaseline(Record):
    """``source-baseline.json``: the state of the sources before the run."""

    schema_: Literal["agent-workflow/source-baseline/v1"] = Field(alias="schema")
    generated_at: str
    components: FreeObject


class UsageEvent(Shape, extra="forbid"):
    """One report of usage in the provider's stream."""

    sequence: Positive
    event_sha256: Sha256
    event_type: str
    mode: Literal["delta", "cumulative", "terminal"]
    usage: TokenUsage


class ProviderEvidence(Record, extra="forbid"):
    """``provider-evidence.json``: usage as the provider's own events reported it."""

    schema_: Literal["agent-workflow/provider-evidence/v1"] = Field(alias="schema")
    session_id: Identifier
    executor: str | None
    stream_format: str
    created_at: str
    raw_events_path: Literal["executor-events.jsonl"]
    raw_events_sha256: Sha256 | None
    raw_event_bytes: Natural
    capture_limit_bytes: Positive
    capture_complete: bool
    malformed_event_count: Natural
    classified_usage_count: Natural
    retry_of_run_id: Identifier | None
    usage_complete: bool
    incomplete_reasons: Annotated[list[str], Unique()]
    usage_events: list[UsageEvent]
    aggregate: TokenUsage
