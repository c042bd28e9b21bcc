"""Claude Code's transcripts (``~/.claude/projects/<folder>/<session>.jsonl``) and those of its sub-agents.

One message stands in a line for each of its blocks, with the usage of the whole in every one. Older versions copied a
resumed conversation into a new file, and wrote sub-agents into their parent's.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

from agent_workflow.tracer._json import as_float, as_int
from agent_workflow.tracer.agents._claude_messages import claude_usage, is_denial
from agent_workflow.tracer.agents._json_stream import count, mapping, text_of, words
from agent_workflow.tracer.importing._items import MAIN, Happening, Item, ModelCall, Note, Verdict
from agent_workflow.tracer.importing._reading import SessionReader

_GENUINE_ID: Final = 20
"""An id of fewer characters is of a local server's making and may come again for another message."""

_VERDICTS: Final[dict[str, Verdict]] = {
    "end_turn": "answered",
    "stop_sequence": "answered",
    "max_tokens": "cut_off",
    "model_context_window_exceeded": "cut_off",
    "refusal": "provider_error",
}
_HAPPENINGS: Final[dict[str, Happening]] = {"api_error": "retried", "compact_boundary": "compacted"}
_NO_PROMPTS: Final = ("<local-command-stdout>", "<local-command-stderr>", "<bash-stdout>", "<bash-stderr>")
_INTERRUPTED: Final = "[Request interrupted by user"
_MOST_PARENTS: Final = 2_000


