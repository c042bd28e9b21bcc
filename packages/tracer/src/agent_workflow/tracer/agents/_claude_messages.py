"""What Claude Code tells of its messages and of its results, added up."""

import re
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._usage import Usage, dollars
from agent_workflow.tracer.agents._json_stream import count, mapping, text_of, unpriced, words
from agent_workflow.tracer.agents._protocol import Denial


@dataclass(slots=True)
class _Message:
    parent: str
    model: str = ""
    usage: Usage = field(default_factory=lambda: unpriced((0, 0, 0, 0)))
    is_final: bool = False
    texts: list[str] = field(default_factory=list)


class Messages:
    """The model's messages by their ids; one whose parent is a tool call is a sub-agent's.

    Attributes:
        stop_reason: of the newest message of the conversation itself, empty when nobody told.
    """

    def __init__(self) -> None:
        self.stop_reason = ""
        self._messages: dict[str, _Message] = {}
        self._streaming: dict[str, str] = {}
        self._last = ""
        self._is_compacted = False

    @property
    def turns(self) -> int:
        """How many there are of the conversation itself."""
        return sum(not message.parent for message in self._messages.values())

    @property
    def has_subagents(self) -> bool:
        """Whether a sub-agent called a model."""
        return any(message.parent for message in self._messages.values())

    @property
    def model(self) -> str:
        """The model that wrote the newest message of the conversation itself."""
        last = self._messages.get(self._last)
        return last.model if last else ""

    @property
    def context(self) -> int | None:
        """How full the window is: all of the newest message, or what was put in as long as its output is not known."""
        last = self._messages.get(self._last)
        if last is None or self._is_compacted or last.usage.total == 0:
            return None
        return last.usage.total if last.is_final else last.usage.total - last.usage.output

    def text(self) -> str:
        """Return the newest text of the conversation itself."""
        told = [message for message in self._messages.values() if message.texts and not message.parent]
        return "\n".join(told[-1].texts) if told else ""

    def usage_of(self, *, nested: bool) -> Usage:
        """Sum up the messages of sub-agents, or those of the conversation itself."""
        usages = [message.usage for message in self._messages.values() if bool(message.parent) == nested]
        return sum(usages, unpriced((0, 0, 0, 0)))

    def per_call(self) -> tuple[Usage, ...]:
        """Return the usage of each message of the conversation itself."""
        return tuple(message.usage for message in self._messages.values() if not message.parent)

    def forget_context(self) -> None:
        """Nobody knows how full the window is until the next message."""
        self._is_compacted = True

    def take(self, message: dict[str, Any], parent: str) -> None:
        """Take one block of a message; its usage is the last that was told, unless the final one is known."""
        kept = self._update(words(message.get("id")) or f"message {len(self._messages)}", message, parent)
        if text := text_of(message.get("content")).strip("\n"):
            kept.texts.append(text)

    def take_event(self, event: dict[str, Any], parent: str) -> None:
        """Take an event of the model's own stream, which is there when partial messages were asked for."""
        kind = event.get("type")
        if kind == "message_start":
            self._streaming[parent] = words(mapping(event.get("message")).get("id"))
        elif kind == "message_delta" and isinstance(event.get("usage"), dict):
            kept = self._messages.get(self._streaming.get(parent, ""))
            if kept is not None:
                told = {**_as_told(kept.usage), **{key: value for key, value in event["usage"].items() if value}}
                self._set(kept, claude_usage(told), words(mapping(event.get("delta")).get("stop_reason")))

    def finish(self, record: dict[str, Any], parent: str | None = "") -> None:
        """Take a message as a transcript has it: final, unless it was killed while it was written.

        Args:
            record: a line of the transcript.
            parent: the call of the sub-agent that it is of, ``None`` to take only what the stream has shown.
        """
        message = mapping(record.get("message"))
        identity = words(message.get("id"))
        if record.get("type") != "assistant" or message.get("model") == "<synthetic>" or not identity:
            return
        if parent is not None or identity in self._messages:
            self._update(identity, message, parent or "")

    def _update(self, identity: str, message: dict[str, Any], parent: str) -> _Message:
        if identity not in self._messages:
            self._messages[identity] = _Message(parent)
            if not parent:
                self._last, self.stop_reason, self._is_compacted = identity, "", False
        kept = self._messages[identity]
        kept.model = words(message.get("model")) or kept.model
        stop_reason = words(message.get("stop_reason"))
        if isinstance(message.get("usage"), dict) and (stop_reason or not kept.is_final):
            self._set(kept, claude_usage(message["usage"]), stop_reason)
        return kept

    def _set(self, kept: _Message, usage: Usage, stop_reason: str) -> None:
        kept.usage = usage
        kept.is_final = bool(stop_reason)
        if self._messages.get(self._last) is kept:
            self.stop_reason = stop_reason


