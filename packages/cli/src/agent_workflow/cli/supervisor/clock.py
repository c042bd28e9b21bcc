"""Time as the supervisor uses it: the wall for records, a clock that nobody can set for intervals."""

import os
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol


class Clock(Protocol):
    """What tells the time; tests put their own in its place."""

    def now(self) -> datetime:
        """Return the wall's time, aware and in UTC; it may be set back and forward at any moment."""
        ...

    def monotonic(self) -> float:
        """Return seconds that only go forward, the same in every process of one boot; sleep of the host is left out."""
        ...

    def boot(self) -> str:
        """Name this boot: readings of :meth:`monotonic` compare within one boot only."""
        ...


class SystemClock:
    """The clocks of this host."""

    def now(self) -> datetime:
        """Return the wall's time."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds of this boot in which the host was awake."""
        return time.monotonic()

    def boot(self) -> str:
        """Return the kernel's id of this boot, ``unknown`` where it has none."""
        return boot_id()


def boot_id() -> str:
    """Return what the kernel calls this boot."""
    if sys.platform == "linux":
        try:
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        except OSError:
            return "unknown"
    return "unknown"


@dataclass(frozen=True, slots=True)
class Anchor:
    """Both clocks read at the same moment, by an earlier cycle."""

    wall: datetime
    monotonic: float
    boot: str

    @classmethod
    def of(cls, clock: Clock) -> "Anchor":
        """Read both clocks."""
        return cls(clock.now(), clock.monotonic(), clock.boot())

    @classmethod
    def from_document(cls, document: object) -> "Anchor | None":
        """Read what :meth:`to_document` wrote; anything else is no anchor."""
        if not isinstance(document, dict):
            return None
        wall = parse_time(document.get("wall"))
        monotonic, boot = document.get("monotonic"), document.get("boot")
        if wall is None or not isinstance(boot, str) or isinstance(monotonic, bool):
            return None
        return cls(wall, float(monotonic), boot) if isinstance(monotonic, int | float) else None

    def to_document(self) -> dict[str, object]:
        """Return the anchor as it is kept between cycles."""
        return {"wall": stamp(self.wall), "monotonic": self.monotonic, "boot": self.boot}


def elapsed_since(recorded: datetime, now: Anchor, before: Anchor | None) -> float:
    """Measure how long ago something was recorded, though the wall's clock may have been set since.

    Args:
        recorded: the wall's time that stands in the record.
        now: both clocks now.
        before: both clocks at the end of the cycle that wrote the record, where that is known. The wall's clock is
            taken to have gone evenly up to then.

    Returns:
        Seconds, never negative.
    """
    if before is None or before.boot != now.boot or before.monotonic > now.monotonic:
        return max(0.0, (now.wall - recorded).total_seconds())
    since_anchor = now.monotonic - before.monotonic
    age_then = (before.wall - recorded).total_seconds()
    if age_then >= 0:
        return since_anchor + age_then
    return min(max(0.0, (now.wall - recorded).total_seconds()), since_anchor)


def parse_time(value: object) -> datetime | None:
    """Read a time of any writer; a naive one is taken as UTC, an unreadable one is unknown."""
    if not isinstance(value, str) or not value:
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def stamp(moment: datetime) -> str:
    """Write a time as evidence has it: UTC, ISO 8601, microseconds and offset."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")


def seconds_since_boot() -> float | None:
    """Return the seconds since boot, sleep included: the base of a process's start ticks on Linux."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock is None else time.clock_gettime(clock)


def seconds_asleep() -> float:
    """Return how long the host has slept since boot, 0 where that is not known."""
    since_boot = seconds_since_boot()
    return 0.0 if since_boot is None else max(0.0, since_boot - time.monotonic())


def ticks_per_second() -> int:
    """Return the kernel's clock ticks per second."""
    return os.sysconf("SC_CLK_TCK")
