"""How far a long call has come, on a terminal only and gone at its end."""

import sys
import time
from types import TracebackType

from agent_workflow.cli._output import is_terminal

_FIRST_SHOWN_SECONDS = 0.3
_REDRAW_SECONDS = 0.1


class RunProgress:
    """A line such as ``indexed 120 of 1000 runs`` on stderr, redrawn in place.

    It is drawn with carriage returns and spaces alone, so it needs nothing of the terminal. It shows nothing where
    stderr is no terminal, and nothing of a call that is done at once.
    """

    def __init__(self, verb: str, subjects: str = "runs") -> None:
        """Prepare; ``verb`` is what happens to runs or other subjects, for example ``indexed``."""
        self._verb = verb
        self._subjects = subjects
        self._drawn = 0
        self._enabled = is_terminal(sys.stderr)
        self._next_at = time.monotonic() + _FIRST_SHOWN_SECONDS

    def __enter__(self) -> "RunProgress":
        return self

    def __call__(self, done: int, total: int) -> None:
        """Draw how many are done."""
        self.show(f"{self._verb} {done} of {total} {self._subjects}")

    def show(self, text: str) -> None:
        """Draw a line, unless one was drawn a moment ago."""
        if self._enabled and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + _REDRAW_SECONDS
            self._draw(text)

    def waits_for(self, holder: str) -> None:
        """Say whom the call waits for; nobody should wonder why nothing happens."""
        if self._enabled:
            self._draw(f"waiting for {holder}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._drawn:
            self._draw("")
            sys.stderr.write("\r")
            sys.stderr.flush()

    def _draw(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(self._drawn))
        sys.stderr.flush()
        self._drawn = len(text)
