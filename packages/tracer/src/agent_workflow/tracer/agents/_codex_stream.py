"""Reading Codex's stream (``codex exec --json``), 0.171.

Its one usage is cumulative over the thread, resumed turns included, and is not there when the run fails. Model, window,
usage of each call, and calls that were rejected are told by the rollout alone.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Final

from agent_workflow.tracer._usage import COMPONENTS, Usage
from agent_workflow.tracer.agents._codex_rollout import Rollout, codex_usage, newest_turns, turns_below
from agent_workflow.tracer.agents._json_stream import (
    JsonStream,
    count,
    error_message,
    exit_words,
    mapping,
    text_of,
    unpriced,
    words,
)
from agent_workflow.tracer.agents._own_record import find_file, size_of
from agent_workflow.tracer.agents._protocol import Seen, SendOutcome, SendVerdict, UsageKnown, Waited

_PATTERN: Final = "*/*/*/rollout-*-{id}.jsonl"
_RECONNECTING: Final = re.compile(r"Reconnecting\.\.\. (\d+)/(\d+)(?: \((.*)\))?", re.DOTALL)
_NO_TOOLS: Final = frozenset(["agent_message", "reasoning", "error", "todo_list"])


class CodexStream(JsonStream):
    """The stream of one send."""

    def __init__(
        self, rollouts: Path | None = None, *, thread: str = "", counted: Mapping[str, int] | None = None
    ) -> None:
        """Begin, before Codex is started.

        Args:
            rollouts: folder with the rollouts of all threads, ``None`` to read none.
            thread: that is continued, empty for a new one.
            counted: tokens by component that Codex had counted for it before.
        """
        super().__init__()
        self._rollouts = rollouts
        self._thread = thread
        self._counted = dict(counted or {})
        self._before = size_of(find_file(rollouts, _PATTERN, thread) if rollouts else None)
        self._rollout: Rollout | None = None
        self._subagents: dict[str, Rollout] = {}
        self._told: Usage | None = None
        self._text = ""
        self._error = ""
        self._failure: str | None = None
        self._turns = 0
        self._has_items = False
        self._retries = 0

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up; calls that are still open were interrupted."""
        verdict, error = self._judge(exit_code)
        rollout = self._rollout
        usage, known = self._spend()
        calls = rollout.calls if rollout else []
        return SendOutcome(
            verdict=verdict,
            text=self._text,
            error=error,
            stop_reason=rollout.aborted if rollout else "",
            usage=usage,
            compaction=None,
            tools=None,
            context_tokens=calls[-1].total if calls else None,
            turns=len(calls) or None,
            interrupted=self.calls.interrupted(at),
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=self._has_items or self._told is not None,
            model=rollout.model if rollout else "",
            context_window=rollout.window if rollout else None,
            usage_known=known,
            subagents=sum(nested, unpriced((0, 0, 0, 0))) if (nested := self._nested_calls()) else None,
            per_call=tuple(calls),
            counted=self._counted_now(),
            retries=self._retries,
            denials=tuple(denial for one in (rollout, *self._subagents.values()) if one for denial in one.denials),
            own_record=rollout.file if rollout else None,
        )

    def complete(self) -> Iterable[Seen]:
        """Take model, window and usage from the rollout; return the calls that the stream hides."""
        file = find_file(self._rollouts, _PATTERN, self.session_id) if self._rollouts else None
        if file is None:
            return []
        is_longer = self.session_id == self._thread and self._before <= size_of(file)
        self._rollout = Rollout(file, newest_turns(file, self._before if is_longer else 0, self._turns))
        self._take_subagents(self._rollout)
        return [call for rollout in (self._rollout, *self._subagents.values()) for call in rollout.hidden]

    def _take_subagents(self, above: Rollout) -> None:
        """Read what the sub-agents of a rollout have done in this send, and theirs."""
        assert self._rollouts is not None and self._rollout is not None  # noqa: PT018, S101 - one was read
        for thread, call_id in above.subagents.items():
            file = find_file(self._rollouts, _PATTERN, thread)
            if file is not None and thread not in self._subagents and thread != self.session_id:
                child = Rollout(file, turns_below(file, self._rollout.turn_ids), parent_call_id=call_id)
                self._subagents[thread] = child
                self._take_subagents(child)

    def _judge(self, exit_code: int) -> tuple[SendVerdict, str]:
        if self._failure is not None:
            return "provider_error", self._failure or self._error or "the turn failed without a message"
        if self._rollout is not None and self._rollout.aborted:
            return "aborted", f"the turn was {self._rollout.aborted}"
        if exit_code != 0:
            return "failed", self._error or exit_words(exit_code)
        if self._told is None:
            return "incomplete", "the stream stopped before the turn had completed"
        return "answered", ""

    def _spend(self) -> tuple[Usage, UsageKnown]:
        nothing = Usage(costs=None, total_cost=None)
        if self._rollout is not None and self._rollout.calls:
            known: UsageKnown = "whole" if self._told is not None else "partial"
            return sum([*self._rollout.calls, *self._nested_calls()], nothing), known
        if self._told is None or (self._thread and not self._counted):
            return nothing, "unknown"
        parts = [max(0, getattr(self._told, name) - count(self._counted.get(name))) for name in COMPONENTS]
        reasoning = max(0, (self._told.reasoning or 0) - count(self._counted.get("reasoning")))
        return unpriced((parts[0], parts[1], parts[2], parts[3]), reasoning), "whole"

    def _nested_calls(self) -> list[Usage]:
        return [usage for child in self._subagents.values() for usage in child.calls]

    def _counted_now(self) -> Mapping[str, int]:
        total = (self._rollout.thread_total if self._rollout else None) or self._told
        if total is None:
            return self._counted
        return {**{name: getattr(total, name) for name in COMPONENTS}, "reasoning": total.reasoning or 0}

    def _thread_started(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self.session_id = words(record.get("thread_id"))
        return []

    def _turn_started(self, _: dict[str, Any], __: str) -> Iterable[Seen]:
        self._turns += 1
        return []

    def _turn_completed(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._told = codex_usage(mapping(record.get("usage")))
        return []

    def _turn_failed(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        self._failure = error_message(words(mapping(record.get("error")).get("message")))
        return []

    def _error_event(self, record: dict[str, Any], _: str) -> Iterable[Seen]:
        message = words(record.get("message"))
        waits = _RECONNECTING.fullmatch(message)
        if waits is None:
            self._error = error_message(message)
            return []
        self._retries += 1
        details = {"attempt": int(waits[1][:9]), "max_attempts": int(waits[2][:9]), "error": waits[3]}
        return [Waited("reconnecting", details)]

    def _item_started(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        item = mapping(record.get("item"))
        self._has_items = True
        if words(item.get("type")) not in _NO_TOOLS:
            self.calls.start(words(item.get("id")), _tool(item), _args(item), at)
        return []

    def _item_completed(self, record: dict[str, Any], at: str) -> Iterable[Seen]:
        item = mapping(record.get("item"))
        kind = words(item.get("type"))
        if kind == "error":
            return [Waited("agent_warning", {"message": words(item.get("message"))})]
        self._has_items = True
        if kind == "agent_message":
            self._text = words(item.get("text")) or self._text
        elif kind == "web_search" or "status" in item:
            call_id, tool, args = words(item.get("id")), _tool(item), _args(item)
            self.calls.start(call_id, tool, args, at)  # what was searched for is known only now
            return [self.calls.finish(call_id, _output(item), _is_ok(item), at)]
        elif kind not in _NO_TOOLS:
            self.unknown[f"item/{kind[:80]}"] += 1
        return []

    handlers: ClassVar = {
        "thread.started": _thread_started,
        "turn.started": _turn_started,
        "turn.completed": _turn_completed,
        "turn.failed": _turn_failed,
        "error": _error_event,
        "item.started": _item_started,
        "item.completed": _item_completed,
    }
    ignored = frozenset(["item.updated"])


def _tool(item: Mapping[str, Any]) -> str:
    if item.get("type") == "mcp_tool_call":
        return f"{words(item.get('server'))}.{words(item.get('tool'))}"
    if item.get("type") == "collab_tool_call":
        return words(item.get("tool")) or "collab_tool_call"
    return words(item.get("type")) or "tool"


def _args(item: Mapping[str, Any]) -> object:
    if item.get("type") == "mcp_tool_call":
        return item.get("arguments")
    changes = item.get("changes")
    if isinstance(changes, list):
        paths = (words(mapping(change).get("path")) for change in changes)
        return {"path": ", ".join(filter(None, paths)), "changes": changes}
    hidden = ("id", "type", "status", "aggregated_output", "exit_code", "result", "error")
    return {key: value for key, value in item.items() if key not in hidden}


def _output(item: Mapping[str, Any]) -> str:
    error = mapping(item.get("error")).get("message")
    told = text_of(mapping(item.get("result")).get("content"))
    return words(item.get("aggregated_output")) or words(error) or told


def _is_ok(item: Mapping[str, Any]) -> bool:
    is_through = item.get("status", "completed") == "completed"
    return is_through and not item.get("error") and item.get("exit_code") in (None, 0)
