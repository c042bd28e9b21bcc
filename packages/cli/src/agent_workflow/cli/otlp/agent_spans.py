"""The spans of agents and of the tools that they called."""

from collections.abc import Mapping, Sequence

from agent_workflow.cli.otlp.model_calls import model_attributes
from agent_workflow.cli.otlp.nesting import Nesting, event_key
from agent_workflow.cli.otlp.recorded import Event, json_text
from agent_workflow.cli.otlp.span import Attributes, Span
from agent_workflow.cli.otlp.spending import cost_attributes, token_attributes, usages_of


class AgentCalls:
    """Which end belongs to which start, and what lies between."""

    def __init__(self, events: Sequence[Event]) -> None:
        """Pair starts and ends: by the end's parent, else the last open start of that name in the same phase."""
        self._events = events
        self._ends: dict[str, Event] = {}
        open_starts: dict[str, Event] = {}
        for event in events:
            if event.type == "agent_start":
                open_starts[event.id] = event
            elif event.type == "agent_end":
                start = open_starts.pop(event.parent_id, None) or _last_of_that_name(open_starts, event)
                if start is not None:
                    open_starts.pop(start.id, None)
                    self._ends[start.id] = event

    def end_of(self, start: Event) -> Event | None:
        """Return the ``agent_end`` of an ``agent_start``, ``None`` where there is none (yet)."""
        return self._ends.get(start.id)

    def during(self, nesting: Nesting) -> Mapping[str, list[Event]]:
        """Return the events of each call, and those of its phase while it was on, by the call's ``agent_start``."""
        found: dict[str, list[Event]] = {}
        current: dict[str, str] = {}
        starts = {end.id: start for start, end in self._ends.items()}
        for event in self._events:
            if event.type == "agent_start":
                current[event.phase_id] = event.id
                found[event.id] = []
                continue
            owner = nesting.of_event(event).removeprefix("event:")
            owner = owner if owner in found else current.get(event.phase_id, "")
            if owner in found:
                found[owner].append(event)
            if event.type == "agent_end" and current.get(event.phase_id) == starts.get(event.id):
                current.pop(event.phase_id, None)
        return found


def _last_of_that_name(open_starts: Mapping[str, Event], end: Event) -> Event | None:
    fitting = [start for start in open_starts.values() if (start.phase_id, start.name) == (end.phase_id, end.name)]
    return fitting[-1] if fitting else None


def agent_span(start: Event, end: Event | None, parent: str | None, *, content: bool) -> Span:
    """Lay out an agent's call; its tokens include compaction and the tools that called a model, as its cost does."""
    attributes = model_attributes(start, "invoke_agent")
    for name in ("coding_agent", "thinking"):
        if isinstance(value := start.payload.get(name), str):
            attributes[f"agent_workflow.agent.{name}"] = value
    if content and isinstance(purpose := start.payload.get("purpose"), str):
        attributes["gen_ai.agent.description"] = purpose
    failed = False
    if end is not None:
        attributes |= token_attributes(usages_of(end.payload)) | cost_attributes(end.payload.get("cost"))
        for name in ("context_tokens", "context_window"):
            if isinstance(count := end.payload.get(name), int):
                attributes[f"agent_workflow.agent.{name}"] = count
        verdict = _last_verdict(end)
        failed = verdict not in (None, "answered")
        if failed:
            attributes["error.type"] = str(verdict)
    name = f"invoke_agent {start.name or 'agent'}"
    return Span(event_key(start.id), parent, name, "internal", 0, 0, attributes, failed=failed or None)


def _last_verdict(end: Event) -> str | None:
    sends = end.payload.get("sends")
    last = sends[-1] if isinstance(sends, list) and sends else None
    verdict = last.get("verdict") if isinstance(last, dict) else None
    return verdict if isinstance(verdict, str) else None


def tool_span(event: Event, parent: str | None, *, content: bool) -> Span:
    """Lay out a tool's call. The event's own name shows arguments, so the tool's name is taken."""
    payload = event.payload
    tool = payload["tool"] if isinstance(payload.get("tool"), str) and payload["tool"] else "tool"
    attributes: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    if isinstance(call_id := payload.get("tool_call_id"), str) and call_id:
        attributes["gen_ai.tool.call.id"] = call_id
    if isinstance(agent := payload.get("agent"), str) and agent:
        attributes["gen_ai.agent.name"] = agent
    duration = payload.get("duration_ms")
    if isinstance(duration, int | float) and not isinstance(duration, bool):
        attributes["agent_workflow.tool.duration_ms"] = float(duration)
    failed = payload.get("ok") is False
    if failed:
        attributes["error.type"] = "interrupted" if payload.get("interrupted") is True else "tool_error"
    if content:
        if "args" in payload:
            attributes["gen_ai.tool.call.arguments"] = json_text(payload["args"])
        if isinstance(result := payload.get("result_snippet"), str):
            attributes["gen_ai.tool.call.result"] = result
    name = f"execute_tool {tool}"
    return Span(event_key(event.id), parent, name, "internal", 0, 0, attributes, failed=failed or None)
