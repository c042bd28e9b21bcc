"""The journals that supervisors write into a run: what stands in them, and appending within their caps.

Everything a supervisor needs to remember of a run is read back from here, so that one that is started anew repeats
nothing. A condition, a prompt and an attempt are known by names made of what they are, not of when they were seen.
"""

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path

from agent_workflow.cli.supervisor.clock import Clock, stamp
from agent_workflow.cli.supervisor.documents import Document, file_state, last_records, read_journal, text
from agent_workflow.cli.supervisor.settings import Settings
from agent_workflow.tracer.evidence import append_record_locked

SAMPLES = "run-health-samples.jsonl"
INCIDENTS = "incident-events.jsonl"
PERMISSIONS = "permission-events.jsonl"
REMEDIATIONS = "remediation-events.jsonl"
JOURNAL_CAP = "journal_cap"

_SAMPLE_LINE_BYTES = 4096


def name_of(*parts: object) -> str:
    """Return 64 hex digits that name something by its parts."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@dataclass(slots=True)
class History:
    """One run's supervisor journals.

    Attributes:
        directory: of the run.
        samples: the newest health samples, the oldest first.
        incidents, permissions, remediations: every record.
        damaged: for each journal with damage, its first damaged line.
        capped: journals that took no more in this cycle.
    """

    directory: Path
    samples: list[Document]
    incidents: list[Document]
    permissions: list[Document]
    remediations: list[Document]
    damaged: dict[str, int]
    capped: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, directory: Path, settings: Settings) -> "History":
        """Read the journals of a run; missing ones are empty.

        Raises:
            BadEvidence: one of them cannot be read.
        """
        samples = last_records(directory / SAMPLES, settings.stall_samples, _SAMPLE_LINE_BYTES)
        events = {name: read_journal(directory / name) for name in (INCIDENTS, PERMISSIONS, REMEDIATIONS)}
        damaged = {name: journal.damaged[0] for name, journal in events.items() if journal.damaged}
        if samples.damaged:
            damaged[SAMPLES] = samples.damaged[0]
        incidents, permissions, remediations = (journal.records for journal in events.values())
        return cls(directory, samples.records, incidents, permissions, remediations, damaged)

    @property
    def last_sample(self) -> Document | None:
        """The sample of the cycle before, None where there is none."""
        return self.samples[-1] if self.samples else None

    def open_incidents(self) -> dict[str, Document]:
        """Return the newest event of every incident that is open, by fingerprint."""
        newest = {str(record.get("fingerprint")): record for record in self.incidents}
        return {name: record for name, record in newest.items() if record.get("state") == "open"}

    def newest_permissions(self) -> dict[tuple[str, str], Document]:
        """Return the newest event of every prompt, by its source and its evidence."""
        return {(str(record.get("source")), str(record.get("evidence_sha256"))): record for record in self.permissions}


@dataclass(slots=True)
class Writer:
    """Appends to a run's journals while the run's lock is held, never beyond a cap.

    Attributes:
        session_id: of the run.
        history: what stands in the journals; what is appended is added to it.
        settings: with the caps.
        clock: for the times of records.
    """

    session_id: str
    history: History
    settings: Settings
    clock: Clock

    def sample(self, record: Document) -> bool:
        """Append a health sample; False where the journal's cap is reached."""
        state = file_state(self.history.directory / SAMPLES)
        if state is not None and state.size >= self.settings.sample_bytes:
            self._say_capped(SAMPLES, state.size, "bytes", self.settings.sample_bytes)
            return False
        append_record_locked(self.history.directory, SAMPLES, record)
        self.history.samples.append(record)
        return True

    def incident(self, record: Document) -> bool:
        """Append an incident event; the last place is kept for saying that there are no more."""
        return self._event(INCIDENTS, self.history.incidents, record)

    def permission(self, record: Document) -> bool:
        """Append a permission event."""
        return self._event(PERMISSIONS, self.history.permissions, record)

    def remediation(self, record: Document) -> bool:
        """Append a remediation event."""
        return self._event(REMEDIATIONS, self.history.remediations, record)

    def now(self) -> str:
        """Return the time for a record."""
        return stamp(self.clock.now())

    def _event(self, name: str, records: list[Document], record: Document) -> bool:
        if len(records) >= self.settings.journal_records - 1:
            self._say_capped(name, len(records), "records", self.settings.journal_records)
            return False
        append_record_locked(self.history.directory, name, record)
        records.append(record)
        return True

    def _say_capped(self, journal: str, size: int, unit: str, cap: int) -> None:
        """Say once, in the incident journal, that a journal takes no more."""
        self.history.capped.add(journal)
        fingerprint = name_of(JOURNAL_CAP, self.session_id, journal)
        if len(self.history.incidents) >= self.settings.journal_records or any(
            text(record.get("fingerprint")) == fingerprint for record in self.history.incidents
        ):
            return
        record = {
            "schema": "agent-workflow/incident-event/v1",
            "incident_id": fingerprint[:24],
            "session_id": self.session_id,
            "recorded_at": self.now(),
            "category": JOURNAL_CAP,
            "severity": "low",
            "summary": f"{journal} reached its cap of {cap} {unit}; the supervisor appends no more to it",
            "fingerprint": fingerprint,
            "evidence": {"journal": journal, "size": size, "unit": unit, "cap": cap},
            "state": "open",
        }
        append_record_locked(self.history.directory, INCIDENTS, record)
        self.history.incidents.append(record)
