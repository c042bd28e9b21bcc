"""What the facade answers, as data, and each answer's JSON document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

AUTHORITY = "json-jsonl-sealed-receipts"
"""What every answer names as its authority: the files, never the database."""

Value = str | int | float | None
"""What a column holds."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


class IndexedRun(NamedTuple):
    """A run whose rows were replaced."""

    session_id: str
    sources: int
    records_parsed: int


class RunError(NamedTuple):
    """A run, or a repair, that is no evidence as it stands."""

    session_id: str | None
    """None where no run but a repair is at fault."""
    error: str


class ReportedNotice(NamedTuple):
    """Something worth telling that is no error."""

    session_id: str | None
    contract: str | None
    source_path: str
    kind: str
    detail: str


@dataclass(frozen=True)
class SyncReport:
    """What a sync or rebuild did, and how the evidence stands (``index-sync-report/v1``).

    Attributes:
        database: path of the database.
        indexed: runs whose rows were replaced.
        skipped: runs that were current already.
        pruned: runs whose directories are gone.
        errors: every run in error, read again this time or not.
        quarantined: runs of a retired format.
        notices: for example contracts of a newer writer.
    """

    database: str
    indexed: tuple[IndexedRun, ...]
    skipped: tuple[str, ...]
    pruned: tuple[str, ...]
    errors: tuple[RunError, ...]
    quarantined: tuple[str, ...]
    notices: tuple[ReportedNotice, ...]

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/index-sync-report/v1",
            "database": self.database,
            "authority": AUTHORITY,
            "indexed": [dict(run._asdict()) for run in self.indexed],
            "indexed_count": len(self.indexed),
            "skipped": list(self.skipped),
            "skipped_count": len(self.skipped),
            "pruned": list(self.pruned),
            "error_count": len(self.errors),
            "errors": [dict(error._asdict()) for error in self.errors],
            "quarantined": [
                {"session_id": session_id, "classification": "historical_artifact"} for session_id in self.quarantined
            ],
            "quarantined_count": len(self.quarantined),
            "notices": [
                {
                    "session_id": notice.session_id,
                    "contract": notice.contract,
                    "source_path": notice.source_path,
                    "detail": notice.detail,
                }
                for notice in self.notices
            ],
            "notice_count": len(self.notices),
        }


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


class SourceMismatch(NamedTuple):
    """A source that is not what was indexed."""

    session_id: str
    path: str
    verdict: str
    """``mismatch``, ``missing``, ``unreadable``, ``unindexed`` or ``unsealed``."""
    detail: str


@dataclass(frozen=True)
class ReviewReport:
    """Whether one run is reviewed evidence.

    Attributes:
        session_id: the run.
        verdict: ``verified``, or the first question answered with no: ``unsealed``, ``mismatch``, ``unreadable``,
            ``incomplete``, ``failing`` or ``unreviewed``.
        faults: every reason against it.
        evidence: the four answers by name, and the digests they rest on.
    """

    session_id: str
    verdict: str
    faults: tuple[str, ...]
    evidence: Mapping[str, str | None]


@dataclass(frozen=True)
class VerificationReport:
    """Whether the database can be relied on (``index-verification/v1``)."""

    database: str
    schema_version: int
    expected_schema_version: int
    integrity_check: tuple[str, ...]
    foreign_key_errors: tuple[Mapping[str, Value], ...]
    full: bool
    source_mismatches: tuple[SourceMismatch, ...]
    historical_artifacts: tuple[str, ...]
    review: ReviewReport | None

    @property
    def valid(self) -> bool:
        """The database is whole, of this schema, and, where sources were hashed, equal to them."""
        return (
            self.integrity_check == ("ok",)
            and not self.foreign_key_errors
            and self.schema_version == self.expected_schema_version
            and not self.source_mismatches
        )

    def to_document(self) -> dict[str, Json]:
        """Return the JSON document."""
        review = self.review
        return {
            "schema": "agent-workflow/index-verification/v1",
            "database": self.database,
            "valid": self.valid,
            "schema_version": self.schema_version,
            "expected_schema_version": self.expected_schema_version,
            "integrity_check": list(self.integrity_check),
            "foreign_key_errors": [dict(error) for error in self.foreign_key_errors],
            "source_verification": "full" if self.full else "not-requested",
            "source_mismatches": [dict(mismatch._asdict()) for mismatch in self.source_mismatches],
            "historical_artifacts": [
                {"session_id": session_id, "classification": "historical_artifact", "state": "quarantined"}
                for session_id in self.historical_artifacts
            ],
            "review_scope": None if review is None else review.session_id,
            "review_valid": None if review is None else review.verdict == "verified",
            "review_verdict": None if review is None else review.verdict,
            "review_errors": [] if review is None else list(review.faults),
            "review_evidence": None if review is None else dict(review.evidence),
        }
