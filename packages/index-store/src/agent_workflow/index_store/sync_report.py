"""What a sync or rebuild did, as data, and its JSON document."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from agent_workflow.index_store.errors import HistoricalArtifact
from agent_workflow.index_store.values import AUTHORITY, Json


class IndexedRun(NamedTuple):
    """A run whose rows were replaced."""

    session_id: str
    sources: int
    """Structured files that it has; its documents are read every time."""
    records_parsed: int
    """Journal records that were parsed: where journals only grew, those that came since."""


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


class PassResult(NamedTuple):
    """What one walk over the runs did; how the evidence stands is read from the database."""

    indexed: Iterable[IndexedRun]
    skipped: Iterable[str]
    pruned: Iterable[str]


def report_pass(connection: apsw.Connection, database: str, session_id: str | None, result: PassResult) -> SyncReport:
    """Tell what a pass did, with every error and notice that the database now holds.

    Args:
        connection: the database that the pass wrote.
        database: path of the database that is meant, which a rebuild fills afterwards.
        session_id: tell of this run only; None for all.
        result: what the pass did.
    """
    errors = connection.execute(_ERRORS, (session_id,)).fetchall()
    bad = {row[0] for row in errors}
    return SyncReport(
        database=database,
        indexed=tuple(result.indexed),
        skipped=tuple(name for name in result.skipped if name not in bad),
        pruned=tuple(sorted(result.pruned)),
        errors=tuple(
            RunError(_text(name), str(detail)) for name, category, detail in errors if category != _HISTORICAL
        ),
        quarantined=tuple(str(name) for name, category, _ in errors if category == _HISTORICAL),
        notices=tuple(
            ReportedNotice(_text(name), _text(contract), str(source_path), str(kind), str(detail))
            for name, contract, source_path, kind, detail in connection.execute(_NOTICES, (session_id,))
        ),
    )


_HISTORICAL = HistoricalArtifact.category

_ERRORS = """
SELECT session_id, category, detail FROM index_errors WHERE ?1 IS NULL OR session_id = ?1 ORDER BY error_id
"""

_NOTICES = """
SELECT session_id, contract, source_path, kind, detail FROM notices WHERE ?1 IS NULL OR session_id = ?1
ORDER BY session_id IS NULL, session_id, source_path, contract
"""


def _text(value: object) -> str | None:
    return None if value is None else str(value)
