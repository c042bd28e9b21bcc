"""The ``chat`` spans of an agent's call: one for each time it was asked, and one for each compaction.

The trace tells of sends, each of which may have taken the model several turns; their number is an attribute. A send
has no row of its own: the first begins with the call, each further one where the agent was asked again, and one ends at
the first gate, question or handoff behind it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_workflow.cli.otlp.recorded import Event
from agent_workflow.cli.otlp.span import Attributes, Span
from agent_workflow.cli.otlp.spending import cost_attributes, token_attributes, usages_of

_ENDING_TYPES = frozenset({"gate_pass", "gate_fail", "handoff", "agent_end", "error"})
_BAD_VERDICTS = frozenset({"cut_off", "provider_error", "aborted", "failed", "incomplete"})


def model_of(payload: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return provider and model of an ``agent_start``, whose model is written ``provider/id``."""
    written = payload.get("model")
    if not isinstance(written, str) or not written:
        return None, "unknown"
    provider, slash, model = written.partition("/")
    return (provider, model) if slash and provider and model else (None, written)


def model_attributes(start: Event, operation: str) -> Attributes:
    """Return what every span of an agent and its model calls says of both."""
    provider, model = model_of(start.payload)
    attributes: Attributes = {"gen_ai.operation.name": operation, "gen_ai.agent.name": start.name or "agent"}
    if provider is not None:
        attributes["gen_ai.provider.name"] = provider
    attributes["gen_ai.request.model"] = model
    conversation = start.payload.get("session_id")
    if isinstance(conversation, str) and conversation:
        attributes["gen_ai.conversation.id"] = conversation
    return attributes


def model_calls(agent: Span, start: Event, end: Event | None, during: Sequence[Event]) -> list[Span]:
    """Lay out what the model was asked.

    Args:
        agent: span of the call.
        start: the call's ``agent_start``.
        end: its ``agent_end``, ``None`` where there is none (yet).
        during: events of the call's phase and of the call itself, behind its start, in order.
    """
    sends = _sends(end)
    found = []
    for number, (began, over) in enumerate(_times(agent, end, during), start=1):
        send = sends[number - 1] if number <= len(sends) else {}
        if end is not None and number > len(sends):
            break  # to be asked again, and never sent
        found.append(_chat(agent, start, number, send, (began, over)))
    return found + [_compaction(agent, start, event) for event in during if _is_compaction(event)]


def _times(agent: Span, end: Event | None, during: Sequence[Event]) -> list[tuple[int, int | None]]:
    """Find when each send began and ended; order counts, because gate and question may share a millisecond."""
    times: list[tuple[int, int | None]] = [(agent.start, None)]
    for event in during:
        began, over = times[-1]
        is_question = event.type == "log" and event.name == "asked_again"
        if over is None and event.start is not None and (is_question or event.type in _ENDING_TYPES):
            times[-1] = (began, event.start)
        if is_question:
            times.append((began if event.start is None else event.start, None))
    if end is not None and times[-1][1] is None:
        times[-1] = (times[-1][0], agent.end)
    return times


def _sends(end: Event | None) -> list[Mapping[str, Any]]:
    """Return what is known of each send; other writers tell of the call as a whole."""
    if end is None:
        return []
    sends = end.payload.get("sends")
    if isinstance(sends, list) and sends:
        return [send if isinstance(send, dict) else {} for send in sends]
    return [{"usage": end.payload.get("usage")}]


def _chat(agent: Span, start: Event, number: int, send: Mapping[str, Any], times: tuple[int, int | None]) -> Span:
    attributes = model_attributes(start, "chat")
    stop_reason, verdict, turns = send.get("stop_reason"), send.get("verdict"), send.get("turns")
    if isinstance(stop_reason, str) and stop_reason:
        attributes["gen_ai.response.finish_reasons"] = (stop_reason,)
    attributes["agent_workflow.send.number"] = number
    if isinstance(verdict, str):
        attributes["agent_workflow.send.verdict"] = verdict
    if isinstance(turns, int):
        attributes["agent_workflow.send.turns"] = turns
    usages = usages_of({"usage": send.get("usage")})
    attributes |= token_attributes(usages)
    attributes |= cost_attributes(usages[0].get("total_cost") if usages else None)
    failed = isinstance(verdict, str) and verdict in _BAD_VERDICTS
    if failed:
        attributes["error.type"] = str(verdict)
    began, over = times
    error = send.get("error")
    return Span(
        key=f"{agent.key}:send:{number}",
        parent=agent.key,
        name=f"chat {attributes['gen_ai.request.model']}",
        kind="client",
        start=began,
        end=agent.end if over is None else over,
        attributes=attributes,
        failed=failed or None,
        message=error if isinstance(error, str) else "",
        is_open=over is None,
    )


def _is_compaction(event: Event) -> bool:
    return event.type == "log" and event.name == "compaction" and isinstance(event.payload.get("usage"), dict)


def _compaction(agent: Span, start: Event, event: Event) -> Span:
    """Lay out the model call that shortens a conversation; only the moment of its end is known."""
    usage = event.payload["usage"]
    attributes = model_attributes(start, "chat") | {"agent_workflow.send.purpose": "compaction"}
    attributes |= token_attributes([usage]) | cost_attributes(usage.get("total_cost"))
    moment = event.moment or agent.end
    return Span(
        key=f"event:{event.id}",
        parent=agent.key,
        name=f"chat {attributes['gen_ai.request.model']}",
        kind="client",
        start=moment,
        end=moment,
        attributes=attributes,
    )
