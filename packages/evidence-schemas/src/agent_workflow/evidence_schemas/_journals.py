"""The journals of a run: one record a line, appended while the run goes on.

Only core constraints here: an index validates every line, so nothing may call back into Python.
"""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, WhenPresent
from agent_workflow.evidence_schemas._scalars import (
    FreeArray,
    FreeObject,
    Int64,
    Max64,
    Max128,
    Max256,
    Max1024,
    Positive,
    Sha256,
    ShortDigest,
    Text64,
    Text128,
)


class LifecycleEvent(Record):
    """One line of ``events.jsonl``: a dimension of the run moved from one state to another."""

    schema_: Literal["agent-workflow/lifecycle-event/v1"] = Field(alias="schema")
    sequence: Int64
    timestamp: str
    dimension: WhenPresent[str] = None
    prior: str | None = None
    new: WhenPresent[str] = None
    actor: WhenPresent[str] = None
    reason: WhenPresent[str] = None
    receipt_refs: WhenPresent[FreeArray] = None


class AssignmentEvent(Record, extra="forbid"):
    """One line of ``assignments.jsonl``: an agent was given, began or ended a task."""

    schema_: Literal["agent-workflow/assignment-event/v1"] = Field(alias="schema")
    sequence: Positive
    timestamp: str
    event: Literal["assigned", "assignment_requested", "assignment_started", "task_completed"]
    session_id: str
    assignment_id: str
    actor: str
    ticket_id: str | None = None
    pack_id: str | None = None
    correlation_id: str | None = None
    automatic: WhenPresent[bool] = None
    summary: WhenPresent[Annotated[str, Field(max_length=4096)]] = None
    tags: WhenPresent[Annotated[list[str], Field(max_length=64)]] = None
    files: WhenPresent[Annotated[list[str], Field(max_length=64)]] = None


class SessionMessage(Record):
    """One line of ``messages.jsonl``: a message between a run and its parent."""

    schema_: Literal["agent-workflow/session-message/v1"] = Field(alias="schema")
    sequence: Int64
    message_id: str
    session_id: str
    timestamp: str
    direction: WhenPresent[str] = None
    kind: WhenPresent[str] = None
    actor: WhenPresent[str] = None
    content: WhenPresent[str] = None
    correlation_id: str | None = None


class ControlEvent(Record, extra="forbid"):
    """One line of ``control-events.jsonl``: a message that steers a run or answers to that."""

    schema_: Literal["agent-workflow/control-event/v1"] = Field(alias="schema")
    sequence: Positive
    message_id: str
    session_id: str
    timestamp: str
    direction: Literal["parent_to_child", "child_to_parent"]
    kind: Literal["steer", "progress", "ack", "error", "task_complete"]
    actor: str
    content: Annotated[str, Field(min_length=1, max_length=16_384)]
    correlation_id: str | None = None


class SteeringDelivery(Record):
    """One line of ``steering-delivery.jsonl``: what became of a steering message."""

    schema_: Literal["agent-workflow/steering-delivery/v1"] = Field(alias="schema")
    sequence: Int64
    event_id: str
    session_id: str
    at: str
    adapter: WhenPresent[str] = None
    attempt: WhenPresent[Int64] = None
    correlation_id: str | None = None
    executor: str | None = None
    message_sha256: WhenPresent[str] = None
    outcome: WhenPresent[str] = None
    reason: str | None = None


class TerminalEvent(Record, extra="forbid"):
    """One line of ``terminal-events.jsonl``: what a terminal pane showed."""

    schema_: Literal["agent-workflow/terminal-event/v1"] = Field(alias="schema")
    session_id: Text128
    recorded_at: Text64
    pane_id: Text128
    content_sha256: Sha256
    content_bytes: Annotated[int, Field(ge=0, le=65_536)]
    content: Annotated[str, Field(max_length=65_536)]


class IncidentEvent(Record, extra="forbid"):
    """One line of ``incident-events.jsonl``: an incident was opened, resolved or suppressed."""

    schema_: Literal["agent-workflow/incident-event/v1"] = Field(alias="schema")
    incident_id: ShortDigest
    session_id: Text128
    recorded_at: Text64
    category: Text128
    severity: Literal["low", "medium", "high", "critical"]
    summary: Annotated[str, Field(min_length=1, max_length=2048)]
    fingerprint: Sha256
    evidence: FreeObject
    state: Literal["open", "resolved", "suppressed"]


class RemediationEvent(Record, extra="forbid"):
    """One line of ``remediation-events.jsonl``: what the supervisor did about an incident, and why."""

    schema_: Literal["agent-workflow/remediation-event/v1"] = Field(alias="schema")
    event_id: ShortDigest
    session_id: Text128
    incident_id: Max64 | None
    recorded_at: Text64
    rule_id: Text128
    action: Text128
    outcome: Text128
    reason: Annotated[str, Field(min_length=1, max_length=4096)]
    details: FreeObject


class PermissionEvent(Record, extra="forbid"):
    """One line of ``permission-events.jsonl``: a permission was asked for, denied or cleared."""

    schema_: Literal["agent-workflow/permission-event/v1"] = Field(alias="schema")
    event_id: ShortDigest
    session_id: Text128
    recorded_at: Text64
    principal: Max256 | None
    operation: Text128
    resource_class: Text128
    target: Max1024 | None
    requested_access: Max256 | None
    state: Literal["pending", "denied", "cleared"]
    source: Text128
    policy_rule_id: Max128 | None
    evidence_sha256: Sha256
    remediation_class: Text128
