"""Times as the trace writes them: UTC, milliseconds, ``+00:00``."""

import time
from datetime import UTC, datetime

_prefix: tuple[int, str] = (-1, "")


def now() -> str:
    """Return the current time."""
    return stamp(time.time())


def stamp(seconds: float) -> str:
    """Format a POSIX time.

    Args:
        seconds: since 1970, fractions are cut to milliseconds.
    """
    global _prefix  # noqa: PLW0603 - formatting the date part once a second halves the cost of an event
    whole = int(seconds)
    second, text = _prefix
    if whole != second:
        text = datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        _prefix = (whole, text)
    return f"{text}.{int((seconds - whole) * 1000):03d}+00:00"


def parse_time(text: str | None) -> datetime | None:
    """Read a time of any writer; a naive one is taken as UTC, an unreadable one is unknown."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def age_seconds(text: str | None) -> float | None:
    """Return how long ago a time was, never negative; ``None`` when it is unknown."""
    moment = parse_time(text)
    return None if moment is None else max(0.0, (datetime.now(UTC) - moment).total_seconds())
