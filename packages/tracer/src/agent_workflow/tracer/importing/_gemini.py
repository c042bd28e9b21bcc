"""gemini-cli's sessions (``~/.gemini/tmp/*/chats/session-*.jsonl``): a message is written again when it changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import clip, clip_strings
from agent_workflow.tracer.agents._gemini_session import ended_badly, gemini_usage, is_denial, result_of
from agent_workflow.tracer.agents._json_stream import mapping, text_of, trace_time, words
from agent_workflow.tracer.importing._items import MAIN, Item, ModelCall, ToolCall
from agent_workflow.tracer.importing._reading import RESULT_CHARACTERS, SessionReader, denied

_NO_PROMPT: Final = "<session_context>"


@dataclass
class GeminiReader(SessionReader):
    """Reads a session file, or the one document that older versions wrote."""

    needles: ClassVar = (b'"gemini"', b'"user"', b'"error"', b'"sessionId"')
    agent: ClassVar = "gemini"

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:
        """Take one line in."""
        changed = mapping(record.get("$set"))
        self.facts.session_id = self.facts.session_id or words(record.get("sessionId"))
        nested = record.get("messages", changed.get("messages"))
        for message in nested if isinstance(nested, list) else []:
            yield from self._message(mapping(message), number)
        if not nested:
            yield from self._message(record, number)

    def _message(self, message: dict[str, Any], number: int) -> Iterator[Item]:
        kind = message.get("type")
        if kind not in ("user", "gemini", "error"):
            return
        at = self.moment(message.get("timestamp"))
        identity = words(message.get("id")) or f"{self.facts.session_id} line {number}"
        if kind == "user":
            text = text_of(message.get("content"))
            if text.strip() and not text.startswith(_NO_PROMPT):
                yield from self.begin(MAIN, f"{identity} {at}", at, text)
        elif kind == "error":
            self.end(MAIN, at, "provider_error", text_of(message.get("content")))
        else:
            yield from self._answer(message, identity, at)

    def _answer(self, message: dict[str, Any], identity: str, at: str) -> Iterator[Item]:
        turn = self.turn(MAIN, at)
        called = message.get("toolCalls")
        calls = [mapping(call) for call in called] if isinstance(called, list) else []
        for call in calls:
            returned = self._tool_call(call, turn.key, at)
            yield returned
            if is_denial(call):
                yield denied(returned)
        is_answer = not calls and bool(text_of(message.get("content")).strip())
        self.end(MAIN, at, "answered" if is_answer else "incomplete")
        tokens = mapping(message.get("tokens"))
        if tokens:
            usage = gemini_usage(tokens)
            yield ModelCall(
                key=f"{identity} {at}",
                turn=turn.key,
                lane=MAIN,
                at=at,
                model=words(message.get("model")),
                usage=usage,
                provider="google",
                raw=(usage.input, usage.output, usage.cache_read, usage.cache_write),
            )

    def _tool_call(self, call: dict[str, Any], turn: str, at: str) -> ToolCall:
        tool, call_id = words(call.get("name")) or "tool", words(call.get("id"))
        ended = trace_time(call.get("timestamp"), at)
        result = result_of(call)
        args = clip_strings(call.get("args"), RESULT_CHARACTERS)
        return ToolCall(
            key=f"{call_id}@{at}",
            turn=turn,
            lane=MAIN,
            tool=tool,
            call_id=call_id,
            args=args,
            result=clip(result, RESULT_CHARACTERS),
            ok=call.get("status") == "success" and not ended_badly(call),
            duration_ms=None,
            started_at=at,
            ended_at=max(at, ended),
        )
