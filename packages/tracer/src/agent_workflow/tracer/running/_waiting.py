"""Waiting for descriptors of any number: ``select`` knows the first 1,024, and a caller may hand down more."""

import select
import sys


def until_ready(reading: list[int], writing: list[int], seconds: float | None = None) -> tuple[set[int], set[int]]:
    """Wait until something can be read or written, or has gone.

    Args:
        reading: descriptors to read from.
        writing: descriptors to write to.
        seconds: how long at most, ``None`` for as long as it takes.

    Returns:
        Those to read from and those to write to that will not wait now.
    """
    if sys.platform != "linux":  # polling terminals is not to be relied on elsewhere
        ready, able, _ = select.select(reading, writing, [], seconds)
        return set(ready), set(able)
    watch = select.poll()
    wanted: dict[int, int] = dict.fromkeys(reading, select.POLLIN)
    for descriptor in writing:
        wanted[descriptor] = wanted.get(descriptor, 0) | select.POLLOUT
    for descriptor, events in wanted.items():
        watch.register(descriptor, events)
    found = dict(watch.poll(None if seconds is None else seconds * 1000))
    return (
        {descriptor for descriptor in reading if found.get(descriptor, 0) & ~select.POLLOUT},
        {descriptor for descriptor in writing if found.get(descriptor, 0) & ~select.POLLIN},
    )
