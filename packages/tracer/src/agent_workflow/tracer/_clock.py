"""Times as the trace writes them: UTC, milliseconds, ``+00:00``."""

import time
from datetime import UTC, datetime

_prefix: tuple[int, str] = (-1, "")
_latest: tuple[int, str] = (-1, "")


def now() -> str:
    """Return the current time."""
    global _latest  # noqa: PLW0603 - a burst has dozens of events within a millisecond, and they share its text
    millisecond = time.time_ns() // 1_000_000
    if millisecond != _latest[0]:
        _latest = (millisecond, _text(*divmod(millisecond, 1000)))
    return _latest[1]


def stamp(seconds: float) -> str:
    """Format a POSIX time.

    Args:
        seconds: since 1970, fractions are cut to milliseconds.
    """
    whole = int(seconds)
    return _text(whole, int((seconds - whole) * 1000))


def _text(second: int, millisecond: int) -> str:
    global _prefix  # noqa: PLW0603 - formatting the date part once a second halves the cost of a time
    if second != _prefix[0]:
        _prefix = (second, datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    return f"{_prefix[1]}.{millisecond:03d}+00:00"


def parse_time(text: object) -> datetime | None:
    """Read a time of any writer; a naive one is taken as UTC, an unreadable one is unknown."""
    if not isinstance(text, str):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def age_seconds(text: object) -> float | None:
    """Return how long ago a time was, never negative; ``None`` when it is unknown."""
    moment = parse_time(text)
    return None if moment is None else max(0.0, (datetime.now(UTC) - moment).total_seconds())
