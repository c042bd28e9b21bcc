"""Reading what Codex keeps of a thread for itself (``$CODEX_HOME/sessions/Y/M/D/rollout-*.jsonl``), 0.171."""

from collections.abc import Container, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._json import as_int, decode_record
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._json_stream import count, mapping, text_of, trace_time, unpriced, words
from agent_workflow.tracer.agents._own_record import RecordFile
from agent_workflow.tracer.agents._protocol import Denial, ToolReturned

_AGENTS: Final = "collaboration"
"""Namespace of the tools that begin and address sub-agents."""

_DENIED: Final = ("patch rejected:", "approval policy is", "rejected by user", "exec command rejected")
_GOOD: Final = ("Process exited with code 0\n", "Exit code: 0\n")
_SHOWN: Final = ("Process running with session ID", "aborted by user")  # the stream shows such a call as begun


class Rollout:
    """What some turns of a rollout tell.

    Attributes:
        file: that was read.
        turn_ids: of these turns.
        subagents: the call that began or addressed each sub-agent, by its thread.
        model: of the newest turn, empty when it does not say.
        window: the model's ceiling in tokens.
        calls: usage of each model call.
        thread_total: what Codex has counted for the whole thread.
        aborted: why the turn was, empty when it was not.
        hidden: tool calls that the stream does not show; of a sub-agent all of them.
        denials: those of them that were not allowed.
    """

    def __init__(self, file: Path, records: Iterable[dict[str, Any]], parent_call_id: str = "") -> None:
        """Take records in.

        Args:
            file: of the thread.
            records: of the turns.
            parent_call_id: that began the thread, empty for the conversation itself, whose calls the stream shows.
        """
        self.file = file
        self.turn_ids: set[str] = set()
        self.subagents: dict[str, str] = {}
        self._parent_call_id = parent_call_id
        self.model = ""
        self.window: int | None = None
        self.calls: list[Usage] = []
        self.thread_total: Usage | None = None
        self.aborted = ""
        self.hidden: list[ToolReturned] = []
        self.denials: list[Denial] = []
        self._shown: set[str] = set()
        self._asked: dict[str, tuple[str, object, str]] = {}
        self._of_agents: set[str] = set()
        self._answers: list[tuple[str, str, str]] = []
        self._counts: list[Usage] = []
        for record in records:
            self._take(words(record.get("type")), mapping(record.get("payload")), words(record.get("timestamp")))
        self.calls = self.calls or self._counts  # older versions tell each call in a running total alone
        self._find_hidden()

    def _take(self, kind: str, payload: dict[str, Any], at: str) -> None:
        if kind == "turn_context":
            self.model = words(payload.get("model")) or self.model
        elif kind == "token_usage_record":
            self.calls.append(codex_usage(mapping(payload.get("usage"))))
            self.thread_total = codex_usage(mapping(payload.get("thread_token_usage")))
        elif kind == "event_msg":
            self._take_event(payload)
        elif kind == "response_item":
            self._take_item(payload, at)

    def _take_event(self, payload: dict[str, Any]) -> None:
        kind = payload.get("type")
        if kind == "task_started":
            self.turn_ids.add(words(payload.get("turn_id")))
            self._set_window(payload)
        elif kind == "token_count":
            info = mapping(payload.get("info"))
            self._set_window(info)
            total = codex_usage(mapping(info.get("total_token_usage")))
            if info and total != self.thread_total:  # the same count is told again when nothing was spent
                self._counts.append(codex_usage(mapping(info.get("last_token_usage"))))
                self.thread_total = total
        elif kind == "turn_aborted":
            self.aborted = words(payload.get("reason")) or "aborted"
        elif kind == "item_completed":
            self._take_shown(mapping(payload.get("item")))

    def _take_shown(self, item: dict[str, Any]) -> None:
        call_id, thread = words(item.get("id")), words(item.get("agent_thread_id"))
        if thread:  # the stream tells nothing of sub-agents
            self.subagents.setdefault(thread, call_id)
        elif not self._parent_call_id:
            self._shown.add(call_id)

    def _set_window(self, told: dict[str, Any]) -> None:
        window = as_int(told.get("model_context_window"))
        self.window = window if window and window > 0 else self.window

    def _take_item(self, payload: dict[str, Any], at: str) -> None:
        kind, call_id = words(payload.get("type")), words(payload.get("call_id"))
        if kind in ("function_call", "custom_tool_call"):
            args = _arguments(payload.get("arguments", payload.get("input")))
            self._asked[call_id] = (words(payload.get("name")) or "tool", args, at)
            if payload.get("namespace") == _AGENTS:
                self._of_agents.add(call_id)
        elif kind.endswith("_call_output"):
            output = payload.get("output")
            self._answers.append((call_id, text_of(mapping(output).get("content", output)), at))

    def _find_hidden(self) -> None:
        for call_id, output, at in self._answers:
            tool, args, asked_at = self._asked.get(call_id, ("", None, ""))
            head = output[:1000]
            is_shown = call_id in self._shown or (not self._parent_call_id and any(mark in head for mark in _SHOWN))
            if is_shown or tool in ("", "write_stdin"):
                continue
            is_answer = call_id in self._of_agents and head.startswith("{")
            ok = is_answer or any(mark in head for mark in _GOOD)
            told = ToolReturned(tool, call_id, args, output, ok, None, trace_time(asked_at), trace_time(at))
            self.hidden.append(replace(told, parent_call_id=self._parent_call_id))
            if not ok and is_denial(head):
                self.denials.append(Denial(tool, call_id, head))


def is_denial(output: str) -> bool:
    """Tell whether what came back for a call says that it was not allowed."""
    return any(mark in output for mark in _DENIED)


def codex_usage(told: dict[str, Any]) -> Usage:
    """Read a usage of Codex: its input includes what came from and went to the cache, its output the reasoning."""
    whole, read, written = (
        count(told.get(key)) for key in ("input_tokens", "cached_input_tokens", "cache_write_input_tokens")
    )
    parts = (max(0, whole - read - written), count(told.get("output_tokens")), read, written)
    return unpriced(parts, as_int(told.get("reasoning_output_tokens")))


def newest_turns(file: Path, offset: int, turns: int) -> Iterator[dict[str, Any]]:
    """Pass over the turns of earlier processes, which come first in a rollout.

    Args:
        file: the rollout.
        offset: in bytes, where this send's records begin at the earliest.
        turns: how many turns the stream has shown; what is before them is another send's.
    """
    kept: list[list[dict[str, Any]]] = [[]]
    for record in RecordFile(file, offset).new_records():
        if record.get("type") == "event_msg" and mapping(record.get("payload")).get("type") == "task_started":
            kept = [*kept, []][-max(1, turns) :]
        kept[-1].append(record)
    for turn in kept:
        yield from turn


def turns_below(file: Path, roots: Container[str]) -> Iterator[dict[str, Any]]:
    """Yield the records of those turns of a sub-agent that turns of the conversation have brought about.

    Args:
        file: the sub-agent's rollout.
        roots: ids of the conversation's turns.
    """
    is_below = False
    for record in RecordFile(file).new_records():
        payload = mapping(record.get("payload"))
        if record.get("type") == "event_msg" and payload.get("type") == "task_started":
            is_below = words(payload.get("root_turn_id")) in roots
        if is_below:
            yield record


def _arguments(told: object) -> object:
    if not isinstance(told, str):
        return told
    try:
        return decode_record(told.encode("utf-8", "replace"))
    except ValueError:
        return {"input": told}