@dataclass
class ClaudeReader(SessionReader):
    """Reads a transcript.

    Attributes:
        first_seen: when a message of the running turn was first seen, by lane, then by its ids.
        sidechains: lane of each line of a sub-agent that stands in its parent's file, by the line's id.
    """

    needles: ClassVar = (b'"assistant"', b'"user"', b'"api_error"', b'"compact_boundary"')
    agent: ClassVar = "claude_code"

    first_seen: dict[str, dict[str, str]] = field(default_factory=dict)
    sidechains: dict[str, str] = field(default_factory=dict)

    def read(self, record: dict[str, Any], number: int) -> Iterator[Item]:
        """Take one line in."""
        kind = record.get("type")
        happening = _HAPPENINGS.get(words(record.get("subtype"))) if kind == "system" else None
        if happening is None and kind not in ("user", "assistant"):
            return
        facts = self.facts
        told = words(record.get("sessionId"))
        facts.session_id = facts.session_id or told
        facts.cwd = facts.cwd or words(record.get("cwd"))
        facts.branch = facts.branch or words(record.get("gitBranch"))
        facts.version = words(record.get("version")) or facts.version
        lane = self._lane(record)
        is_copy = "forkedFrom" in record or bool(told and facts.lane == MAIN and told != facts.session_id)
        at = self.moment(record.get("timestamp"))
        if kind == "assistant":
            yield from self._assistant(record, lane, at, number, is_copy)
        elif happening is not None:
            details = _of_retry(record) if happening == "retried" else _of_compaction(record)
            key = words(record.get("uuid")) or f"{facts.session_id} line {number}"
            yield Note(happening, key, self.turn(lane, at, is_copy=is_copy).key, lane, at, details, is_copy)
        else:
            yield from self._user(record, lane, at, number, is_copy)

    def _lane(self, record: dict[str, Any]) -> str:
        if self.facts.lane != MAIN:
            return self.facts.lane
        if record.get("isSidechain") is not True:
            return MAIN
        line, parent = words(record.get("uuid")), words(record.get("parentUuid"))
        lane = words(record.get("agentId")) or self.sidechains.get(parent) or line[:8] or "sidechain"
        self.sidechains[line] = lane
        if len(self.sidechains) > _MOST_PARENTS:
            self.sidechains.pop(next(iter(self.sidechains)))
        return lane

    def _user(self, record: dict[str, Any], lane: str, at: str, number: int, is_copy: bool) -> Iterator[Item]:
        content = mapping(record.get("message")).get("content")
        results = (
            [block for block in content if mapping(block).get("type") == "tool_result"]
            if isinstance(content, list)
            else []
        )
        for block in results:
            duration = as_float(mapping(record.get("toolUseResult")).get("durationMs")) if len(results) == 1 else None
            ok, told = block.get("is_error") is not True, text_of(block.get("content"))
            call_id, is_denied = words(block.get("tool_use_id")), not ok and is_denial(told)
            yield from self.finish_call(lane, call_id, told, ok, at, duration, is_denied=is_denied)
        text = text_of(content)
        if text.startswith(_INTERRUPTED):
            self.end(lane, at, "aborted", "the turn was interrupted")
        elif not results and text.strip() and not self._is_no_prompt(record, text):
            identity = words(record.get("uuid")) or f"{self.facts.session_id} line {number}"
            self.first_seen.pop(lane, None)
            yield from self.begin(lane, identity, at, text, is_copy=is_copy)

    @staticmethod
    def _is_no_prompt(record: dict[str, Any], text: str) -> bool:
        return record.get("isMeta") is True or record.get("isCompactSummary") is True or text.startswith(_NO_PROMPTS)

    def _assistant(self, record: dict[str, Any], lane: str, at: str, number: int, is_copy: bool) -> Iterator[Item]:
        message = mapping(record.get("message"))
        model, content = words(message.get("model")), message.get("content")
        if model == "<synthetic>":
            error = words(record.get("error"))
            if error or record.get("isApiErrorMessage") is True:
                verdict: Verdict = "cut_off" if error == "max_output_tokens" else "provider_error"
                self.end(lane, at, verdict, text_of(content), "" if error == "unknown" else error)
            return
        turn = self.turn(lane, at, is_copy=is_copy)
        for block in content if isinstance(content, list) else []:
            kind, call_id = words(mapping(block).get("type")), words(mapping(block).get("id"))
            if kind.endswith("tool_use"):
                self.start_call(
                    lane, call_id, words(block.get("name")) or "tool", block.get("input"), at, is_copy=is_copy
                )
            elif kind.endswith("tool_result"):  # of the server's own tools
                result = text_of(block.get("content"))
                yield from self.finish_call(
                    lane, words(block.get("tool_use_id")), result, block.get("is_error") is not True, at
                )
        stop_reason = words(message.get("stop_reason"))
        self.end(lane, at, _VERDICTS.get(stop_reason, "incomplete"), "", stop_reason)
        if isinstance(message.get("usage"), dict):
            yield self._model_call(record, message, lane, turn.key, at, number, is_copy)

    def _model_call(
        self, record: dict[str, Any], message: dict[str, Any], lane: str, turn: str, at: str, number: int, is_copy: bool
    ) -> ModelCall:
        told = message["usage"]
        usage = claude_usage(told)
        return ModelCall(
            key=self._key(record, message, lane, at, number),
            turn=turn,
            lane=lane,
            at=at,
            model=words(message.get("model")),
            usage=usage,
            provider="anthropic",
            long_cache_write=count(mapping(told.get("cache_creation")).get("ephemeral_1h_input_tokens")),
            is_copy=is_copy,
            raw=(usage.input, usage.output, usage.cache_read, usage.cache_write),
        )

    def _key(self, record: dict[str, Any], message: dict[str, Any], lane: str, at: str, number: int) -> str:
        identity = words(message.get("id"))
        if not identity:
            return f"{self.facts.session_id} line {number}"
        key = f"{identity}|{words(record.get('requestId'))}"
        if len(identity) >= _GENUINE_ID:
            return key
        first = self.first_seen.setdefault(lane, {}).setdefault(key, at)
        return f"{key}|{first}"


def _of_retry(record: dict[str, Any]) -> dict[str, Any]:
    """Tell of a retry as the stream does."""
    told = mapping(record.get("error"))
    return {
        "name": "api_retry",
        "attempt": as_int(record.get("retryAttempt")),
        "max_retries": as_int(record.get("maxRetries")),
        "retry_delay_ms": as_float(record.get("retryInMs")),
        "error_status": as_int(told.get("status")),
    }


def _of_compaction(record: dict[str, Any]) -> dict[str, Any]:
    told = mapping(record.get("compactMetadata"))
    return {"trigger": words(told.get("trigger")), "pre_tokens": as_int(told.get("preTokens"))}