class Results:
    """The ``result`` records of a send: usually one; one more for each background task that woke the agent."""

    def __init__(self) -> None:
        self.count = 0
        self.subtype = ""
        self.is_error = False
        self.text = ""
        self.error = ""
        self.stop_reason = ""
        self.was_aborted = False
        self.denials: tuple[Denial, ...] = ()
        self._main = unpriced((0, 0, 0, 0))
        self._models: dict[str, Any] = {}
        self._cost: Decimal | None = None

    def take(self, record: dict[str, Any]) -> None:
        """Take one; usage is of this prompt alone, cost and models are of the whole process so far."""
        self.count += 1
        self.subtype = words(record.get("subtype"))
        self.is_error = record.get("is_error") is True or self.subtype != "success"
        self.text = words(record.get("result"))
        errors = record.get("errors")
        listed = [error for error in errors if isinstance(error, str)] if isinstance(errors, list) else []
        self.error = (self.text or "; ".join(listed) or self.subtype) if self.is_error else ""
        self.stop_reason = words(record.get("stop_reason"))
        self.was_aborted = words(record.get("terminal_reason")).startswith("aborted")
        denials = record.get("permission_denials")
        self.denials += tuple(
            Denial(words(denial.get("tool_name")) or "tool", words(denial.get("tool_use_id")))
            for denial in (denials if isinstance(denials, list) else [])
            if isinstance(denial, dict)
        )
        self._main += claude_usage(mapping(record.get("usage")))
        self._models = mapping(record.get("modelUsage")) or self._models
        self._cost = dollars(record.get("total_cost_usd"))

    def usage(self) -> Usage:
        """Return the spend of the whole send, sub-agents and all models included."""
        tokens = self._tokens()
        costs = Usage().costs if self._cost == 0 else None
        return Usage(
            tokens.input, tokens.output, tokens.cache_read, tokens.cache_write, None, tokens.total, costs, self._cost
        )

    def beyond_main(self) -> Usage:
        """Return the tokens that are not the conversation's own."""
        whole, main = self._tokens(), self._main
        pairs = [
            (whole.input, main.input),
            (whole.output, main.output),
            (whole.cache_read, main.cache_read),
            (whole.cache_write, main.cache_write),
        ]
        parts = [max(0, one - other) for one, other in pairs]
        return unpriced((parts[0], parts[1], parts[2], parts[3]))

    def window(self, *models: str) -> int | None:
        """Return the ceiling of the first of these models that was told, or of the only one."""
        names = [*models, *self._models] if len(self._models) == 1 else list(models)
        windows = (as_int(mapping(self._models.get(name)).get("contextWindow")) for name in names)
        return next((window for window in windows if window and window > 0), None)

    def _tokens(self) -> Usage:
        keys = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
        models = [mapping(entry) for entry in self._models.values()]
        if not models:
            return self._main
        parts = [sum(count(entry.get(key)) for entry in models) for key in keys]
        return unpriced((parts[0], parts[1], parts[2], parts[3]))


_KEYS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_DENIED = re.compile(
    r"Claude requested permissions to .*haven't granted it yet"
    r"|The user doesn't want to proceed with this tool use"
    r"|Permission to use .* has been denied"
    r"|Permission (?:for this action was )?denied by "
    r"|File is in a (?:directory|location) that is denied by your permission settings"
    r"|\S+ in '.*' was blocked\. For security, Claude Code may only ",
    re.DOTALL,
)


def is_denial(result: str) -> bool:
    """Tell whether the error that a tool came back with says that it was not allowed to run."""
    return _DENIED.match(result[:2_000]) is not None


def claude_usage(told: dict[str, Any]) -> Usage:
    """Read a usage of Claude Code, whose input is without the cache."""
    parts = [count(told.get(key)) for key in _KEYS]
    return unpriced((parts[0], parts[1], parts[2], parts[3]))


def _as_told(usage: Usage) -> dict[str, int]:
    return dict(zip(_KEYS, (usage.input, usage.output, usage.cache_read, usage.cache_write), strict=True))
