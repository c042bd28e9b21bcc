"""What a run is and where it stands: its status, its command, its process and its agent."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, WhenPresent
from agent_workflow.evidence_schemas._scalars import (
    FreeArray,
    FreeObject,
    Identifier,
    Int64,
    Max4096,
    Natural,
    Number,
    Positive,
    Sha256,
    SomeTexts,
    Text64,
    Text128,
    Texts,
)

StreamFormat = Literal["text", "codex-jsonl", "claude-stream-json"]
AttemptClassification = Literal[
    "integrity-unverified",
    "completion-missing",
    "completion-invalid",
    "policy-failed",
    "executor-failed",
    "executor-interrupted",
    "executor-killed",
    "executor-lost",
    "acceptance-eligible",
    "completed-not-accepted",
    "terminal-unclassified",
]
Disposition = Literal["reviewed", "accepted", "force-accepted", "rejected"]
ExecutorResult = Literal["completed", "failed", "interrupted", "killed", "lost"]
CompletionResult = Literal["valid", "missing", "invalid"]
PolicyResult = Literal["passed", "failed", "not_evaluated"]
Verdict = Literal["pass", "fail", "invalid"]


class SessionStatus(Record):
    """``status.json`` while a run goes on, ``final-status.json`` once it is sealed."""

    schema_: Literal["agent-workflow/session-status/v2"] = Field(alias="schema")
    session_id: Identifier
    ticket_id: str | None = None
    pack_id: str | None = None
    status: Literal[
        "prepared", "launched", "running", "interruption_requested", "completed", "failed", "interrupted", "killed"
    ]
    disposition: Disposition | None = None
    created_at: str
    updated_at: WhenPresent[str] = None
    workdir: str
    prompt_path: str
    log_path: str
    prompt_sha256: WhenPresent[Sha256] = None
    completion_json_path: WhenPresent[str] = None
    provenance_path: WhenPresent[str] = None
    events_path: WhenPresent[str] = None
    final_receipt_path: str | None = None
    failure_category: str | None = None
    tmux_mode: Literal["shared_window", "dedicated_session"] | None = None
    tmux_session: str | None = None
    tmux_target: str | None = None
    tmux_pane_id: Annotated[str, Field(pattern=r"^%[0-9]+$")] | None = None
    tmux_window_target: str | None = None
    pane_pid: Int64 | None = None
    pane_command: str | None = None
    job_binding_path: str | None = None
    job_binding_sha256: Sha256 | None = None
    job_id: str | None = None
    executor_result: ExecutorResult | None = None
    completion_result: CompletionResult | None = None
    policy_result: PolicyResult | None = None
    policy_failures: WhenPresent[list[FreeObject]] = None
    policy_failure_category: str | None = None
    acceptance_eligible: WhenPresent[bool] = None
    budget_exceeded: WhenPresent[Texts] = None
    projection_generated_at: WhenPresent[str] = None
    projection_source: WhenPresent[str] = None
    projection_freshness: WhenPresent[Literal["snapshot", "live"]] = None
    projection_authority: WhenPresent[Literal["cache"]] = None
    tmux_alive: bool | None = None
    terminal_error: str | None = None
    observed_state: str | None = None
    observed_failure_category: str | None = None
    last_semantic_progress_at: str | None = None
    last_semantic_progress_source: str | None = None
    latest_health: WhenPresent[FreeObject] = None
    permission_state: str | None = None
    latest_permission_event: FreeObject | None = None
    output_capture_exhausted: WhenPresent[bool] = None
    evaluation_state: Literal["not_planned", "verified", "not_verified"] | None = None
    evaluation_result: Verdict | None = None
    attempt_classification: AttemptClassification | None = None
    ledger_row_path: str | None = None
    evaluation_report_path: str | None = None
    evaluation_error: str | None = None


class Command(Record, extra="forbid"):
    """``command.json``: the command line that the run was to execute."""

    schema_: Literal["agent-workflow/command/v1"] = Field(alias="schema")
    argv: SomeTexts
    shell: str
    executor: str | None
    classification: Literal["named", "unclassified"]
    stream_format: StreamFormat
    interactive: WhenPresent[bool] = None
    executor_interactive: WhenPresent[bool] = None
    model: str | None = None
    no_go_authorized: WhenPresent[bool] = None
    agent_name: str | None = None
    agent_class: str | None = None
    environment_allowlist: WhenPresent[Texts] = None


class ProcessResult(Record, extra="forbid"):
    """``process-result.json``: how the executor's process ended and what it wrote."""

    schema_: Literal["agent-workflow/process-result/v1"] = Field(alias="schema")
    argv: Annotated[list[Annotated[str, Field(max_length=16_384)]], Field(max_length=256)]
    resolved_executable: Max4096 | None
    executable_version: Max4096 | None = None
    executable_sha256: Sha256 | None = None
    returncode: Int64
    exit_code: Int64 | None
    signal: Positive | None
    timed_out: bool
    cancelled: bool
    completion_terminated: WhenPresent[bool] = None
    stdout_truncated: bool
    stderr_truncated: bool
    stdout_bytes: Natural
    stderr_bytes: Natural
    stdout_spool: Max4096 | None = None
    stderr_spool: Max4096 | None = None
    duration_seconds: Number
    error_category: Text128
    environment_policy: WhenPresent[Text128] = None
    runner_pid: Positive
    executor_pid: Positive | None
    recorded_at: Text64


class AgentContext(Record, extra="forbid"):
    """``agent-context.json``: an agent that may be reused, and the work it was given so far."""

    schema_: Literal["agent-workflow/agent-context/v1"] = Field(alias="schema")
    session_id: str
    agent_name: str | None = None
    agent_class: str | None = None
    executor: str | None = None
    model: str | None = None
    interactive: bool
    provider_session_id: str | None = None
    repository_root: str | None = None
    worktree: str
    source_revision: str | None = None
    state: Literal["busy", "reuse_pending", "idle_reusable", "idle_stale", "closed"]
    current_assignment: FreeObject | None = None
    completed_assignments: list[FreeObject]
    reuse_count: Natural
    created_at: str
    updated_at: str


class Preflight(Record):
    """``preflight.json``: whether what a run needs was there before it began."""

    schema_: Literal["agent-workflow/preflight/v1"] = Field(alias="schema")
    status: WhenPresent[str] = None
    reason: str | None = None
    prerequisites: WhenPresent[FreeArray] = None
