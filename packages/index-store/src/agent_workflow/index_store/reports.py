"""What status and a question answer, as data, and each answer's JSON document."""

from collections.abc import Mapping
from dataclasses import dataclass

from agent_workflow.index_store.values import AUTHORITY, Json, Value


@dataclass(frozen=True)
class Freshness:
    """How the projection compares with its sources now.

    Attributes:
        word: ``missing``, ``current``, ``stale`` or ``incomplete``.
        source_runs: run directories there are now.
        current_runs: runs whose rows are what a rebuild would give, and that are evidence.
        stale_runs: runs that changed, came or went since they were indexed.
        error_runs: runs, and repairs, in error as far as the index knows.
        historical_runs: runs of a retired format, excluded.
    """

    word: str
    source_runs: int
    current_runs: int
    stale_runs: int
    error_runs: int
    historical_runs: int


@dataclass(frozen=True)
class StatusReport:
    """State of the index (``index-status/v1``)."""

    database: str
    state_root: str
    exists: bool
    schema_version: int | None
    run_count: int
    last_sync_at: str | None
    last_sync_scope: str | None
    size_bytes: int
    application_id: int | None
    journal_mode: str | None
    generation: str | None
    notice_count: int
    sqlite_version: str
    freshness: Freshness

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/index-status/v1",
            "database": self.database,
            "state_root": self.state_root,
            "exists": self.exists,
            "authority": AUTHORITY,
            "schema_version": self.schema_version,
            "run_count": self.run_count,
            "error_count": self.freshness.error_runs,
            "historical_run_count": self.freshness.historical_runs,
            "last_sync_at": self.last_sync_at,
            "last_sync_scope": self.last_sync_scope,
            "size_bytes": self.size_bytes,
            "application_id": self.application_id,
            "journal_mode": self.journal_mode,
            "generation": self.generation,
            "notice_count": self.notice_count,
            "sqlite_version": self.sqlite_version,
            "source_run_count": self.freshness.source_runs,
            "current_run_count": self.freshness.current_runs,
            "stale_run_count": self.freshness.stale_runs,
            "freshness": self.freshness.word,
        }


@dataclass(frozen=True)
class QueryReport:
    """Rows with the freshness of the projection they come from (``index-query/v1``)."""

    database: str
    kind: str
    freshness: Freshness
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Value], ...]

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/index-query/v1",
            "database": self.database,
            "authority": AUTHORITY,
            "freshness": self.freshness.word,
            "current_run_count": self.freshness.current_runs,
            "stale_run_count": self.freshness.stale_runs,
            "error_count": self.freshness.error_runs,
            "kind": self.kind,
            "rows": [dict(row) for row in self.rows],
        }
