"""Moments as people name them, and as SQLite tells them."""

import math
import re
from datetime import UTC, date, datetime, timedelta

from agent_workflow.index_store.errors import InvalidQuestion

_AGE = re.compile(r"(\d{1,6})([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def age_in_seconds(text: str) -> int | None:
    """Return an age such as ``30s``, ``90m``, ``24h``, ``7d`` or ``2w`` in seconds; None where a text is none."""
    match = _AGE.fullmatch(text)
    return None if match is None else int(match.group(1)) * _SECONDS[match.group(2)]


def parse_moment(text: str, name: str, now: datetime | None = None) -> float:
    """Return a moment as seconds of the epoch.

    Args:
        text: ISO 8601 date or time, or an age (``30s``, ``90m``, ``24h``, ``7d``, ``2w``).
        name: the filter, for the message.
        now: what an age counts back from; the present by default.

    Raises:
        InvalidQuestion: it is neither.
    """
    age = age_in_seconds(text)
    try:
        if age is not None:
            return ((now or datetime.now(UTC)) - timedelta(seconds=age)).timestamp()
        moment = datetime.fromisoformat(text)
        if name == "until" and _is_date(text):
            moment += timedelta(days=1, microseconds=-1000)  # a date means the whole day
        return (moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):  # no notation of a time, or in UTC before the year 1 or behind 9999
        raise InvalidQuestion(
            f"--{name} {text!r} is no time", hint="an ISO 8601 time such as 2026-07-01T12:00:00Z, or an age such as 24h"
        ) from None


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def to_milliseconds(moment: float) -> float:
    """Return a moment as SQLite tells it, to the millisecond and within its second: a row of it is then still in."""
    second = math.floor(moment)
    microseconds = min(round((moment - second) * 1_000_000), 999_000)
    return second + (microseconds + 500) // 1000 / 1000
