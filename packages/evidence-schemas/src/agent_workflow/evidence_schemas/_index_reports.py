"""What the index says about itself: the envelopes of its status, queries, syncs and verifications."""

from typing import Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape, WhenPresent
from agent_workflow.evidence_schemas._scalars import FreeObject, Natural, Positive, Text, Texts

Authority = Literal["json-jsonl-sealed-receipts"]
Freshness = Literal["missing", "current", "stale", "incomplete"]
QueryKind = Literal[
    "runs",
    "incidents",
    "permissions",
    "performance",
    "workflows",
    "workflow-nodes",
    "errors",
    "repairs",
    "events",
    "health",
    "remediations",
    "attempts",
    "metrics",
    "processes",
    "notices",
]


class IndexQuery(Record, extra="forbid"):
    """The answer to a query: how fresh the index is, then the rows."""

    schema_: Literal["agent-workflow/index-query/v1"] = Field(alias="schema")
    database: Text
    authority: Authority
    freshness: Freshness
    current_run_count: Natural
    stale_run_count: Natural
    error_count: Natural
    kind: QueryKind
    rows: list[FreeObject]


class IndexStatus(Record, extra="forbid"):
    """The state of the index database and how it compares with its sources."""

    schema_: Literal["agent-workflow/index-status/v1"] = Field(alias="schema")
    database: Text
    exists: bool
    authority: Authority
    schema_version: Positive | None
    run_count: Natural
    error_count: Natural
    historical_run_count: WhenPresent[Natural] = None
    last_sync_at: str | None
    last_sync_scope: str | None
    size_bytes: Natural
    application_id: Positive | None
    journal_mode: str | None
    source_run_count: Natural
    current_run_count: Natural
    stale_run_count: Natural
    freshness: Freshness
    # The fields below are ours; a report of an older writer has none of them.
    generation: str | None = None
    notice_count: WhenPresent[Natural] = None
    sqlite_version: WhenPresent[str] = None
    tool_version: WhenPresent[str] = None
    state_root: WhenPresent[str] = None


class SyncError(Shape, extra="forbid"):
    """A run that could not be indexed."""

    session_id: str | None
    error: str


class QuarantinedRun(Shape, extra="forbid"):
    """A run of a retired format: kept, excluded, reported."""

    session_id: str
    classification: Literal["historical_artifact"]


class SyncNotice(Shape, extra="forbid"):
    """Something worth knowing that is no error, for example a contract of a newer writer."""

    session_id: str | None
    contract: str | None
    source_path: str | None
    detail: str


class IndexSyncReport(Record, extra="forbid"):
    """What a sync did."""

    schema_: Literal["agent-workflow/index-sync-report/v1"] = Field(alias="schema")
    database: Text
    authority: Authority
    indexed: list[FreeObject]
    indexed_count: Natural
    skipped: Texts
    skipped_count: Natural
    pruned: Texts
    error_count: Natural
    errors: list[SyncError]
    quarantined: list[QuarantinedRun]
    quarantined_count: Natural
    # The fields below are ours; a report of an older writer has none of them.
    notices: WhenPresent[list[SyncNotice]] = None
    notice_count: WhenPresent[Natural] = None


class IndexVerification(Record, extra="forbid"):
    """Whether the database is sound, agrees with its sources, and whether one run passes a review."""

    schema_: Literal["agent-workflow/index-verification/v1"] = Field(alias="schema")
    database: Text
    valid: bool
    schema_version: Positive
    expected_schema_version: Positive
    integrity_check: Texts
    foreign_key_errors: list[FreeObject]
    source_verification: Literal["full", "not-requested"]
    source_mismatches: list[FreeObject]
    historical_artifacts: list[FreeObject]
    review_scope: str | None
    review_valid: bool | None
    review_errors: Texts
    review_evidence: FreeObject | None
    # The field below is ours; a report of an older writer does not have it.
    review_verdict: str | None = None
