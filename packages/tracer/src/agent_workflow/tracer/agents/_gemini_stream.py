"""Reading gemini-cli's stream (``--output-format stream-json``), 0.61.

A shell command that fails comes back as a success; its exit code is in the session file alone. So what a shell command
came to is held back until the next line, when the session file knows. Usage is told once, at the end.
"""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._gemini_session import SHELL, GeminiSession
from agent_workflow.tracer.agents._json_stream import (
    JsonStream,
    count,
    error_message,
    exit_words,
    mapping,
    trace_time,
    unpriced,
    words,
)
from agent_workflow.tracer.agents._own_record import count_lines, size_of
from agent_workflow.tracer.agents._protocol import (
    Denial,
    Seen,
    SendOutcome,
    SendVerdict,
    ToolReturned,
    UsageKnown,
    Waited,
)

_RETRY: Final = re.compile(rb"Attempt \d+ failed\b.*\. Retrying ")
_API_ERROR: Final = re.compile(r"\[API Error: (.*)\]\Z", re.DOTALL)


class GeminiStream(JsonStream):
    """The stream of one send."""

    def __init__(self, chats: Path | None = None, *, stderr: Path | None = None) -> None:
        """Begin, before gemini-cli tries anything again.

        Args:
            chats: folder below which the session files of all projects are, ``None`` to read none.
            stderr: gets what it prints as errors: retries are told there alone.
        """
        super().__init__()
        self._stderr = stderr
        self._stderr_before = size_of(stderr)
        self._retries: int | None = None
        self._session = GeminiSession(chats)
        self._result: dict[str, Any] | None = None
        self._held: list[ToolReturned] = []
        self._denials: list[Denial] = []
        self._errors: list[str] = []
        self._texts: list[str] = []
        self._starts_anew = False

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up; calls that are still open were interrupted."""
        verdict, error = self._judge(exit_code)
        session = self._session
        usage, known = self._spend()
        return SendOutcome(
            verdict=verdict,
            text="".join(self._texts),
            error=error,
            stop_reason="",
            usage=usage,
            compaction=None,
            tools=None,
            context_tokens=session.calls[-1].total if session.calls else None,
            turns=len(session.calls) or None,
            interrupted=self.calls.interrupted(at),
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=bool(self._texts or session.calls),
            model=self._answering_model(),
            usage_known=known,
            per_call=tuple(session.calls),
            retries=self._retries,
            denials=tuple(self._denials),
            own_record=session.file,
        )

    def read(self, line: bytes, at: str) -> Iterable[Seen]:
        """Take in one line; what was held back comes out first."""
        released = self._release() if self._held else []
        return [*released, *super().read(line, at)]

    def complete(self) -> Iterable[Seen]:
        """Let out what is held back, and take usage from the session file."""
        self._session.refresh(self.session_id)
        if self._stderr is not None:
            self._retries = count_lines(self._stderr, self._stderr_before, _RETRY)
        return self._release()

    def _release(self) -> list[ToolReturned]:
        self._session.refresh(self.session_id)
        held, self._held = self._held, []
        return [replace(call, ok=call.ok and not self._session.failed(call.tool_call_id)) for call in held]

    def _judge(self, exit_code: int) -> tuple[SendVerdict, str]:
        if self._result is None:
            if exit_code != 0:
                return "failed", self._errors[-1] if self._errors else exit_words(exit_code)
            return "incomplete", "the stream stopped before its result"
        if self._result.get("status") != "success":
            message = words(mapping(self._result.get("error")).get("message"))
            refused = _API_ERROR.match(message)
            error = (error_message(refused[1]) if refused else message) or "the agent failed without a message"
            return "provider_error" if refused else "failed", error
        if exit_code != 0:
            return "failed", exit_words(exit_code)
        if self._errors:
            return "failed", self._errors[-1]
        return "answered", ""

    def _spend(self) -> tuple[Usage, UsageKnown]:
        if self._result is None:
            calls = self._session.calls
            return sum(calls, unpriced((0, 0, 0, 0))), "partial" if calls else "unknown"
        stats = mapping(self._result.get("stats"))
        whole, cached, total = (count(stats.get(key)) for key in ("input_tokens", "cached", "total_tokens"))
        # Output is told without thinking, which is in the total alone.
        output = max(count(stats.get("output_tokens")), total - whole)
        reasoning = output - count(stats.get("output_tokens"))
        return unpriced((max(0, whole - cached), output, cached, 0), reasoning), "whole"

    def _answering_model(self) -> str:
        models = mapping(mapping((self._result or {}).get("stats")).get("models"))
        return self._session.model or (next(iter(models)) if len(models) == 1 else self.model)

    def _init(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self.session_id = words(record.get("session_id"))
        self.model = words(record.get("model"))
        self._session.began_at = trace_time(record.get("timestamp"))
        return []

    def _message(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        if record.get("role") == "assistant":
            if self._starts_anew or record.get("delta") is not True:
                self._texts = []
            self._starts_anew = False
            self._texts.append(words(record.get("content")))
        return []

    def _tool_use(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        self._starts_anew = True
        call_id, tool = words(record.get("tool_id")), words(record.get("tool_name")) or "tool"
        self.calls.start(call_id, tool, record.get("parameters"), trace_time(record.get("timestamp"), at))
        return []

    def _tool_result(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        call_id, error = words(record.get("tool_id")), mapping(record.get("error"))
        ok = record.get("status") == "success"
        told = words(record.get("output")) or words(error.get("message"))
        returned = self.calls.finish(call_id, told, ok, trace_time(record.get("timestamp"), at))
        returned = replace(returned, duration_ms=_milliseconds(returned))
        if error.get("type") == "policy_violation":
            self._denials.append(Denial(returned.tool, call_id, words(error.get("message"))))
        if ok and returned.tool == SHELL and self._session.is_kept:
            self._held.append(returned)
            return []
        return [returned]

    def _error(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        message = words(record.get("message"))
        if record.get("severity") == "error":
            self._errors.append(message)
        return [Waited("agent_warning", {"severity": record.get("severity"), "message": message})]

    def _end(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._result = record
        return []

    handlers: ClassVar = {
        "init": _init,
        "message": _message,
        "tool_use": _tool_use,
        "tool_result": _tool_result,
        "error": _error,
        "result": _end,
    }


def _milliseconds(call: ToolReturned) -> float | None:
    started, ended = parse_time(call.started_at), parse_time(call.ended_at)
    if started is None or ended is None:
        return None
    return max(0.0, round((ended - started).total_seconds() * 1000))
