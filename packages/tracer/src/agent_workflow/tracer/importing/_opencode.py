"""opencode's sessions, as ``opencode export`` writes them: one document of messages and their parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float, as_int, clip, clip_strings
from agent_workflow.tracer._usage import Usage, dollars
from agent_workflow.tracer.agents._json_stream import count, mapping, words
from agent_workflow.tracer.importing._items import Item, ModelCall, ToolCall, Verdict
from agent_workflow.tracer.importing._reading import RESULT_CHARACTERS, SessionReader, timestamp

_VERDICTS: Final[dict[str, Verdict]] = {"stop": "answered", "length": "cut_off"}
_ERRORS: Final[dict[str, Verdict]] = {"MessageAbortedError": "aborted", "MessageOutputLengthError": "cut_off"}


@dataclass
class OpencodeReader(SessionReader):
    """Reads a document; it is read as a whole whenever it has changed."""

    agent: ClassVar = "opencode"

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:  # noqa: ARG002 - every message has an id
        """Take the document in."""
        info = mapping(record.get("info"))
        self.facts.session_id = words(info.get("id"))
        self.facts.cwd = words(info.get("directory"))
        self.facts.version = words(info.get("version"))
        parent = words(info.get("parentID"))
        if parent:  # a sub-agent's session is part of the one that started it
            self.facts.session_id, self.facts.lane = parent, self.facts.session_id
            self.facts.labels[self.facts.lane] = words(info.get("agent")) or "agent"
        messages = record.get("messages")
        for message in messages if isinstance(messages, list) else []:
            told, parts = mapping(mapping(message).get("info")), mapping(message).get("parts")
            listed = [mapping(part) for part in parts] if isinstance(parts, list) else []
            yield from self._message(told, listed)

    def _message(self, told: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[Item]:
        lane, times = self.facts.lane, mapping(told.get("time"))
        at = self.moment(times.get("created"))
        identity = words(told.get("id"))
        if told.get("role") == "user":
            text = "\n".join(words(part.get("text")) for part in parts if part.get("type") == "text")
            yield from self.begin(lane, identity, at, text)
        elif told.get("role") == "assistant":
            ended = self.moment(times.get("completed")) if times.get("completed") else at
            turn = self.turn(lane, ended)
            for part in parts:
                if part.get("type") == "tool":
                    yield self._tool_call(part, turn.key, at)
            finish = words(told.get("finish"))
            self.end(lane, ended, _VERDICTS.get(finish, "incomplete"), "", finish)
            error = mapping(told.get("error"))
            if error:
                name = words(error.get("name"))
                message = words(mapping(error.get("data")).get("message")) or name
                self.end(lane, ended, _ERRORS.get(name, "provider_error"), message, finish)
            yield self._model_call(told, identity, turn.key, at)

    def _model_call(self, told: dict[str, Any], identity: str, turn: str, at: str) -> ModelCall:
        usage = _usage(told)
        names = [words(told.get("providerID")), words(told.get("modelID"))]
        return ModelCall(
            key=identity,
            turn=turn,
            lane=self.facts.lane,
            at=at,
            model="/".join(name for name in names if name),
            usage=usage,
            provider=names[0],
            raw=(usage.input, usage.output, usage.cache_read, usage.cache_write),
        )

    def _tool_call(self, part: dict[str, Any], turn: str, at: str) -> ToolCall:
        state, call_id = mapping(part.get("state")), words(part.get("callID"))
        tool, args = words(part.get("tool")) or "tool", state.get("input")
        metadata, times = mapping(state.get("metadata")), mapping(state.get("time"))
        is_invalid = tool == "invalid"  # stands in for a tool that does not exist, and counts as completed
        if is_invalid:
            tool = words(mapping(args).get("tool")) or tool
        status = state.get("status")
        started, ended = as_float(times.get("start")), as_float(times.get("end"))
        return ToolCall(
            key=words(part.get("id")) or f"{call_id}@{at}",
            turn=turn,
            lane=self.facts.lane,
            tool=tool,
            call_id=call_id,
            args=clip_strings(args, RESULT_CHARACTERS),
            result=clip(words(state.get("output")) or words(state.get("error")), RESULT_CHARACTERS),
            ok=status == "completed" and not is_invalid and metadata.get("exit") in (None, 0),
            duration_ms=None if started is None or ended is None else max(0.0, ended - started),
            started_at=timestamp(started) or at,
            ended_at=timestamp(ended) or timestamp(started) or at,
            interrupted=status not in ("completed", "error"),
        )


def _usage(told: dict[str, Any]) -> Usage:
    tokens = mapping(told.get("tokens"))
    cache, reasoning = mapping(tokens.get("cache")), count(tokens.get("reasoning"))
    output = count(tokens.get("output")) + reasoning
    parts = (count(tokens.get("input")), output, count(cache.get("read")), count(cache.get("write")))
    total, cost = as_int(tokens.get("total")), dollars(told.get("cost"))
    if not cost and sum(parts) > 0:
        cost = None  # a model without prices costs zero in opencode's eyes; nobody knows its price
    costs = Usage().costs if cost == Decimal(0) else None
    return Usage(*parts, reasoning, sum(parts) if total is None or total < 0 else total, costs, cost)
