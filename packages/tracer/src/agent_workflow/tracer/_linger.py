"""How long the streams of a command that has ended are still read: what it left running may hold them for ever."""

import time

_SILENCE_SECONDS = 1.0
_MOST_SECONDS = 10.0
_TURNS = 32
"""Each takes 128 KiB of a pipe's mebibyte, 4 of a terminal's 64: then everything is taken that the command printed."""


class Linger:
    """The time since a command ended."""

    def __init__(self) -> None:
        """Begin with the end of the command."""
        self._ended_at = self._quiet_since = time.monotonic()
        self._turns = 0

    def note(self, *, something_came: bool, is_held_up: bool) -> None:
        """Note one look at all streams that are open.

        Args:
            something_came: from one of them.
            is_held_up: one of them is not read now, since its reader has not taken what came before.
        """
        if something_came or is_held_up:
            self._quiet_since = time.monotonic()
        if not is_held_up:
            self._turns += 1

    @property
    def is_over(self) -> bool:
        """Whether all that the command printed is taken, and what it left running has had time to end."""
        now = time.monotonic()
        if self._turns and now - self._quiet_since >= _SILENCE_SECONDS:
            return True
        return self._turns >= _TURNS and now - self._ended_at >= _MOST_SECONDS
