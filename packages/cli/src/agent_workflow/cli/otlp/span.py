"""A span before it is encoded, and its ids: hashes of ours, so that an export that is repeated says the same again."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Value = str | bool | int | float | tuple[str, ...]
"""What an attribute holds."""

Attributes = dict[str, Value]

Kind = Literal["internal", "client"]


@dataclass(frozen=True)
class SpanEvent:
    """Something that happened at one moment of a span; times are nanoseconds since 1970."""

    name: str
    at: int
    attributes: Mapping[str, Value]


@dataclass
class Span:
    """One span; times are nanoseconds since 1970 and ``end`` is never before ``start``.

    Attributes:
        key: what it is among the spans of its trace; its id is derived from that.
        parent: key of the span that it is nested in, ``None`` for the root.
        failed: whether it ended badly; ``None`` where nothing says that it ended well.
        message: what went wrong, in words; content.
        is_open: nothing says when it ended.
    """

    key: str
    parent: str | None
    name: str
    kind: Kind
    start: int
    end: int
    attributes: Attributes
    events: list[SpanEvent] = field(default_factory=list)
    failed: bool | None = None
    message: str = ""
    is_open: bool = False


def trace_id(adw_id: str, started_at: str) -> bytes:
    """Return the 16 bytes that name a session's trace.

    Args:
        adw_id: of the session. Callers may choose it, so that two repositories can have the same one.
        started_at: of the session as recorded, which tells those apart and never changes.
    """
    return _digest("trace", adw_id, started_at)[:16]


def span_id(trace: bytes, key: str) -> bytes:
    """Return the 8 bytes that name a span of a trace."""
    return _digest("span", trace.hex(), key)[:8]


def _digest(*parts: str) -> bytes:
    text = "\0".join(("agent-workflow", *parts))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
