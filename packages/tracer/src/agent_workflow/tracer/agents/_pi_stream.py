"""Reading pi's JSON stream, 0.58 to 1.6.

Spend is counted from assistant ``message_end`` alone: ``turn_end`` and ``agent_end`` repeat it. How a send ended is
told by the last assistant message's stop reason, since pi exits with 0 after a provider's refusal.
"""

from dataclasses import replace
from typing import Any, ClassVar

from agent_workflow.tracer._json import as_float
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._json_stream import JsonStream, exit_words, text_of
from agent_workflow.tracer.agents._pi_usage import pi_usage
from agent_workflow.tracer.agents._protocol import Compacted, Seen, SendOutcome, SendVerdict, Waited


class PiStream(JsonStream):
    """The stream of one send."""

    ignored = frozenset(
        [
            "turn_start",
            "turn_end",
            "message_start",
            "message_update",
            "tool_execution_update",
            "queue_update",
            "entry_appended",
            "session_info_changed",
            "thinking_level_changed",
            "summarization_retry_attempt_start",
            "summarization_retry_finished",
            "compaction_start",
            "auto_compaction_start",
        ]
    )

    def __init__(self, *, knows_prices: bool) -> None:
        """Begin.

        Args:
            knows_prices: the model's prices are stated, so that a cost of zero means free and not unknown.
        """
        super().__init__()
        self._knows_prices = knows_prices
        self._messages: dict[object, Usage] = {}
        self._compaction: Usage | None = None
        self._tools: Usage | None = None
        self._args: dict[str, object] = {}
        self._text = ""
        self._stop_reason = ""
        self._error = ""
        self._turns = 0
        self._context: int | None = None
        self._is_settled = False
        self._retries = 0

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up; calls that are still open were interrupted."""
        verdict, error = self._judge(exit_code)
        usage = sum(self._messages.values(), Usage())
        return SendOutcome(
            verdict=verdict,
            text=self._text,
            error=error,
            stop_reason=self._stop_reason,
            usage=usage,
            compaction=self._compaction,
            tools=self._tools,
            context_tokens=self._context,
            turns=self._turns,
            interrupted=self.calls.interrupted(at),
            unknown=dict(self.unknown),
            damaged=self.damaged,
            session_id=self.session_id,
            resumable=self._turns > 0,
            model=self.model,
            usage_known="whole" if self._is_settled else "partial",
            per_call=tuple(self._messages.values()),
            retries=self._retries,
        )

    def _judge(self, exit_code: int) -> tuple[SendVerdict, str]:
        if self._stop_reason == "error":
            return "provider_error", self._error or "the provider failed without a message"
        if self._stop_reason == "aborted":
            return "aborted", self._error or "the turn was aborted"
        if exit_code != 0:
            return "failed", exit_words(exit_code)
        if not self._is_settled:
            return "incomplete", "the stream stopped before the agent had settled"
        if self._stop_reason == "length":
            return "cut_off", "the reply was cut at the model's output limit"
        return "answered", ""

    def _session(self, record: dict[str, Any], _: str) -> list[Seen]:
        self.session_id = str(record.get("id") or "")
        return []

    def _agent_start(self, _: dict[str, Any], __: str) -> list[Seen]:
        self._is_settled = False
        return []

    def _agent_end(self, record: dict[str, Any], _: str) -> list[Seen]:
        # Old versions end here; newer ones may go on (willRetry) and say agent_settled when they are through.
        self._is_settled = record.get("willRetry") is not True
        return []

    def _agent_settled(self, record: dict[str, Any], _: str) -> list[Seen]:
        self._is_settled = True
        if record.get("aborted") is True:
            self._stop_reason = self._stop_reason if self._stop_reason == "error" else "aborted"
        return []

    def _message_end(self, record: dict[str, Any], at: str) -> list[Seen]:
        message = record.get("message")
        if not isinstance(message, dict):
            return []
        role = message.get("role")
        if role == "assistant":
            self._assistant(message, at)
        elif role == "toolResult" and isinstance(message.get("usage"), dict):
            self._tools = (self._tools or Usage()) + self._usage(message["usage"])
        return []

    def _assistant(self, message: dict[str, Any], at: str) -> None:
        self._turns += 1
        names = [name for name in (message.get("provider"), message.get("model")) if isinstance(name, str)]
        self.model = "/".join(names) or self.model
        self._stop_reason = str(message.get("stopReason") or "")
        error = message.get("errorMessage")
        self._error = error if isinstance(error, str) else ""
        blocks = message.get("content")
        if isinstance(blocks, str):
            blocks = [{"type": "text", "text": blocks}]
        self._read_blocks(blocks if isinstance(blocks, list) else [])
        usage = self._usage(message.get("usage"))
        # The same message may come in more than one line; the last one wins.
        identity = (message.get("responseId"), message.get("timestamp"))
        key: object = identity if all(isinstance(part, str | int | float) for part in identity) else (self._turns, at)
        self._messages[key] = usage
        if self._stop_reason not in ("error", "aborted") and usage.total > 0:
            self._context = usage.total

    def _read_blocks(self, blocks: list[Any]) -> None:
        texts = []
        for block in blocks:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "text" and isinstance(block.get("text"), str):
                texts.append(block["text"])
            elif block.get("type") == "toolCall" and isinstance(block.get("id"), str):
                self._args[block["id"]] = block.get("arguments")
        text = "\n".join(texts)
        if text.strip():
            self._text = text

    def _tool_start(self, record: dict[str, Any], at: str) -> list[Seen]:
        call_id = str(record.get("toolCallId") or "")
        self.calls.start(call_id, *self._called(record, call_id), at)
        return []

    def _tool_end(self, record: dict[str, Any], at: str) -> list[Seen]:
        call_id = str(record.get("toolCallId") or "")
        tool, args = self._called(record, call_id)
        ok = record.get("isError") is not True
        returned = self.calls.finish(call_id, _result_text(record.get("result")), ok, at, tool=tool, args=args)
        return [replace(returned, duration_ms=as_float(record.get("durationMs")))]

    def _called(self, record: dict[str, Any], call_id: str) -> tuple[str, object]:
        """Return tool and arguments, which the model's message told first."""
        return str(record.get("toolName") or "tool"), record.get("args", self._args.get(call_id))

    def _retry(self, record: dict[str, Any], _: str) -> list[Seen]:
        self._retries += record["type"] != "auto_retry_end"
        return [Waited(str(record["type"]), {key: value for key, value in record.items() if key != "type"})]

    def _compaction_end(self, record: dict[str, Any], _: str) -> list[Seen]:
        result = record.get("result")
        usage: Usage | None = None
        details = {
            "reason": record.get("reason"),
            "aborted": record.get("aborted"),
            "error": record.get("errorMessage"),
        }
        if isinstance(result, dict):
            if isinstance(result.get("usage"), dict):
                usage = self._usage(result["usage"])
                self._compaction = (self._compaction or Usage()) + usage
            details["tokens_before"] = result.get("tokensBefore")
            details["tokens_after_estimated"] = result.get("estimatedTokensAfter")
            self._context = None  # nobody knows the size until the next turn
        return [Compacted(details, usage)]

    def _usage(self, told: object) -> Usage:
        return pi_usage(told, knows_prices=self._knows_prices)

    handlers: ClassVar = {
        "session": _session,
        "agent_start": _agent_start,
        "agent_end": _agent_end,
        "agent_settled": _agent_settled,
        "message_end": _message_end,
        "tool_execution_start": _tool_start,
        "tool_execution_end": _tool_end,
        "auto_retry_start": _retry,
        "auto_retry_end": _retry,
        "summarization_retry_scheduled": _retry,
        "compaction_end": _compaction_end,
        "auto_compaction_end": _compaction_end,
    }


def _result_text(result: object) -> str:
    """Return what a tool said, as the model was told it."""
    content = result.get("content") if isinstance(result, dict) else result
    return text_of([content] if isinstance(content, dict) else content)
