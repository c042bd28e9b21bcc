"""A recorded session as spans: what is nested in what, tokens, times, and what is left out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from recorded_traces import START, TraceWriter, at, fill

pytest.importorskip("opentelemetry.proto", reason="OTLP is an extra")

from agent_workflow.cli.otlp import recorded
from agent_workflow.cli.otlp.exporting import spans_to_send
from agent_workflow.cli.otlp.layout import lay_out
from agent_workflow.cli.otlp.recorded import read_session
from agent_workflow.cli.otlp.span import Span, span_id, trace_id
from agent_workflow.trace_schema import migrate, renew_generation
from agent_workflow.tracer import EventPage, TraceReader

BEGIN = int(START.timestamp()) * 1_000_000_000


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[TraceWriter]:
    """A trace database to fill."""
    writer = TraceWriter(tmp_path / "sssf.db")
    yield writer
    writer.connection.close()


def spans_of(trace: TraceWriter, adw_id: str = "aaaa0001", **options: Any) -> list[Span]:
    """Lay out one session."""
    with TraceReader(trace.path) as reader:
        return lay_out(read_session(reader, adw_id), **options)


def one(spans: list[Span], name: str, number: int = 0) -> Span:
    """Return the span of a name."""
    return [span for span in spans if span.name == name][number]


def path_of(spans: list[Span], span: Span) -> list[str]:
    """Return the names from the root down to a span."""
    by_key = {each.key: each for each in spans}
    names = [span.name]
    while span.parent is not None:
        span = by_key[span.parent]
        names.append(span.name)
    return names[::-1]


def test_agents_models_and_tools_are_nested(trace: TraceWriter) -> None:
    """Session, phase, agent, model call and tool; an agent that a tool started is inside of that tool."""
    fill(trace)

    spans = spans_of(trace)

    above = ["invoke_agent greet", "phase build", "invoke_agent builder"]
    assert [*above, "execute_tool bash"] == path_of(spans, one(spans, "execute_tool bash"))
    assert [*above, "chat large-1"] == path_of(spans, one(spans, "chat large-1"))
    below = [*above, "execute_tool bash", "invoke_agent helper", "execute_tool read"]
    assert below == path_of(spans, one(spans, "execute_tool read"))
    assert [None] == [span.parent for span in spans if span.parent is None]


def test_input_tokens_include_the_cache(trace: TraceWriter) -> None:
    """As the conventions want it; the parts are there as well, and what nobody told is not."""
    fill(trace)

    spans = spans_of(trace)
    chat, helper = one(spans, "chat large-1"), one(spans, "invoke_agent helper")

    expected = {
        "gen_ai.usage.input_tokens": 97, "gen_ai.usage.output_tokens": 40, "gen_ai.usage.cache_read.input_tokens": 30,
        "gen_ai.usage.cache_creation.input_tokens": 7, "gen_ai.usage.reasoning.output_tokens": 10,
        "agent_workflow.usage.total_tokens": 137,
    }  # fmt: skip
    assert expected == {name: value for name, value in chat.attributes.items() if ".usage." in name}
    assert 194 == one(spans, "invoke_agent builder").attributes["gen_ai.usage.input_tokens"]
    assert "gen_ai.usage.reasoning.output_tokens" not in helper.attributes


def test_a_cost_has_a_basis_and_an_unknown_one_no_amount(trace: TraceWriter) -> None:
    """Unknown is not zero."""
    fill(trace)

    spans = spans_of(trace)
    builder, helper = (one(spans, f"invoke_agent {name}").attributes for name in ("builder", "helper"))

    assert (0.5, "provider_billed") == (builder["agent_workflow.cost.usd"], builder["agent_workflow.cost.basis"])
    assert (None, "unknown") == (helper.get("agent_workflow.cost.usd"), helper["agent_workflow.cost.basis"])


def test_an_estimate_is_apart_from_what_was_billed(trace: TraceWriter) -> None:
    """They share no attribute; an estimate alone says that it is one, with the list that it comes from."""
    trace.session(total_cost=None, estimated_cost=0.5, price_catalogue="prices 1")
    trace.session("both", total_cost=0.25, estimated_cost=0.5)
    trace.session("none", total_cost=None, estimated_cost=None)
    trace.session("plan", total_cost=None, estimated_cost=0.5, cost_basis="subscription")

    costs = [
        {name.rpartition(".")[2]: v for name, v in spans_of(trace, adw_id)[0].attributes.items() if ".cost." in name}
        for adw_id in ("aaaa0001", "both", "none", "plan")
    ]

    assert [
        {"basis": "local_estimated", "estimated_usd": 0.5, "catalogue": "prices 1"},
        {"basis": "provider_billed", "usd": 0.25, "estimated_usd": 0.5},
        {"basis": "unknown"},
        {"basis": "subscription", "estimated_usd": 0.5},
    ] == costs


def test_a_send_ends_where_the_next_thing_begins(trace: TraceWriter) -> None:
    """Also where gate and question share a millisecond."""
    fill(trace)

    spans = spans_of(trace)
    first, second = (one(spans, "chat large-1", number) for number in (0, 1))

    assert [(0.2, 1), (1, 3)] == [((span.start - BEGIN) / 1e9, (span.end - BEGIN) / 1e9) for span in (first, second)]
    assert [1, 2] == [span.attributes["agent_workflow.send.number"] for span in (first, second)]


def test_gates_are_events_of_their_phase(trace: TraceWriter) -> None:
    """With their verdict and the number of checks, and no word of what they looked at."""
    fill(trace)

    gates = [event for event in one(spans_of(trace), "phase build").events if event.name == "agent_workflow.gate"]

    assert [False, True] == [gate.attributes["agent_workflow.gate.passed"] for gate in gates]
    assert [1, 0] == [gate.attributes["agent_workflow.gate.failed_checks"] for gate in gates]


def test_content_is_left_out_unless_asked_for(trace: TraceWriter) -> None:
    """None of the planted texts, not even in a name; with content, arguments and results are there."""
    fill(trace)
    trace.phase(2, "request", kind="engineer", owner="PLANTED person")
    trace.event("error", {"error": "PLANTED error"}, phase_id="aaaa0001_01_build", name="PLANTED name")
    trace.event("custom PLANTED", {"any": "PLANTED"}, name="PLANTED name")
    trace.connection.execute("UPDATE phases SET error = 'PLANTED reason', status = 'fail' WHERE name = 'build'")

    without, with_content = repr(spans_of(trace)), spans_of(trace, content=True)

    assert "PLANTED" not in without
    tool = one(with_content, "execute_tool bash").attributes
    assert ('{"command": "PLANTED argument"}', "PLANTED result") == (
        tool["gen_ai.tool.call.arguments"],
        tool["gen_ai.tool.call.result"],
    )
    assert "PLANTED reason" == one(with_content, "phase build").message


def test_a_clock_that_was_set_back_gives_no_negative_duration(trace: TraceWriter) -> None:
    """The span is empty, and both recorded times are kept."""
    trace.session(started_at=at(50), ended_at=at(10))

    (span,) = spans_of(trace)

    assert span.start == span.end == BEGIN + 50_000_000_000
    assert BEGIN + 10_000_000_000 == span.attributes["agent_workflow.time.recorded_end"]


@pytest.mark.parametrize("moment", [None, "", "yesterday", "9999-99-99", "0001-01-01T00:00:00+00:00"])
def test_times_that_cannot_be_read_are_told(moment: str | None, trace: TraceWriter) -> None:
    """A tool whose start is unknown begins with what it is in, and says so."""
    trace.session()
    phase = trace.phase(3, "build")
    trace.tool("bash", phase, "", started_at=moment, ended_at=at(5))

    tool = one(spans_of(trace), "execute_tool bash")

    assert (BEGIN + 3_000_000_000, True) == (tool.start, tool.attributes["agent_workflow.time.start_unknown"])


def test_what_never_ended_is_marked_and_reaches_to_the_last_that_is_known(trace: TraceWriter) -> None:
    """As after a SIGKILL: the agent, its send, its phase and the session have no end."""
    trace.session(status="running", ended_at=None)
    phase = trace.phase(1, "build", status="running", ended_at=None)
    builder = trace.agent("builder", phase, "")
    trace.tool("bash", phase, builder, started_at=at(5), ended_at=at(9))

    spans = spans_of(trace)

    named = ("invoke_agent greet", "phase build", "invoke_agent builder", "chat large-1")
    for span in (one(spans, name) for name in named):
        assert (True, BEGIN + 9_000_000_000) == (span.attributes["agent_workflow.unfinished"], span.end), span.name
    assert "lost" == one(spans, "invoke_agent greet").attributes["error.type"]
    assert "agent_workflow.unfinished" not in one(spans, "execute_tool bash").attributes


def test_a_running_session_keeps_back_what_has_no_end(trace: TraceWriter) -> None:
    """Receivers keep what came first, so that an unfinished span would stay unfinished there."""
    trace.session(status="running", ended_at=None)
    phase = trace.phase(1, "build")
    trace.tool("bash", phase, trace.agent("builder", phase, ""))
    with TraceReader(trace.path) as reader:
        session = read_session(reader, "aaaa0001")
    running = session.__class__({**session.row, "shown_status": "running"}, *list(vars(session).values())[1:])

    sent = spans_to_send(running, lay_out(running))

    assert ["phase build", "execute_tool bash"] == [span.name for span in sent]


def test_circles_and_missing_parents_end_at_the_phase(trace: TraceWriter) -> None:
    """Other writers may name anything."""
    trace.session()
    phase = trace.phase(1, "build")
    trace.agent("one", phase, "evt_two", event_id="evt_one")
    trace.agent("two", phase, "evt_one", event_id="evt_two")
    trace.agent("self", phase, "evt_self", event_id="evt_self")
    trace.tool("lost", "no such phase", "no such event")
    trace.event("log", phase_id=phase, parent_id="evt_b", event_id="evt_a")
    trace.event("log", phase_id=phase, parent_id="evt_a", event_id="evt_b")

    spans = spans_of(trace)

    for name in ("one", "two", "self"):
        assert ["invoke_agent greet", "phase build"] == path_of(spans, one(spans, f"invoke_agent {name}"))[:2]
    assert ["invoke_agent greet", "execute_tool lost"] == path_of(spans, one(spans, "execute_tool lost"))


@pytest.mark.parametrize("payload", ["", "[]", "{", '{"usage": 1, "sends": [1]}', "[" * 100_000, '{"cost": "much"}'])
def test_a_payload_that_says_nothing_stops_nothing(payload: str, trace: TraceWriter) -> None:
    """The spans are there, with less in them."""
    trace.session()
    phase = trace.phase(1, "build")
    start = trace.event("agent_start", payload, phase_id=phase, name="builder")
    trace.event("tool_call", payload, phase_id=phase, parent_id=start)
    trace.event("gate_fail", payload, phase_id=phase)
    trace.event("agent_end", payload, phase_id=phase, parent_id=start, name="builder")

    names = {span.name for span in spans_of(trace)}

    assert {"invoke_agent greet", "phase build", "invoke_agent builder", "execute_tool tool", "chat unknown"} == names


def test_an_end_without_a_parent_belongs_to_the_last_open_start(trace: TraceWriter) -> None:
    """As traces of other writers have it."""
    trace.session()
    phase = trace.phase(1, "build")
    trace.agent("builder", phase, "")
    trace.event("agent_end", {"cost": 1.5}, phase_id=phase, name="builder", started_at=at(8))

    builder = one(spans_of(trace), "invoke_agent builder")

    assert (BEGIN + 8_000_000_000, 1.5) == (builder.end, builder.attributes["agent_workflow.cost.usd"])


def test_a_deep_chain_of_agents_is_laid_out(trace: TraceWriter) -> None:
    """Nesting is walked, not recursed into."""
    trace.session()
    phase = trace.phase(1, "build")
    parent = ""
    trace.connection.execute("BEGIN")
    for number in range(3_000):
        parent = trace.agent(f"agent-{number}", phase, parent)
    trace.connection.execute("COMMIT")

    spans = spans_of(trace)

    assert 3_002 == len(path_of(spans, one(spans, "invoke_agent agent-2999")))


def test_ids_depend_on_the_session_alone() -> None:
    """Two repositories may choose the same id for sessions that began at different times."""
    first, second = trace_id("1", at(0)), trace_id("1", at(1))

    assert (16, 8) == (len(first), len(span_id(first, "session")))
    assert first == trace_id("1", at(0)) != second
    assert span_id(first, "session") != span_id(second, "session")


class RebuiltMeanwhile(TraceReader):
    """A reader whose database is filled again, with other rowids, behind the first page of events."""

    writer: TraceWriter

    def events(self, adw_id: str, **options: Any) -> EventPage:
        """Read a page, then fill the database again if that was the first."""
        page = super().events(adw_id, **options)
        if self.writer.connection.execute("SELECT count(*) FROM events WHERE adw_id = 'gone'").fetchone()[0]:
            connection = self.writer.connection
            connection.execute("CREATE TEMP TABLE kept AS SELECT * FROM events WHERE adw_id != 'gone' ORDER BY rowid")
            connection.execute("BEGIN")
            connection.execute("DELETE FROM events")
            connection.execute("INSERT INTO events SELECT * FROM kept")
            renew_generation(connection)
            connection.execute("COMMIT")
        return page


def test_a_database_that_is_filled_again_meanwhile_loses_no_event(
    trace: TraceWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rowids start again, so a cursor of the filling before would pass over some."""
    migrate(trace.connection)
    trace.event("log", adw_id="gone")
    fill(trace)
    whole = [event.id for event in _session(TraceReader, trace).events]
    monkeypatch.setattr(recorded, "_PAGE", 3)

    RebuiltMeanwhile.writer = trace
    read = [event.id for event in _session(RebuiltMeanwhile, trace).events]

    assert whole == read


def _session(kind: type[TraceReader], trace: TraceWriter) -> recorded.RecordedSession:
    with kind(trace.path) as reader:
        return read_session(reader, "aaaa0001")
