"""Incidents as a journal of states: one event when a condition begins, one when it ends, none in between."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent_workflow.cli.supervisor.conditions import CATEGORIES, Condition
from agent_workflow.cli.supervisor.documents import Document, inner, text
from agent_workflow.cli.supervisor.history import History, Writer, name_of

SCHEMA = "agent-workflow/incident-event/v1"
DETECTOR = "agent-workflow-supervisor/v1"
"""Stands in the evidence of each incident that we open: we end none that another supervisor opened."""

Change = Literal["opened", "open", "resolved"]


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident in this cycle, and whether it began, lasts or ended.

    Attributes:
        is_written: its event is in the journal; False where the journal's cap kept it out.
    """

    session_id: str
    incident_id: str
    category: str
    severity: str
    summary: str
    change: Change
    is_written: bool = True

    def to_document(self) -> Document:
        """Return the incident for the report."""
        return {
            "session_id": self.session_id,
            "incident_id": self.incident_id,
            "category": self.category,
            "severity": self.severity,
            "state": "resolved" if self.change == "resolved" else "open",
            "change": self.change,
            "summary": self.summary,
        }


def fingerprint_of(session_id: str, condition: Condition) -> str:
    """Name a condition of a run: the same while it lasts, and again when it comes back."""
    return name_of(condition.category, session_id, list(condition.identity))


def open_already(history: History) -> frozenset[str]:
    """Return the shortages and waits that are on record as open, as ``category:what``."""
    names = set()
    for record in history.open_incidents().values():
        evidence = inner(record, "evidence")
        if is_ours(record) and (what := text(evidence.get("resource")) or text(evidence.get("reason"))):
            names.add(f"{record.get('category')}:{what}")
    return frozenset(names)


def reconcile(conditions: Iterable[Condition], writer: Writer) -> list[Incident]:
    """Bring the incident journal in line with what is the matter now.

    Args:
        conditions: all that hold; an incident of ours that none of them explains has ended.
        writer: of the run, whose lock is held.

    Returns:
        What began, lasts and ended. Incidents of other writers are left alone.

    Raises:
        EvidenceError: the journal cannot be written.
    """
    found: list[Incident] = []
    open_now = writer.history.open_incidents()
    held = {fingerprint_of(writer.session_id, condition): condition for condition in conditions}
    for fingerprint, record in open_now.items():
        if fingerprint not in held and is_ours(record) and record.get("category") in CATEGORIES:
            found.append(resolve(record, writer))
    for fingerprint, condition in held.items():
        if fingerprint in open_now:
            found.append(_incident(writer.session_id, fingerprint, condition, "open"))
        else:
            is_written = writer.incident(_record(writer, fingerprint, condition))
            found.append(_incident(writer.session_id, fingerprint, condition, "opened", is_written=is_written))
    return found


def resolve(record: Document, writer: Writer, summary: str = "it is over") -> Incident:
    """Write that an open incident has ended.

    Args:
        record: its newest event.
        writer: of the run, whose lock is held.
        summary: why it ended.
    """
    ended = {**record, "recorded_at": writer.now(), "state": "resolved", "summary": summary}
    ended["evidence"] = {"detector": DETECTOR}
    is_written = writer.incident(ended)
    return Incident(
        writer.session_id,
        str(record.get("incident_id")),
        str(record.get("category")),
        str(record.get("severity")),
        summary,
        "resolved",
        is_written,
    )


def is_ours(record: Document) -> bool:
    """Tell whether we opened an incident."""
    return inner(record, "evidence").get("detector") == DETECTOR


def _record(writer: Writer, fingerprint: str, condition: Condition) -> Document:
    return {
        "schema": SCHEMA,
        "incident_id": fingerprint[:24],
        "session_id": writer.session_id,
        "recorded_at": writer.now(),
        "category": condition.category,
        "severity": condition.severity,
        "summary": condition.summary,
        "fingerprint": fingerprint,
        "evidence": {**condition.evidence, "detector": DETECTOR},
        "state": "open",
    }


def _incident(
    session_id: str, fingerprint: str, condition: Condition, change: Change, *, is_written: bool = True
) -> Incident:
    return Incident(
        session_id, fingerprint[:24], condition.category, condition.severity, condition.summary, change, is_written
    )
