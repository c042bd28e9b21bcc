"""Reading Claude Code's stream (``--output-format stream-json --verbose``), 2.1.

One API message comes in several lines, one for each block, all with the same id and a provisional usage: the last one
wins, and the true number of output tokens is told by the ``result``, by the transcript, or by partial messages. A
subtype of ``success`` says nothing: ``is_error`` does.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._claude_messages import Messages, Results, is_denial
from agent_workflow.tracer.agents._json_stream import JsonStream, exit_words, mapping, text_of, words
from agent_workflow.tracer.agents._own_record import RecordFile, files_below, find_file, read_object, size_of
from agent_workflow.tracer.agents._protocol import (
    Compacted,
    Denial,
    Seen,
    SendOutcome,
    SendVerdict,
    ToolReturned,
    UsageKnown,
    Waited,
)

_PATTERN: Final = "*/{id}.jsonl"
_QUIET: Final = frozenset(
    [
        "init",
        "status",
        "thinking_tokens",
        "task_started",
        "task_progress",
        "task_updated",
        "task_notification",
        "hook_started",
        "hook_progress",
        "hook_response",
        "local_command_output",
        "files_persisted",
    ]
)


class ClaudeStream(JsonStream):
    """The stream of one send."""

    ignored = frozenset(["rate_limit_event", "tool_progress", "prompt_suggestion", "auth_status", "tool_use_summary"])

    def __init__(self, projects: Path | None = None, *, session_id: str = "") -> None:
        """Begin, before Claude Code is started.

        Args:
            projects: folder with the transcripts of all projects, ``None`` to read none.
            session_id: of the conversation that is continued, empty for a new one.
        """
        super().__init__()
        self._projects = projects
        self._before = size_of(find_file(projects, _PATTERN, session_id) if projects else None)
        self._messages = Messages()
        self._results = Results()
        self._denied: dict[str, Denial] = {}
        self._lines: set[str] = set()
        self._call_ids: set[str] = set()
        self._refusal: tuple[str, str] | None = None
        self._retries = 0
        self._waits_for = ""
        self._is_running = True
        self._own_record: Path | None = None

    def look(self, record: dict[str, Any]) -> None:
        """Take the session's id, which every line has."""
        self.session_id = self.session_id or words(record.get("session_id"))

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up; calls that are still open were interrupted."""
        verdict, error = self._judge(exit_code)
        usage, subagents, known = self._spend()
        return SendOutcome(
            verdict=verdict,
            text=self._results.text if verdict == "answered" and self._results.text else self._messages.text(),
            error=error,
            stop_reason=self._stop_reason(),
            usage=usage,
            compaction=None,
            tools=None,
            context_tokens=self._messages.context,
            turns=self._messages.turns,
            interrupted=self.calls.interrupted(at),
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=self._messages.turns > 0,
            model=self._messages.model or self.model,
            context_window=self._results.window(self.model, self._messages.model),
            usage_known=known,
            subagents=subagents,
            per_call=self._messages.per_call(),
            retries=self._retries,
            denials=self._denials(),
            own_record=self._own_record,
        )

    def complete(self) -> Iterable[Seen]:
        """Take final usage and stop reasons from the transcript, and from those of sub-agents."""
        file = find_file(self._projects, _PATTERN, self.session_id) if self._projects else None
        if file is None:
            return []
        is_ours = False
        begin = self._before if self._before <= size_of(file) else 0
        for record in RecordFile(file, begin).new_records(b'"assistant"'):
            # A resumed conversation's earlier messages come first; ours begin with a line that the stream has shown.
            is_ours = is_ours or record.get("uuid") in self._lines
            if is_ours and record.get("isSidechain") is not True:
                self._messages.finish(record)
        if is_ours:
            self._own_record = file
        for nested in files_below(file.parent / self.session_id / "subagents", "agent-*.jsonl"):
            self._complete_subagent(nested)
        return []

    def _complete_subagent(self, file: Path) -> None:
        about = read_object(file.with_suffix(".meta.json"))
        call = words(about.get("toolUseId"))
        parent = call if call in self._call_ids else None
        for record in RecordFile(file).new_records(b'"assistant"'):
            self._messages.finish(record, parent)

    def _judge(self, exit_code: int) -> tuple[SendVerdict, str]:
        refused = self._refusal
        if self._is_running:
            if refused is not None:
                return "provider_error", refused[1]
            waiting = f" while it tried again after {self._waits_for}" if self._waits_for else ""
            if exit_code != 0:
                return "failed", exit_words(exit_code) + waiting
            return "incomplete", f"the stream stopped before its result{waiting}"
        if self._results.is_error:
            error = self._results.error or "the agent failed without a message"
            if refused is not None and refused[0] == "max_output_tokens":
                return "cut_off", error
            if self._results.subtype == "success":
                return "provider_error", error
            if self._results.was_aborted:
                return "aborted", "the turn was interrupted"
            return "failed", error
        if exit_code != 0:
            return "failed", exit_words(exit_code)
        if self._stop_reason() == "max_tokens":
            return "cut_off", "the reply was cut at the model's output limit"
        return "answered", ""

    def _stop_reason(self) -> str:
        if self._is_running:
            return self._messages.stop_reason
        if self._results.subtype.startswith("error_"):
            return self._results.subtype
        if self._results.is_error and self._refusal is not None:
            word = self._refusal[0]
            return "" if word == "unknown" else word  # what it says of an error that it has no word for
        return self._results.stop_reason or self._messages.stop_reason

    def _spend(self) -> tuple[Usage, Usage | None, UsageKnown]:
        known: UsageKnown
        has_subagents = self._messages.has_subagents
        if self._results.count == 0:
            known = "partial" if self._messages.turns else "unknown"
            nested = self._messages.usage_of(nested=True)
            return self._messages.usage_of(nested=False) + nested, nested if has_subagents else None, known
        # An agent that was woken again and then cut off has spent more than its last result tells.
        known = "partial" if self._is_running else "whole"
        return self._results.usage(), self._results.beyond_main() if has_subagents else None, known

    def _denials(self) -> tuple[Denial, ...]:
        """Return what the results list, with what was said of it; without a result, what was said."""
        if self._results.count == 0:
            return tuple(self._denied.values())
        return tuple(self._denied.get(one.tool_call_id, one) for one in self._results.denials)

    def _system(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        subtype = words(record.get("subtype"))
        if subtype == "init":
            self.model = words(record.get("model"))
            self._is_running = True  # a background task that ends wakes the agent again after its result
        elif subtype == "api_retry":
            self._retries += 1
            self._waits_for = words(record.get("error")) or "an error"
            hidden = ("type", "subtype", "session_id", "uuid")
            return [Waited("api_retry", {key: value for key, value in record.items() if key not in hidden})]
        elif subtype == "compact_boundary":
            self._messages.forget_context()
            return [Compacted(mapping(record.get("compact_metadata")), None)]
        elif subtype not in _QUIET:
            self.unknown[f"system/{subtype[:80]}"] += 1
        return []

    def _assistant(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        message = mapping(record.get("message"))
        if message.get("model") == "<synthetic>":
            if isinstance(record.get("error"), str):
                self._refusal = (record["error"], text_of(message.get("content")))
            return []
        self._refusal, self._waits_for = None, ""
        self._lines.add(words(record.get("uuid")))
        parent = words(record.get("parent_tool_use_id"))
        self._messages.take(message, parent)
        seen: list[Seen] = []
        blocks = message.get("content")
        for block in blocks if isinstance(blocks, list) else []:
            kind = words(mapping(block).get("type"))
            if kind.endswith("tool_use"):  # the server's own tools are called and return within one message
                call_id = words(block.get("id"))
                self._call_ids.add(call_id)
                self.calls.start(call_id, words(block.get("name")) or "tool", block.get("input"), at, parent)
            elif kind.endswith("tool_result"):
                seen.append(self._returned(block, None, parent, at))
        return seen

    def _user(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        blocks = mapping(record.get("message")).get("content")
        parent = words(record.get("parent_tool_use_id"))
        return [
            self._returned(block, record.get("tool_use_result"), parent, at)
            for block in (blocks if isinstance(blocks, list) else [])
            if isinstance(block, dict) and block.get("type") == "tool_result"
        ]

    def _returned(self, block: dict[str, Any], about: object, parent: str, at: str) -> ToolReturned:
        call_id = words(block.get("tool_use_id"))
        ok = block.get("is_error") is not True
        told = text_of(block.get("content"))
        returned = self.calls.finish(call_id, told, ok, at, parent=parent)
        if not ok and is_denial(told):
            self._denied[call_id] = Denial(returned.tool, call_id, told)
        return replace(returned, duration_ms=as_float(mapping(about).get("durationMs")))

    def _stream_event(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._messages.take_event(mapping(record.get("event")), words(record.get("parent_tool_use_id")))
        return []

    def _result(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._is_running = False
        self._results.take(record)
        return []

    handlers: ClassVar = {
        "system": _system,
        "assistant": _assistant,
        "user": _user,
        "stream_event": _stream_event,
        "result": _result,
    }
