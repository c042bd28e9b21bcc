"""opencode's sessions, as ``opencode export`` writes them: one document of messages and their parts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_int, clip, clip_strings
from agent_workflow.tracer.agents._json_stream import mapping, trace_time, words
from agent_workflow.tracer.agents._opencode_parts import child_session, denial, spend, tool_call
from agent_workflow.tracer.importing._items import Item, ModelCall, Note, ToolCall, Verdict
from agent_workflow.tracer.importing._reading import RESULT_CHARACTERS, SessionReader, denied

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
            self.facts.session_id, self.facts.lane = words(info.get("rootID")) or parent, self.facts.session_id
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
                    yield from self._tool_call(part, turn.key, at)
                elif part.get("type") == "retry":
                    yield self._retried(part, turn.key, at)
            finish = words(told.get("finish"))
            self.end(lane, ended, _VERDICTS.get(finish, "incomplete"), "", finish)
            error = mapping(told.get("error"))
            if error:
                name = words(error.get("name"))
                message = words(mapping(error.get("data")).get("message")) or name
                self.end(lane, ended, _ERRORS.get(name, "provider_error"), message, finish)
            yield self._model_call(told, identity, turn.key, at)
            if told.get("summary") is True:
                yield Note("compacted", f"{identity} compacted", turn.key, lane, at)

    def _retried(self, part: dict[str, Any], turn: str, at: str) -> Note:
        error = mapping(part.get("error"))
        message = words(mapping(error.get("data")).get("message")) or words(error.get("name"))
        when = trace_time(mapping(part.get("time")).get("created"), at)
        key = f"{words(part.get('id')) or when} retried"
        details = {"name": "retry", "attempt": as_int(part.get("attempt")), "error": clip(message, RESULT_CHARACTERS)}
        return Note("retried", key, turn, self.facts.lane, when, details)

    def _model_call(self, told: dict[str, Any], identity: str, turn: str, at: str) -> ModelCall:
        usage = spend(told)
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
            purpose="compaction" if told.get("summary") is True else "turn",
        )

    def _tool_call(self, part: dict[str, Any], turn: str, at: str) -> Iterator[Item]:
        told = tool_call(part, at)
        key = f"{told.tool_call_id}@{words(part.get('id')) or at}"
        if child := child_session(part):
            self.facts.parent_calls[child] = told.tool_call_id
        call = ToolCall(
            key=key,
            turn=turn,
            lane=self.facts.lane,
            tool=told.tool,
            call_id=told.tool_call_id,
            args=clip_strings(told.args, RESULT_CHARACTERS),
            result=clip(told.result, RESULT_CHARACTERS),
            ok=told.ok,
            duration_ms=told.duration_ms,
            started_at=told.started_at,
            ended_at=max(told.started_at, told.ended_at),
            interrupted=told.interrupted,
        )
        yield call
        if denial(part) is not None:
            yield denied(call)
