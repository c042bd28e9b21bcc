"""What the readers of all streams share: lines become records, and a call is open until it returns."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar, Final

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._json import as_float, as_int, decode_record
from agent_workflow.tracer._usage import Usage
from agent_workflow.tracer.agents._protocol import Seen, ToolReturned

INTERRUPTED: Final = "interrupted: the agent ended before the tool returned"
"""The result of a call that never came back."""

_USUAL_TIME: Final = re.compile(r"[12]\d{3}-[01]\d-[0-3]\dT[0-2]\d:[0-5]\d:[0-5]\d\.\d{3}Z")

Handler = Callable[[Any, dict[str, Any], str], Iterable[Seen]]
"""Takes the reader, a record and the time it came; returns what is to be recorded."""


@dataclass(frozen=True, slots=True)
class _Call:
    tool: str
    args: object
    started_at: str
    parent: str


class OpenCalls:
    """The tool calls that have begun and not returned, by their ids."""

    def __init__(self) -> None:
        self._open: dict[str, _Call] = {}

    def start(self, call_id: str, tool: str, args: object, at: str, parent: str = "") -> None:
        """Note that a call begins; one that is told again keeps its first time."""
        known = self._open.get(call_id)
        self._open[call_id] = _Call(tool, args, known.started_at if known else at, parent)

    def finish(
        self, call_id: str, result: str, ok: bool, at: str, *, tool: str = "", args: object = None, parent: str = ""
    ) -> ToolReturned:
        """Close a call; ``tool``, ``args`` and ``parent`` stand in where its beginning was not seen."""
        call = self._open.pop(call_id, None) or _Call(tool or "tool", args, at, parent)
        return ToolReturned(call.tool, call_id, call.args, result, ok, None, call.started_at, at, False, call.parent)

    def interrupted(self, at: str) -> list[ToolReturned]:
        """Return the calls that are still open as cut off."""
        return [
            ToolReturned(
                call.tool, call_id, call.args, INTERRUPTED, False, None, call.started_at, at, True, call.parent
            )
            for call_id, call in self._open.items()
        ]

    def tool_of(self, call_id: str) -> str:
        """Return the name of an open call's tool, empty when there is none."""
        call = self._open.get(call_id)
        return call.tool if call else ""


class JsonStream:
    """Base of a reader of one send; a subclass says what is done with each type of record.

    Attributes:
        handlers: by the record's ``type``.
        ignored: types that are known and tell nothing of use.
        calls: the tool calls that are open.
        session_id, model: as the stream told them.
    """

    handlers: ClassVar[Mapping[str, Handler]] = {}
    ignored: ClassVar[frozenset[str]] = frozenset()

    def __init__(self) -> None:
        self.calls = OpenCalls()
        self.session_id = ""
        self.model = ""
        self.unknown: Counter[str] = Counter()
        self.damaged = 0

    def read(self, line: bytes, at: str) -> Iterable[Seen]:
        """Take in one line; one that is damaged is counted."""
        if not line.strip():
            return []
        try:
            record = decode_record(line)
        except ValueError:
            self.damaged += 1
            return []
        self.look(record)
        kind = words(record.get("type"))
        handler = self.handlers.get(kind)
        if handler is not None:
            return handler(self, record, at)
        if kind not in self.ignored:
            self.unknown[str(record.get("type"))[:100]] += 1
        return []

    def look(self, record: dict[str, Any]) -> None:
        """See what every record of the stream has, whatever its type."""

    def complete(self) -> Iterable[Seen]:
        """Take nothing: an agent without a record of its own."""
        return []


def count(value: object) -> int:
    """Read a number of tokens; what is none is zero."""
    return max(0, as_int(value) or 0)


def unpriced(parts: tuple[int, int, int, int], reasoning: int | None = None, total: int | None = None) -> Usage:
    """Put tokens together whose price nobody told.

    Args:
        parts: input without the cache, output, cache read, cache write.
        reasoning: inside output.
        total: as reported, if it is.
    """
    return Usage(*parts, reasoning, sum(parts) if total is None else total, None, None)


def text_of(content: object) -> str:
    """Return the text of a message's content, which is one or a list of blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else []
    return "\n".join(
        block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)
    )


def words(value: object) -> str:
    """Return a text, empty for anything else."""
    return value if isinstance(value, str) else ""


def mapping(value: object) -> dict[str, Any]:
    """Return a JSON object, empty for anything else."""
    return value if isinstance(value, dict) else {}


def trace_time(told: object, otherwise: str = "") -> str:
    """Write a time that an agent told as the trace does: UTC with milliseconds and ``+00:00``.

    Args:
        told: ISO 8601, or milliseconds since 1970.
        otherwise: taken when it is neither.
    """
    try:
        if isinstance(told, str):
            if _USUAL_TIME.fullmatch(told):
                return f"{told[:23]}+00:00"
            moment = parse_time(told)
        else:
            number = as_float(told)
            moment = None if number is None or number < 0 else datetime.fromtimestamp(number / 1000, UTC)
        return moment.astimezone(UTC).isoformat(timespec="milliseconds") if moment else otherwise
    except (ValueError, OverflowError, OSError):
        return otherwise


def exit_words(code: int) -> str:
    """Say how a process ended."""
    return f"exit code {code}" if code >= 0 else f"ended by signal {-code}"


def error_message(text: str) -> str:
    """Return the message inside of a provider's answer that came through as it was."""
    try:
        told = decode_record(text.encode("utf-8", "replace")).get("error")
    except ValueError:
        return text
    return words(mapping(told).get("message")) or text
