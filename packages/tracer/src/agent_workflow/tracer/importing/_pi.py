"""pi's sessions (``~/.pi/agent/sessions/**/*.jsonl``): a tree of entries, of which every branch was paid for."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float
from agent_workflow.tracer.agents._json_stream import mapping, text_of, words
from agent_workflow.tracer.agents._pi_usage import pi_usage
from agent_workflow.tracer.importing._items import MAIN, Item, ModelCall, Verdict
from agent_workflow.tracer.importing._reading import SessionReader

_VERDICTS: Final[dict[str, Verdict]] = {
    "stop": "answered",
    "length": "cut_off",
    "error": "provider_error",
    "aborted": "aborted",
}
_FAULTS: Final = {"length": "the reply was cut at the model's output limit", "aborted": "the turn was aborted"}


@dataclass
class PiReader(SessionReader):
    """Reads a session file."""

    needles: ClassVar = (b'"message"', b'"session"', b'"compaction"', b'"branch_summary"')
    agent: ClassVar = "pi"

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:
        """Take one entry in."""
        kind = record.get("type")
        at = self.moment(record.get("timestamp"))
        if kind == "session":
            self.facts.session_id = self.facts.session_id or words(record.get("id"))
            self.facts.cwd = self.facts.cwd or words(record.get("cwd"))
            self.facts.forked_from = words(record.get("parentSession"))
        elif kind == "message":
            yield from self._message(record, mapping(record.get("message")), at, number)
        elif kind in ("compaction", "branch_summary") and isinstance(record.get("usage"), dict):
            yield self._model_call(record, record, at, number)

    def _message(self, record: dict[str, Any], message: dict[str, Any], at: str, number: int) -> Iterator[Item]:
        role = message.get("role")
        if role == "user":
            identity = f"{words(record.get('id'))} {at}"
            yield from self.begin(MAIN, identity, at, text_of(message.get("content")))
        elif role == "assistant":
            yield from self._assistant(record, message, at, number)
        elif role == "toolResult":
            ok = message.get("isError") is not True
            result, call_id = text_of(message.get("content")), words(message.get("toolCallId"))
            yield from self.finish_call(MAIN, call_id, result, ok, at, as_float(message.get("durationMs")))
            if isinstance(message.get("usage"), dict):
                yield self._model_call(record, message, at, number)

    def _assistant(self, record: dict[str, Any], message: dict[str, Any], at: str, number: int) -> Iterator[Item]:
        stop_reason = words(message.get("stopReason"))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if mapping(block).get("type") == "toolCall":
                self.start_call(
                    MAIN, words(block.get("id")), words(block.get("name")) or "tool", block.get("arguments"), at
                )
        error = words(message.get("errorMessage")) or _FAULTS.get(stop_reason, "")
        self.end(MAIN, at, _VERDICTS.get(stop_reason, "incomplete"), error, stop_reason)
        if isinstance(message.get("usage"), dict):
            yield self._model_call(record, message, at, number)

    def _model_call(self, record: dict[str, Any], told: dict[str, Any], at: str, number: int) -> ModelCall:
        usage = pi_usage(told["usage"])
        identity = words(record.get("id")) or f"{self.facts.session_id} line {number}"
        return ModelCall(
            key=f"{identity}|{words(told.get('responseId'))}|{at}",
            turn=self.turn(MAIN, at).key,
            lane=MAIN,
            at=at,
            model="/".join(name for name in (words(told.get("provider")), words(told.get("model"))) if name),
            usage=usage,
            provider=words(told.get("provider")),
            raw=(usage.input, usage.output, usage.cache_read, usage.cache_write),
        )
