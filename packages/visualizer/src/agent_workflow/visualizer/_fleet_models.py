"""What the fleet routes answer with: rows of the index, as ``agent-workflow index query`` prints them."""

from typing import Literal

from agent_workflow.visualizer._trace_models import Columns, Number, Strict, Text

Count = int | None
Flag = Literal[0, 1] | None


class FreshnessReply(Strict):
    """How the index compares with its sources."""

    word: Literal["missing", "current", "stale", "incomplete"]
    source_runs: int
    current_runs: int
    stale_runs: int
    error_runs: int
    historical_runs: int


class TraceLink(Strict):
    """Where the trace of a run is served."""

    project: str
    adw_id: str


class RunRow(Columns):
    """One run."""

    session_id: str
    index_state: Literal["current", "error"]
    durable_status: Text
    executor_result: Text
    attempt_classification: Text
    evaluation_state: Text
    score_verdict: Text
    executor: Text
    model: Text
    interactive: Flag
    agent_name: Text
    agent_class: Text
    tier: Text
    ticket_id: Text
    pack_id: Text
    workflow_id: Text
    workflow_node_id: Text
    retry_of_run_id: Text
    created_at: Text
    started_at: Text
    finished_at: Text
    exit_code: Count
    failure_category: Text
    disposition: Text
    completion_result: Text
    policy_result: Text
    acceptance_eligible: Flag
    open_incident_count: int
    last_open_incident_at: Text
    pending_permission_count: int
    last_health_at: Text
    workdir: Text
    source_revision: Text
    branch: Text
    dirty_at_launch: Flag
    storage_class: Literal["active", "archive"]
    source_dir: str
    launch_schema: Text
    evidence_complete: Flag
    final_receipt_sha256: Text
    index_error: Text
    source_fingerprint: str
    indexed_at: str
    adw_id: Text
    trace_database: Text
    session_directory: Text
    journal_record_count: int
    trace: TraceLink | None
    trace_state: Literal["served", "not_served", "gone", "no_session", "unreadable"] | None


class IndexRow(Columns):
    """A row of any other kind: its columns are those of ``agent-workflow index query``."""


class SourceRow(Strict):
    """A file that a run was indexed from, with the digest of what was read."""

    relative_path: str
    file_kind: Text
    size_bytes: int
    sha256: str
    record_count: Count
    schema_ids: list[str]
    indexed_at: str


class KindPage(Strict):
    """Rows of one kind."""

    kind: str
    database: str
    freshness: FreshnessReply
    rows: list[IndexRow]
    has_more: bool


class RunPage(Strict):
    """Rows of runs."""

    kind: Literal["runs"]
    database: str
    freshness: FreshnessReply
    rows: list[RunRow]
    has_more: bool


class RunDetail(Strict):
    """One run with all that the index knows of it; lists newest first."""

    freshness: FreshnessReply
    run: RunRow
    sources: list[SourceRow]
    events: list[IndexRow]
    incidents: list[IndexRow]
    permissions: list[IndexRow]
    remediations: list[IndexRow]
    metrics: list[IndexRow]
    process: IndexRow | None
    errors: list[IndexRow]
    notices: list[IndexRow]
    repairs: list[IndexRow]
    nodes: list[IndexRow]
    retried_by: list[str]


class HealthSeries(Strict):
    """Health samples, oldest first, thinned."""

    freshness: FreshnessReply
    sample_count: int
    rows: list[IndexRow]


class Attention(Strict):
    """What waits for a person."""

    freshness: FreshnessReply
    permissions: list[IndexRow]
    incidents: list[IndexRow]


class SpendRow(Strict):
    """Spend of one day, executor, model and currency; a null amount is unknown."""

    day: Text
    executor: Text
    model: Text
    currency: Text
    run_count: int
    input_tokens: Count
    output_tokens: Count
    provider_billed_cost: Number
    provider_billed_sample_count: int
    local_estimated_cost: Number
    local_estimated_sample_count: int


class Spend(Strict):
    """Spend of all runs, newest day first."""

    freshness: FreshnessReply
    rows: list[SpendRow]


class DayOutcome(Strict):
    """Runs of one day by status."""

    day: str
    run_count: int
    statuses: dict[str, int]


class GroupOutcome(Strict):
    """Runs of one executor and model; ``success_rate`` is completed over ended, durations are of completed runs."""

    executor: Text
    model: Text
    run_count: int
    ended_count: int
    completed_count: int
    accepted_count: int
    success_rate: float | None
    median_seconds: float | None
    p90_seconds: float | None


class Outcomes(Strict):
    """How all runs ended."""

    freshness: FreshnessReply
    days: list[DayOutcome]
    groups: list[GroupOutcome]


class Edge(Strict):
    """``target`` waits for ``source``."""

    source: str
    target: str


class WorkflowGraph(Columns):
    """A workflow with its graph."""

    workflow_id: str
    workflow_state: Text
    owner_run_id: str
    pack_id: Text
    event_count: int
    node_count: int
    snapshot_sha256: Text
    storage_class: str
    source_dir: str
    indexed_at: str
    nodes: list[IndexRow]
    edges: list[Edge]


class Workflows(Strict):
    """Workflows, newest first."""

    freshness: FreshnessReply
    workflows: list[WorkflowGraph]


class IndexDocument(Columns):
    """One of the index's own documents; ``schema`` names its contract."""


class Evidence(Strict):
    """Whether the index holds a run that a session was published as."""

    state: Literal["indexed", "not_indexed", "no_index"]
    session_id: Text
