"""What was worked out once and holds until its key changes; bounded, safe to use from many threads."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

_MOST: Final = 2_000


class Memory:
    """A small cache: the least recently used entries go first."""

    def __init__(self, most: int = _MOST) -> None:
        self._entries: OrderedDict[Hashable, tuple[Hashable, float, Any]] = OrderedDict()
        self._lock = threading.Lock()
        self._most = most

    def get(self, name: Hashable, state: Hashable, work: Callable[[], T], *, seconds: float | None = None) -> T:
        """Return what is known under a name in a state, or work it out.

        Args:
            name: of the entry.
            state: another one makes the entry void.
            work: makes the value.
            seconds: how long it holds, for ever when ``None``.
        """
        now = time.monotonic()
        with self._lock:
            found = self._entries.get(name)
            if found is not None and found[0] == state and (seconds is None or now - found[1] < seconds):
                self._entries.move_to_end(name)
                value: T = found[2]
                return value
        made = work()
        with self._lock:
            self._entries[name] = (state, now, made)
            self._entries.move_to_end(name)
            while len(self._entries) > self._most:
                self._entries.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()
