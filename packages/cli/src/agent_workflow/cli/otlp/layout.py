"""A recorded session as spans: session, phases, agents, model calls and tools, nested."""

from agent_workflow.cli.otlp.agent_spans import AgentCalls, agent_span, tool_span
from agent_workflow.cli.otlp.model_calls import model_calls
from agent_workflow.cli.otlp.moments import moment_of
from agent_workflow.cli.otlp.nesting import SESSION, Nesting, event_key, phase_key
from agent_workflow.cli.otlp.recorded import Event, RecordedSession, nanoseconds
from agent_workflow.cli.otlp.span import Attributes, Span
from agent_workflow.cli.otlp.spending import session_cost_attributes

_RAW_START = "agent_workflow.time.recorded_start"
_RAW_END = "agent_workflow.time.recorded_end"


def lay_out(session: RecordedSession, *, content: bool = False) -> list[Span]:
    """Return the spans of a session, the session's first; the same session gives the same spans.

    Args:
        session: as recorded.
        content: also the request, descriptions, arguments, results and messages.
    """
    layout = _Layout(session, content)
    layout.add_session()
    layout.add_phases()
    layout.add_agents_and_tools()
    layout.add_model_calls()
    layout.add_moments()
    layout.close()
    return list(layout.spans.values())


class _Layout:
    def __init__(self, session: RecordedSession, content: bool) -> None:
        self.session = session
        self.content = content
        self.spans: dict[str, Span] = {}
        self.nesting = Nesting([str(row["phase_id"]) for row in session.phases], session.events)
        self.calls = AgentCalls(session.events)
        self.recorded: dict[str, tuple[int | None, int | None]] = {}
        moments = [event.start for event in session.events if event.start is not None]
        self.first = nanoseconds(session.row["started_at"]) or min(moments, default=0)

    def add_session(self) -> None:
        row = self.session.row
        status = str(row["shown_status"])
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": str(row["adw_name"] or "workflow"),
            "agent_workflow.session.id": str(row["adw_id"]),
            "agent_workflow.session.status": status,
        }
        if isinstance(row["total_tokens"], int):
            attributes["agent_workflow.usage.total_tokens"] = row["total_tokens"]
        attributes |= session_cost_attributes(row)
        if self.content:
            attributes |= _texts(("agent_workflow.session.request", row["request"]))
            attributes |= _texts(("agent_workflow.session.engineer", row["engineer"]))
        span = Span(SESSION, None, f"invoke_agent {attributes['gen_ai.agent.name']}", "internal", 0, 0, attributes)
        _judge(span, status)
        self._put(span, nanoseconds(row["started_at"]), nanoseconds(row["ended_at"]))

    def add_phases(self) -> None:
        edges: dict[tuple[str, str], Event] = {}
        for event in self.session.events:
            if event.type in ("phase_start", "phase_end"):
                edges.setdefault((event.phase_id, event.type), event)
        for row in self.session.phases:
            phase_id, status = str(row["phase_id"]), str(row["status"] or "unknown")
            name = str(row["name"] or phase_id)
            attributes: Attributes = {"agent_workflow.phase.name": name, "agent_workflow.phase.status": status}
            for column in ("kind", "owner", "seq", "attempt", "retries"):
                # The owner of an engineer's phase is a person.
                is_person = column == "owner" and row["kind"] not in ("agent", "code")
                if isinstance(row[column], str | int) and (self.content or not is_person):
                    attributes[f"agent_workflow.phase.{column}"] = row[column]
            if self.content:
                attributes |= _texts(("agent_workflow.phase.description", row["description"]))
            span = Span(phase_key(phase_id), SESSION, f"phase {name}", "internal", 0, 0, attributes)
            _judge(span, status)
            span.message = str(row["error"] or "")
            began, ended = edges.get((phase_id, "phase_start")), edges.get((phase_id, "phase_end"))
            start = nanoseconds(row["started_at"]) if began is None or began.start is None else began.start
            end = nanoseconds(row["ended_at"]) if ended is None or ended.start is None else ended.start
            self._put(span, start, end)

    def add_agents_and_tools(self) -> None:
        for event in self.session.events:
            if event.type == "agent_start":
                end = self.calls.end_of(event)
                span = agent_span(event, end, self.nesting.of_span(event_key(event.id)), content=self.content)
                self._put(span, event.start, None if end is None else end.moment)
            elif event.type == "tool_call":
                span = tool_span(event, self.nesting.of_span(event_key(event.id)), content=self.content)
                self._put(span, event.start, event.moment)

    def add_model_calls(self) -> None:
        """Behind the others: an agent that has no end gets one from what is inside of it."""
        self._end_what_is_open()
        during = self.calls.during(self.nesting)
        for event in self.session.events:
            if event.type == "agent_start":
                agent = self.spans[event_key(event.id)]
                for span in model_calls(agent, event, self.calls.end_of(event), during.get(event.id, ())):
                    reaches, is_open = span.end, span.is_open
                    self._put(span, span.start, None if is_open else reaches)
                    span.end = max(span.start, reaches)

    def add_moments(self) -> None:
        for event in self.session.events:
            span = self.spans[self.nesting.of_event(event)]
            moment = moment_of(event, span.end, content=self.content)
            if moment is not None and event_key(event.id) not in self.spans:
                span.events.append(moment)

    def close(self) -> None:
        """Tell of every span whose times were not as they should be, and keep content back."""
        for span in self.spans.values():
            start, end = self.recorded[span.key]
            if span.is_open:
                span.attributes["agent_workflow.unfinished"] = True
            if start is not None and end is not None and end < start:
                span.attributes |= {_RAW_START: start, _RAW_END: end}
            if start is None:
                span.attributes["agent_workflow.time.start_unknown"] = True
            if not self.content:
                span.message = ""

    def _put(self, span: Span, start: int | None, end: int | None) -> None:
        """Keep a span with its recorded times; its start is its parent's where none can be read."""
        self.recorded[span.key] = (start, end)
        parent = self.spans.get(span.parent or "")
        span.start = start if start is not None else self.first if parent is None else parent.start
        span.end = span.start if end is None else max(span.start, end)
        span.is_open = end is None
        self.spans[span.key] = span

    def _end_what_is_open(self) -> None:
        """Let what has no end reach to the last thing that is known of it."""
        for event in self.session.events:
            if event.moment is not None:
                self._reach(self.nesting.of_event(event), event.moment)
        phases = [phase_key(str(row["phase_id"])) for row in self.session.phases]
        for key in (*self.nesting.inside_out(), *phases):
            span = self.spans[key]
            self._reach(span.parent, span.end)

    def _reach(self, key: str | None, moment: int) -> None:
        span = self.spans.get(key or "")
        if span is not None and span.is_open:
            span.end = max(span.end, moment)


def _judge(span: Span, status: str) -> None:
    """Success is earned; anything but that, and what still runs, is none."""
    if status == "success":
        span.failed = False
    elif status not in ("running", "queued", "waiting", "unknown"):
        span.failed = True
        span.attributes["error.type"] = status


def _texts(*pairs: tuple[str, object]) -> Attributes:
    return {name: text for name, text in pairs if isinstance(text, str) and text}
