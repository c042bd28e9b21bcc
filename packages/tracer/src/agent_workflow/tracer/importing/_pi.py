"""pi's sessions (``~/.pi/agent/sessions/**/*.jsonl``): a tree of entries, of which every branch was paid for."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float, as_int
from agent_workflow.tracer.agents._json_stream import mapping, text_of, words
from agent_workflow.tracer.agents._pi_usage import pi_usage
from agent_workflow.tracer.importing._items import MAIN, Item, ModelCall, Note, Purpose, Verdict
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
    """Reads a session file.

    Attributes:
        refused: key, turn, time and words of the newest message, if the provider's refusal is all it has.
    """

    needles: ClassVar = (b'"message"', b'"session"', b'"compaction"', b'"branch_summary"')
    agent: ClassVar = "pi"

    refused: list[str] = field(default_factory=list)

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
        elif kind in ("compaction", "branch_summary"):
            if isinstance(record.get("usage"), dict):
                yield self._model_call(record, record, at, number, "compaction")
            if kind == "compaction":
                key = f"{words(record.get('id'))} {at} compacted"
                details = {"tokens_before": as_int(record.get("tokensBefore"))}
                yield Note("compacted", key, self.turn(MAIN, at).key, MAIN, at, details)

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
                yield self._model_call(record, message, at, number, "tool")

    def _assistant(self, record: dict[str, Any], message: dict[str, Any], at: str, number: int) -> Iterator[Item]:
        yield from self._retried()
        stop_reason = words(message.get("stopReason"))
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if mapping(block).get("type") == "toolCall":
                self.start_call(
                    MAIN, words(block.get("id")), words(block.get("name")) or "tool", block.get("arguments"), at
                )
        error = words(message.get("errorMessage")) or _FAULTS.get(stop_reason, "")
        self.end(MAIN, at, _VERDICTS.get(stop_reason, "incomplete"), error, stop_reason)
        if stop_reason == "error":
            self.refused = [f"{words(record.get('id'))} {at} retried", self.turn(MAIN, at).key, at, error]
        if isinstance(message.get("usage"), dict):
            yield self._model_call(record, message, at, number, "turn")

    def _retried(self) -> Iterator[Item]:
        """An answer behind a refusal in the same turn means that pi has tried again."""
        key, turn, at, error = self.refused or ("", "", "", "")
        self.refused = []
        if turn and self.turn(MAIN, at).key == turn:
            yield Note("retried", key, turn, MAIN, at, {"name": "auto_retry_start", "error": error})

    def _model_call(
        self, record: dict[str, Any], told: dict[str, Any], at: str, number: int, purpose: Purpose
    ) -> ModelCall:
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
            purpose=purpose,
        )
