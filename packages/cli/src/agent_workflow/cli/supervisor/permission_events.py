"""Permission prompts and denials as a journal of states: each once, and never answered."""

from collections.abc import Iterable

from agent_workflow.cli.supervisor.documents import Document, text
from agent_workflow.cli.supervisor.history import Writer, name_of
from agent_workflow.cli.supervisor.permissions import Observation
from agent_workflow.cli.supervisor.streams import Reading

SCHEMA = "agent-workflow/permission-event/v1"

Prompt = tuple[str, str, str | None]
"""Source, operation and rule of an open prompt."""


def open_prompts(readings: Iterable[Reading]) -> tuple[Prompt, ...]:
    """Return the prompts that stand open at the ends of the sources."""
    return tuple(
        (reading.source.name, observation.operation, observation.policy_rule_id)
        for reading in readings
        for observation in _pending(reading).values()
    )


def reconcile(readings: Iterable[Reading], writer: Writer) -> list[Document]:
    """Bring the permission journal in line with what the sources say now.

    Args:
        readings: of every source that the run has. A source that is not among them is left as it is on record.
        writer: of the run, whose lock is held.

    Returns:
        The events that were appended.

    Raises:
        EvidenceError: the journal cannot be written.
    """
    appended: list[Document] = []
    known = {str(record.get("event_id")) for record in writer.history.permissions}
    newest = writer.history.newest_permissions()
    for reading in readings:
        source, pending = reading.source.name, _pending(reading)
        denied = {seen.evidence_sha256: seen for seen in reading.observations if seen.state == "denied"}
        records = [_denied(writer, source, seen) for seen in denied.values()]
        for sha256, observation in pending.items():
            if (newest.get((source, sha256)) or {}).get("state") != "pending":
                records.append(_asked(writer, source, observation))
        for (where, sha256), record in newest.items():
            is_over = sha256 not in pending and sha256 not in denied  # a denial ends the wait by itself
            if where == source and record.get("state") == "pending" and is_over and _is_ours(record):
                records.append(_cleared(writer, record))
        for record in records:
            if record["event_id"] not in known and writer.permission(record):
                known.add(record["event_id"])
                appended.append(record)
    return appended


def _pending(reading: Reading) -> dict[str, Observation]:
    """Return what is still open at the end of a source, by its evidence."""
    newest = {seen.evidence_sha256: seen for seen in reading.observations}
    return {sha256: seen for sha256, seen in newest.items() if seen.state == "pending"}


def _is_ours(record: Document) -> bool:
    return text(record.get("policy_rule_id")) is not None


def _denied(writer: Writer, source: str, seen: Observation) -> Document:
    # The evidence names the request, or the very line: a denial is one however much of the stream is read.
    event_id = name_of("denied", writer.session_id, source, seen.policy_rule_id, seen.evidence_sha256)
    return _record(writer, source, seen, event_id)


def _asked(writer: Writer, source: str, seen: Observation) -> Document:
    times = sum(1 for record in writer.history.permissions if record.get("evidence_sha256") == seen.evidence_sha256)
    return _record(writer, source, seen, name_of("pending", writer.session_id, source, seen.evidence_sha256, times))


def _cleared(writer: Writer, record: Document) -> Document:
    return {
        **record,
        "event_id": name_of("cleared", record.get("event_id"))[:24],
        "recorded_at": writer.now(),
        "state": "cleared",
    }


def _record(writer: Writer, source: str, seen: Observation, event_id: str) -> Document:
    return {
        "schema": SCHEMA,
        "event_id": event_id[:24],
        "session_id": writer.session_id,
        "recorded_at": writer.now(),
        "principal": None,
        "operation": seen.operation,
        "resource_class": seen.resource_class,
        "target": seen.target,
        "requested_access": seen.requested_access,
        "state": seen.state,
        "source": source,
        "policy_rule_id": seen.policy_rule_id,
        "evidence_sha256": seen.evidence_sha256,
        "remediation_class": seen.remediation_class,
    }
