"""What a verification answers, as data, and its JSON document."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from agent_workflow.index_store.values import Json, Value


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
