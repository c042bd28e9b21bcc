"""Helping, by versioned rules: what is intended is on record before it is done, and what came of it afterwards.

An attempt is an intent and its outcome, both named by run, rule, target and number. A supervisor that was killed
between the two leaves an open attempt, which the next one finishes under the same number. Without room for an intent in
the journal nothing is done.
"""

from dataclasses import dataclass, field
from typing import Literal

from agent_workflow.cli.supervisor.documents import Document, inner, whole_number
from agent_workflow.cli.supervisor.history import History, Writer, name_of

SCHEMA = "agent-workflow/remediation-event/v1"

Outcome = Literal["applied", "failed", "unverified"]
"""It was done and seen to be; it could not be done; it was done, or may have been, without an effect to be seen."""

INTENDED = "intended"
GIVEN_UP = "given_up"


@dataclass(frozen=True, slots=True)
class Rule:
    """What may be done.

    Attributes:
        rule_id: with its version, for example ``finalize-lost/v1``.
        action: what it does, in a word.
    """

    rule_id: str
    action: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of a rule.

    Attributes:
        target: what it is done to: the same target is tried only so often.
        number: from 1.
        is_resumed: its intent was on record already; whoever wrote it did not live to write the outcome.
    """

    rule: Rule
    target: str
    number: int
    incident_id: str | None
    is_resumed: bool


@dataclass(frozen=True, slots=True)
class Remediation:
    """What was done to a run in this cycle."""

    session_id: str
    rule_id: str
    action: str
    outcome: str
    reason: str
    incident_id: str | None = None
    details: Document = field(default_factory=dict)

    def to_document(self) -> Document:
        """Return it for the report."""
        return {
            "session_id": self.session_id,
            "rule_id": self.rule_id,
            "action": self.action,
            "outcome": self.outcome,
            "reason": self.reason,
            "incident_id": self.incident_id,
            "details": self.details,
        }


def begin(writer: Writer, rule: Rule, target: str, reason: str, incident_id: str | None = None) -> Attempt | None:
    """Write what is intended, or take up what was intended before.

    Args:
        writer: of the run, whose lock is held.
        rule: what is to be done.
        target: to what, in our own words.
        reason: why, in our own words.
        incident_id: the incident that it answers.

    Returns:
        None where the rule was tried often enough, or the journal has no room: then nothing may be done.

    Raises:
        EvidenceError: the journal cannot be written.
    """
    made, finished = attempts(writer.history, rule, target)
    if made > finished:
        return next(attempt for attempt in open_attempts(writer.history, rule) if attempt.target == target)
    if made >= writer.settings.attempts:
        _give_up(writer, rule, target, incident_id)
        return None
    attempt = Attempt(rule, target, made + 1, incident_id, is_resumed=False)
    return attempt if writer.remediation(_record(writer, attempt, INTENDED, reason, {})) else None


def finish(writer: Writer, attempt: Attempt, outcome: Outcome, reason: str, details: Document) -> Remediation:
    """Write what came of an attempt, for a caller that holds the run's lock.

    Raises:
        EvidenceError: the journal cannot be written; the attempt stays open for the next cycle.
    """
    record = _record(writer, attempt, outcome, reason, details)
    writer.remediation(record)
    rule = attempt.rule
    return Remediation(
        writer.session_id, rule.rule_id, rule.action, outcome, reason, attempt.incident_id, record["details"]
    )


def attempts(history: History, rule: Rule, target: str) -> tuple[int, int]:
    """Count the attempts of a rule on a target that were begun, and those that were finished."""
    begun = finished = 0
    for record in history.remediations:
        details = inner(record, "details")
        if record.get("rule_id") != rule.rule_id or details.get("target") != target:
            continue
        number = whole_number(details.get("attempt")) or 0
        if record.get("outcome") == INTENDED:
            begun = max(begun, number)
        elif record.get("outcome") != GIVEN_UP:
            finished = max(finished, number)
    return begun, finished


def was_applied(history: History, rule: Rule, target: str) -> bool:
    """Tell whether a rule was applied to a target."""
    return any(
        record.get("rule_id") == rule.rule_id
        and record.get("outcome") == "applied"
        and inner(record, "details").get("target") == target
        for record in history.remediations
    )


def open_attempts(history: History, rule: Rule) -> list[Attempt]:
    """Return the attempts of a rule whose outcome is not on record."""
    targets = {
        str(inner(record, "details").get("target")): record.get("incident_id")
        for record in history.remediations
        if record.get("rule_id") == rule.rule_id
    }
    found = []
    for target, incident_id in targets.items():
        begun, finished = attempts(history, rule, target)
        if begun > finished:
            found.append(
                Attempt(rule, target, begun, None if incident_id is None else str(incident_id), is_resumed=True)
            )
    return found


def _give_up(writer: Writer, rule: Rule, target: str, incident_id: str | None) -> None:
    for record in writer.history.remediations:
        is_this = record.get("rule_id") == rule.rule_id and inner(record, "details").get("target") == target
        if is_this and record.get("outcome") == GIVEN_UP:
            return
    attempt = Attempt(rule, target, writer.settings.attempts, incident_id, is_resumed=False)
    reason = f"no attempt of {writer.settings.attempts} helped; a person has to look"
    writer.remediation(_record(writer, attempt, GIVEN_UP, reason, {}))


def _record(writer: Writer, attempt: Attempt, outcome: str, reason: str, details: Document) -> Document:
    rule, number = attempt.rule, attempt.number
    return {
        "schema": SCHEMA,
        "event_id": name_of(writer.session_id, rule.rule_id, attempt.target, number, outcome)[:24],
        "session_id": writer.session_id,
        "incident_id": attempt.incident_id,
        "recorded_at": writer.now(),
        "rule_id": rule.rule_id,
        "action": rule.action,
        "outcome": outcome,
        "reason": reason,
        "details": {**details, "target": attempt.target, "attempt": number, "ceiling": writer.settings.attempts},
    }
