"""What happens at one moment of a span: gates, handoffs, waits, errors; their words only where content is wanted."""

from collections.abc import Mapping
from typing import Any

from agent_workflow.cli.otlp.recorded import Event, json_text
from agent_workflow.cli.otlp.span import Attributes, SpanEvent
from agent_workflow.trace_schema import EVENT_TYPES

_SPANNING_OR_EDGE = frozenset({"phase_start", "phase_end", "agent_start", "agent_end", "tool_call"})
_OUR_LOGS = frozenset({"asked_again", "paths_touched", "left_running", "permission_breach"})


def moment_of(event: Event, otherwise: int, *, content: bool) -> SpanEvent | None:
    """Return an event of a span, ``None`` for what spans or edges already tell.

    Args:
        event: as recorded.
        otherwise: the moment where the event has none that can be read.
        content: also what was said and looked at.
    """
    if event.type in _SPANNING_OR_EDGE:
        return None
    attributes: Attributes = {}
    if event.type in ("gate_pass", "gate_fail"):
        attributes = _gate(event)
    elif event.type == "handoff":
        artifacts = event.payload.get("artifacts")
        attributes["agent_workflow.handoff.artifacts"] = len(artifacts) if isinstance(artifacts, list) else 0
    elif event.type == "log" and event.name in _OUR_LOGS:
        attributes["agent_workflow.log.name"] = event.name
    if content:
        attributes["agent_workflow.event.type"] = event.type
        attributes["agent_workflow.event.name"] = event.name
        attributes["agent_workflow.event.payload"] = json_text(event.payload)
    # A type that nobody knows is a writer's own word, and may say anything.
    name = "gate" if event.type in ("gate_pass", "gate_fail") else event.type if event.type in EVENT_TYPES else "event"
    moment = otherwise if event.moment is None else event.moment
    return SpanEvent(f"agent_workflow.{name}", moment, attributes)


def _gate(event: Event) -> Attributes:
    checks = event.payload.get("checks")
    attributes: Attributes = {
        "agent_workflow.gate.name": event.name,
        "agent_workflow.gate.passed": event.type == "gate_pass",
    }
    for name, value in (("attempt", event.payload.get("attempt")), ("checks", _length(checks))):
        if isinstance(value, int):
            attributes[f"agent_workflow.gate.{name}"] = value
    if isinstance(checks, list):
        failed = [check for check in checks if isinstance(check, Mapping) and check.get("ok") is False]
        attributes["agent_workflow.gate.failed_checks"] = len(failed)
    return attributes


def _length(value: Any) -> int | None:  # noqa: ANN401 - whatever a writer put into a payload
    return len(value) if isinstance(value, list) else None
