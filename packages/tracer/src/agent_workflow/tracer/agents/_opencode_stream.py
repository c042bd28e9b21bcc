"""Reading opencode's stream (``opencode run --format json``), 1.18.

There is no event for the end: a send is over when its last step ended for a reason other than tool calls. A tool shows
when it has returned, with its own times; reasoning is told beside the output and costs as much. The model, calls that
never came back and what sub-agents did are told by opencode's database alone.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._json_stream import INTERRUPTED, JsonStream, exit_words, mapping, words
from agent_workflow.tracer.agents._opencode_parts import child_session, denial, spend, tool_call
from agent_workflow.tracer.agents._opencode_record import OpencodeRecord
from agent_workflow.tracer.agents._protocol import (
    Denial,
    Seen,
    SendOutcome,
    SendVerdict,
    UsageKnown,
)


class OpencodeStream(JsonStream):
    """The stream of one send."""

    ignored = frozenset(["reasoning"])

    def __init__(self, database: Path | None = None) -> None:
        """Begin.

        Args:
            database: in which opencode keeps its sessions, ``None`` to read none.
        """
        super().__init__()
        self._database = database
        self._record = OpencodeRecord()
        self._shown: dict[str, None] = {}
        self._tasks: dict[str, dict[str, Any]] = {}
        self._steps: dict[object, Usage] = {}
        self._open_steps = 0
        self._texts: dict[str, list[str]] = {}
        self._reason = ""
        self._error: dict[str, Any] | None = None
        self._denials: list[Denial] = []

    def look(self, record: dict[str, Any]) -> None:
        """Take the session's id, which every line has."""
        self.session_id = self.session_id or words(record.get("sessionID"))
        if message := words(mapping(record.get("part")).get("messageID")):
            self._shown[message] = None

    def complete(self) -> Iterable[Seen]:
        """Take the model, open calls and what sub-agents did from opencode's database."""
        if self._database is not None and self.session_id:
            self._record.read(self._database, self.session_id, self._shown, self._tasks)
        return self._record.nested_calls

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up."""
        verdict, error = self._judge(exit_code)
        steps, record = list(self._steps.values()), self._record
        spent = [*steps, record.subagents] if record.subagents else steps
        known: UsageKnown = "whole" if verdict in ("answered", "cut_off") else "partial" if spent else "unknown"
        return SendOutcome(
            verdict=verdict,
            text="\n".join(list(self._texts.values())[-1]) if self._texts else "",
            error=error,
            stop_reason=self._reason,
            usage=sum(spent, Usage()) if spent else Usage(costs=None, total_cost=None),
            compaction=None,
            tools=None,
            context_tokens=steps[-1].total or None if steps else None,
            turns=len(steps),
            interrupted=[replace(call, result=INTERRUPTED, ended_at=at) for call in record.open_calls],
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=bool(steps),
            model=record.model,
            usage_known=known,
            subagents=record.subagents,
            per_call=tuple(steps),
            denials=tuple(self._denials),
            own_record=record.file,
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
        self._steps[words(part.get("id")) or len(self._steps)] = spend(part)
        return []

    def _text(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        part = mapping(record.get("part"))
        if words(part.get("text")).strip():
            self._texts.setdefault(words(part.get("messageID")), []).append(part["text"])
        return []

    def _tool_use(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        part = mapping(record.get("part"))
        denied = denial(part)
        if denied is not None:
            self._denials.append(denied)
        if child := child_session(part):
            self._tasks[child] = part
        return [tool_call(part, at)]

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
