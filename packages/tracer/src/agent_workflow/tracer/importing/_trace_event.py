"""An event of an imported session; its id is made of what it is, so that it is the same in every import."""

import hashlib
from dataclasses import dataclass
from typing import Any, Final

_ID_DIGITS: Final = 24  # 48 bits, as a recorder draws, would meet within some million events


@dataclass(slots=True)
class Event:
    """One event, its time as the trace writes it."""

    event_id: str
    at: str
    phase_id: str
    type: str
    name: str
    payload: dict[str, Any]
    parent_id: str = ""
    tokens: int | None = None
    started_at: str = ""
    ended_at: str | None = None


def content_id(adw_id: str, *parts: str) -> str:
    """Name an event of a session by what sets it apart from the others."""
    digest = hashlib.sha256("\n".join((adw_id, *parts)).encode("utf-8", "replace"))
    return f"evt_{digest.hexdigest()[:_ID_DIGITS]}"
