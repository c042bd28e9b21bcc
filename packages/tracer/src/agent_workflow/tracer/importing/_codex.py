"""Codex's rollouts (``~/.codex/sessions/Y/M/D/rollout-*.jsonl``).

A fork's file begins with its parent's history, often with new times. What tells the two apart are the ids of the turns:
they are UUIDs of version 7, made when a turn really ran. The running totals name a model call, since the same count is
told again whenever nothing was spent.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float, as_int, decode_record
from agent_workflow.tracer._usage import COMPONENTS, Usage
from agent_workflow.tracer.agents._codex_rollout import codex_usage, is_denial
from agent_workflow.tracer.agents._json_stream import count, error_message, mapping, text_of, words
from agent_workflow.tracer.importing._items import Item, ModelCall, Note
from agent_workflow.tracer.importing._reading import SessionReader

_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call")
_EXIT_CODE: Final = re.compile(r"^(?:Process exited with code |Exit code: )(\d+)$", re.MULTILINE)
_REFUSALS: Final = (
    "apply_patch verification failed",
    "approval policy is",
    "exec command rejected",
    "failed to parse",
    "patch rejected",
    "unsupported ",
)
_ABORTED: Final = "aborted by user"
_RUNNING: Final = "Process running with session ID"
_HEAD: Final = 1_000


@dataclass
class CodexReader(SessionReader):
    """Reads a rollout.

    Attributes:
        thread: whose file this is.
        lineage: the thread at the root of the forks, whose running totals this file goes on with.
        model, provider: of the running turn.
        replays: the running records were copied from the parent.
        has_subscription: Codex told a plan that covers the calls.
        turn_id: of the running turn, empty where the record has none.
        total: the running total of the thread, by component.
        newest_key: of the call that it was reached by.
        returned: what is known of calls whose output is still to come: whether they worked, and milliseconds.
        running: calls that go on in the background.
        error: the newest message of a failure.
    """

    needles: ClassVar = (
        b'"session_meta"',
        b'"turn_context"',
        b'"token_usage_record"',
        b'"event_msg"',
        b'"compacted"',
        b'_call"',
        b'_call_output"',
    )
    agent: ClassVar = "codex"

    thread: str = ""
    lineage: str = ""
    model: str = ""
    provider: str = ""
    replays: bool = False
    has_subscription: bool = False
    turn_id: str = ""
    total: dict[str, int] = field(default_factory=dict)
    newest_key: str = ""
    returned: dict[str, list[Any]] = field(default_factory=dict)
    running: list[str] = field(default_factory=list)
    error: str = ""

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:  # noqa: ARG002 - turns and calls have ids
        """Take one line in."""
        payload = mapping(record.get("payload"))
        kind, detail = record.get("type"), words(payload.get("type"))
        at = self.moment(record.get("timestamp"))
        if kind == "session_meta":
            self._meta(payload)
        elif kind == "turn_context":
            yield from self._context(payload, at)
        elif kind == "token_usage_record":
            yield from self._spent(payload.get("usage"), payload.get("thread_token_usage"), at, lines=0)
        elif kind == "event_msg":
            yield from self._event(detail, payload, at)
        elif kind == "compacted":
            lane, key = self.facts.lane, f"{self.newest_key or self.lineage} compacted"
            turn = self.turn(lane, at, is_copy=self.replays)
            yield Note("compacted", key, turn.key, lane, at, is_copy=self.replays)
        elif kind == "response_item" and detail in _CALLS:
            self._called(payload, at)
        elif kind == "response_item" and detail.endswith("_call_output"):
            yield from self._answered(payload, at)

    def _meta(self, payload: dict[str, Any]) -> None:
        identity, forked = words(payload.get("id")), words(payload.get("forked_from_id"))
        if self.thread:
            # A parent's, which the fork has copied; the root of all comes last.
            self.lineage = forked or identity or self.lineage
            return
        facts = self.facts
        spawned = mapping(mapping(mapping(payload.get("source")).get("subagent")).get("thread_spawn"))
        parent = words(spawned.get("parent_thread_id"))
        self.thread, self.lineage = identity, forked or identity
        self.replays = bool(forked)
        facts.forked_from = forked
        # A sub-agent's sub-agent belongs to the conversation that both are of.
        facts.session_id = (words(payload.get("session_id")) or parent) if parent else identity
        if parent:
            facts.lane = identity
            facts.labels[identity] = words(spawned.get("agent_nickname")) or words(spawned.get("agent_role")) or "agent"
        facts.cwd, facts.version = words(payload.get("cwd")), words(payload.get("cli_version"))
        facts.branch = words(mapping(payload.get("git")).get("branch"))
        self.provider = words(payload.get("model_provider")) or "openai"

    def _context(self, payload: dict[str, Any], at: str) -> Iterator[Item]:
        yield from self._enter(words(payload.get("turn_id")), at)
        self.model = words(payload.get("model")) or self.model

    def _enter(self, turn: str, at: str) -> Iterator[Item]:
        """Begin a turn that has an id, unless it has begun."""
        known = self.turns.get(self.facts.lane)
        if not turn or (known is not None and known.key == turn):
            return
        self.replays = bool(self.facts.forked_from) and not _made_since(turn, self.thread)
        self.turn_id, self.error = turn, ""
        yield from self.begin(self.facts.lane, turn, at, "", is_copy=self.replays)

    def _event(self, kind: str, payload: dict[str, Any], at: str) -> Iterator[Item]:
        lane = self.facts.lane
        if kind == "task_started":
            self._set_window(payload)
            yield from self._enter(words(payload.get("turn_id")), at)
        elif kind == "user_message":
            yield from self._prompt(words(payload.get("message")), at)
        elif kind == "token_count":
            info = mapping(payload.get("info"))
            self._set_window(info)
            self.has_subscription = self.has_subscription or bool(mapping(payload.get("rate_limits")).get("plan_type"))
            yield from self._spent(info.get("last_token_usage"), info.get("total_token_usage"), at, lines=1)
        elif kind == "item_completed":
            yield from self._item(mapping(payload.get("item")), at)
        elif kind == "error":
            self.error = error_message(words(payload.get("message")))
            self.end(lane, at, "provider_error", self.error)
        elif kind == "turn_aborted":
            reason = words(payload.get("reason")) or "aborted"
            self.end(lane, at, "aborted", f"the turn was {reason}", reason)
        elif kind == "task_complete":
            told = words(mapping(payload.get("error")).get("message"))
            error = error_message(told) if told else self.error
            self.end(lane, at, "provider_error" if error else "answered", error)

    def _prompt(self, text: str, at: str) -> Iterator[Item]:
        turn = self.turns.get(self.facts.lane)
        if turn is None or turn.text:
            yield from self.begin(self.facts.lane, f"{self.lineage} {at}", at, text, is_copy=self.replays)
        else:
            turn.text = text

    def _item(self, item: dict[str, Any], at: str) -> Iterator[Item]:
        kind, call_id = words(item.get("type")), words(item.get("id"))
        if kind == "UserMessage":
            turn = self.turn(self.facts.lane, at)
            turn.text = turn.text or text_of(item.get("content"))
        elif kind in ("CommandExecution", "FileChange", "McpToolCall"):
            ok = item.get("status") == "completed" and item.get("exit_code") in (None, 0) and not item.get("error")
            spent = mapping(item.get("duration"))
            duration = (
                None
                if not spent
                else 1_000 * (as_int(spent.get("secs")) or 0) + (as_int(spent.get("nanos")) or 0) / 1e6
            )
            self.returned[call_id] = [ok, duration]
            if call_id in self.running:
                self.running.remove(call_id)
                yield from self.finish_call(
                    self.facts.lane, call_id, words(item.get("aggregated_output")), ok, at, duration
                )
        elif kind == "SubAgentActivity":
            self.facts.parent_calls.setdefault(words(item.get("agent_thread_id")), call_id)
        elif kind == "WebSearch":
            self.start_call(
                self.facts.lane, call_id, "web_search", {"query": item.get("query")}, at, is_copy=self.replays
            )
            yield from self.finish_call(self.facts.lane, call_id, "", ok=True, at=at)

    def _called(self, payload: dict[str, Any], at: str) -> None:
        tool = words(payload.get("name")) or ("shell" if payload.get("type") == "local_shell_call" else "tool")
        if tool == "write_stdin":  # more of a call that is told already
            return
        args = _arguments(payload.get("arguments", payload.get("input", payload.get("action"))))
        self.start_call(self.facts.lane, words(payload.get("call_id")), tool, args, at, is_copy=self.replays)

    def _answered(self, payload: dict[str, Any], at: str) -> Iterator[Item]:
        call_id, output = words(payload.get("call_id")), payload.get("output")
        text = text_of(mapping(output).get("content", output))
        known = self.returned.pop(call_id, None)
        if known is None and _RUNNING in text[:_HEAD]:
            self.running.append(call_id)
            return
        text, ok, duration = _judged(text)
        if known is not None:
            ok, duration = known
        is_denied = not ok and is_denial(text[:_HEAD])
        yield from self.finish_call(self.facts.lane, call_id, text, ok, at, duration, is_denied=is_denied)

    def _spent(self, last: object, total: object, at: str, *, lines: int) -> Iterator[Item]:
        counted = codex_usage(mapping(total))
        if not isinstance(total, dict) or counted.total == 0:
            return
        told = {name: getattr(counted, name) for name in COMPONENTS}
        lane = self.facts.lane
        turn = self.turn(lane, at, is_copy=self.replays)
        is_again = told == self.total
        if is_again and not isinstance(last, dict):
            return  # nothing was spent, and it does not say again what was
        usage = codex_usage(last) if isinstance(last, dict) else self._since(counted)
        if not is_again:
            self.total = told
            self.newest_key = f"{self.turn_id or self.lineage}|{'/'.join(map(str, told.values()))}"
        parts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        yield ModelCall(
            key=self.newest_key,
            turn=turn.key,
            lane=lane,
            at=at,
            model=self.model,
            usage=usage,
            provider=self.provider,
            is_subscription=self.has_subscription,
            is_copy=self.replays,
            lines=lines,
            raw=parts if lines else (0, 0, 0, 0),
        )

    def _since(self, counted: Usage) -> Usage:
        """Tell what a call cost from two running totals; a total that fell began anew."""
        parts = [getattr(counted, name) - self.total.get(name, 0) for name in COMPONENTS]
        if min(parts) < 0:
            return counted
        return Usage(parts[0], parts[1], parts[2], parts[3], None, sum(parts), None, None)

    def _set_window(self, told: dict[str, Any]) -> None:
        window = count(told.get("model_context_window"))
        self.facts.window = window or self.facts.window


def _made_since(turn: str, thread: str) -> bool:
    """Tell whether a turn is as new as its thread: an id of version 7 begins with the milliseconds of its making."""
    one, other = turn.replace("-", "")[:12], thread.replace("-", "")[:12]
    try:
        return turn[14] == "7" and thread[14] == "7" and int(one, 16) >= int(other, 16)
    except (IndexError, ValueError):
        return False


def _judged(text: str) -> tuple[str, bool, float | None]:
    """Read the output of a call: the text, whether it worked, milliseconds."""
    if text.startswith("{"):
        try:
            told = decode_record(text.encode("utf-8", "replace"))
        except ValueError:
            told = {}
        about = mapping(told.get("metadata"))
        if "exit_code" in about:
            seconds = as_float(about.get("duration_seconds"))
            duration = None if seconds is None else seconds * 1_000
            return words(told.get("output")), about["exit_code"] == 0, duration
    head = text[:_HEAD]
    code = _EXIT_CODE.search(head)
    if code is not None:
        return text, code[1] == "0", None
    return text, not head.startswith(_REFUSALS) and _ABORTED not in head, None


def _arguments(told: object) -> object:
    if not isinstance(told, str):
        return told
    try:
        return decode_record(told.encode("utf-8", "replace"))
    except ValueError:
        return {"input": told}
