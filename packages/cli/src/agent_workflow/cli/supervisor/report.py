"""What one cycle saw and did, as data and as a document (``supervisor-report/v1``)."""

from dataclasses import dataclass, field

from agent_workflow.cli.supervisor.documents import Document
from agent_workflow.cli.supervisor.incidents import Incident
from agent_workflow.cli.supervisor.remediations import Remediation

SCHEMA = "agent-workflow/supervisor-report/v1"


@dataclass(frozen=True, slots=True)
class RunHealth:
    """One live run in this cycle.

    Attributes:
        condition: one word: ``working``, ``quiet``, ``waiting``, ``stalled``, ``missing``, ``unknown``, ``ended``.
        sample: as it stands in the journal, None where none was taken.
        is_recorded: the sample is in the journal.
    """

    session_id: str
    is_traced: bool
    status: str | None
    condition: str
    sample: Document | None = None
    is_recorded: bool = False

    def to_document(self) -> Document:
        """Return the run for the report."""
        return {
            "session_id": self.session_id,
            "traced": self.is_traced,
            "status": self.status,
            "condition": self.condition,
            "sample_recorded": self.is_recorded,
            "sample": self.sample,
        }


@dataclass(frozen=True, slots=True)
class RunFault:
    """A run that could not be looked at, or of which something could not be read or written."""

    session_id: str | None
    path: str
    reason: str

    def to_document(self) -> Document:
        """Return the fault for the report."""
        return {"session_id": self.session_id, "path": self.path, "reason": self.reason}


@dataclass(slots=True)
class Report:
    """One cycle.

    Attributes:
        started_at, finished_at: by the wall's clock.
        ended_runs: how many runs have ended, sealed or not.
        permissions: events that were appended.
        notices: what is worth telling and no error, for example a journal at its cap.
        index_sync: ``state`` is ``done``, ``not_due``, ``off``, ``none`` or ``error``.
    """

    state_root: str
    started_at: str
    finished_at: str = ""
    ended_runs: int = 0
    health: list[RunHealth] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    permissions: list[Document] = field(default_factory=list)
    remediations: list[Remediation] = field(default_factory=list)
    index_sync: Document = field(default_factory=lambda: {"state": "none"})
    errors: list[RunFault] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    @property
    def wrote(self) -> bool:
        """Whether anything was appended to a run."""
        return bool(
            self.permissions
            or self.remediations
            or any(health.is_recorded for health in self.health)
            or any(incident.change != "open" for incident in self.incidents)
        )

    def to_document(self) -> Document:
        """Return the JSON document."""
        return {
            "schema": SCHEMA,
            "state_root": self.state_root,
            "started_at": self.started_at,
            "finished_at": self.finished_at,
            "live_run_count": len(self.health),
            "ended_run_count": self.ended_runs,
            "health": [health.to_document() for health in self.health],
            "incidents": [incident.to_document() for incident in self.incidents],
            "permissions": self.permissions,
            "remediations": [remediation.to_document() for remediation in self.remediations],
            "index_sync": self.index_sync,
            "errors": [fault.to_document() for fault in self.errors],
            "notices": self.notices,
        }
