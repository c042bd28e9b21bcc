"""Reading opencode's stream (``opencode run --format json``), 1.18.

There is no event for the end: a send is over when its last step ended for a reason other than tool calls. A tool shows
when it has returned, with its own times; reasoning is told beside the output and costs as much.
"""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float, as_int
from agent_workflow.tracer._usage import Usage, dollars
from agent_workflow.tracer.agents._json_stream import JsonStream, count, exit_words, mapping, trace_time, words
from agent_workflow.tracer.agents._protocol import (
    Denial,
    Seen,
    SendOutcome,
    SendVerdict,
    ToolReturned,
    UsageKnown,
)

_DENIED: Final = ("The user rejected permission to use this specific tool call", "The user has specified a rule which")


class OpencodeStream(JsonStream):
    """The stream of one send."""

    ignored = frozenset(["reasoning"])

    def __init__(self) -> None:
        """Begin."""
        super().__init__()
        self._steps: dict[object, Usage] = {}
        self._open_steps = 0
        self._texts: dict[str, list[str]] = {}
        self._reason = ""
        self._error: dict[str, Any] | None = None
        self._denials: list[Denial] = []

    def look(self, record: dict[str, Any]) -> None:
        """Take the session's id, which every line has."""
        self.session_id = self.session_id or words(record.get("sessionID"))

    def outcome(self, exit_code: int, at: str) -> SendOutcome:  # noqa: ARG002 - no call is seen before it has returned
        """Sum up."""
        verdict, error = self._judge(exit_code)
        steps = list(self._steps.values())
        known: UsageKnown = "whole" if verdict in ("answered", "cut_off") else "partial" if steps else "unknown"
        return SendOutcome(
            verdict=verdict,
            text="\n".join(list(self._texts.values())[-1]) if self._texts else "",
            error=error,
            stop_reason=self._reason,
            usage=sum(steps, Usage()) if steps else Usage(costs=None, total_cost=None),
            compaction=None,
            tools=None,
            context_tokens=steps[-1].total or None if steps else None,
            turns=len(steps),
            interrupted=[],
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=bool(steps),
            usage_known=known,
            per_call=tuple(steps),
            denials=tuple(self._denials),
        )

    def _judge(self, exit_code: int) -> tuple[SendVerdict, str]:
        if self._error is not None:
            name = words(self._error.get("name"))
            message = words(mapping(self._error.get("data")).get("message")) or name or "no message"
            if name == "MessageOutputLengthError":
                return "cut_off", message
            return ("aborted" if name == "MessageAbortedError" else "provider_error"), message
        if exit_code != 0:
            return "failed", exit_words(exit_code)
        if self._reason == "length":
            return "cut_off", "the reply was cut at the model's output limit"
        if self._open_steps == 0 and self._reason not in ("", "tool-calls"):
            return "answered", ""
        if self._open_steps == 0 and self._denials:
            # A refused permission ends the run after its step, with exit code 0.
            tools = ", ".join(denial.tool for denial in self._denials)
            return "aborted", f"not permitted: {tools}"
        return "incomplete", "the stream stopped before the last step had ended"

    def _step_start(self, _: dict[str, Any], __: str) -> Iterable[Seen]:
        self._open_steps += 1
        self._reason = ""
        self._error = None
        return []

    def _step_finish(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        part = mapping(record.get("part"))
        self._open_steps = 0
        self._reason = words(part.get("reason"))
        self._steps[words(part.get("id")) or len(self._steps)] = _usage(part)
        return []

    def _text(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        part = mapping(record.get("part"))
        if words(part.get("text")).strip():
            self._texts.setdefault(words(part.get("messageID")), []).append(part["text"])
        return []

    def _tool_use(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        part = mapping(record.get("part"))
        state, call_id = mapping(part.get("state")), words(part.get("callID"))
        tool, args = words(part.get("tool")) or "tool", state.get("input")
        metadata, times = mapping(state.get("metadata")), mapping(state.get("time"))
        is_invalid = tool == "invalid"  # stands in for a tool that does not exist, and counts as completed
        if is_invalid:
            tool = words(mapping(args).get("tool")) or tool
        error = words(state.get("error"))
        if error.startswith(_DENIED):
            self._denials.append(Denial(tool, call_id, error))
        ok = state.get("status") == "completed" and not is_invalid and metadata.get("exit") in (None, 0)
        started, ended = as_float(times.get("start")), as_float(times.get("end"))
        return [
            ToolReturned(
                tool=tool,
                tool_call_id=call_id,
                args=args,
                result=words(state.get("output")) or error,
                ok=ok,
                duration_ms=None if started is None or ended is None else max(0.0, ended - started),
                started_at=trace_time(started, at),
                ended_at=trace_time(ended, at),
            )
        ]

    def _failed(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._error = mapping(record.get("error"))
        return []

    handlers: ClassVar = {
        "step_start": _step_start,
        "step_finish": _step_finish,
        "text": _text,
        "tool_use": _tool_use,
        "error": _failed,
    }


def _usage(part: dict[str, Any]) -> Usage:
    tokens = mapping(part.get("tokens"))
    cache, reasoning = mapping(tokens.get("cache")), count(tokens.get("reasoning"))
    output = count(tokens.get("output")) + reasoning
    parts = (count(tokens.get("input")), output, count(cache.get("read")), count(cache.get("write")))
    total, cost = as_int(tokens.get("total")), dollars(part.get("cost"))
    if not cost and sum(parts) > 0:
        cost = None  # a model without prices costs zero in opencode's eyes; nobody knows its price
    costs = Usage().costs if cost == Decimal(0) else None
    return Usage(*parts, reasoning, sum(parts) if total is None or total < 0 else total, costs, cost)
