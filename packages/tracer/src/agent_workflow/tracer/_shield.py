"""Hold back a signal's exception while a record is half written."""

from threading import get_ident, main_thread
from types import TracebackType

_MAIN = main_thread().ident


class Shield:
    """A section of the main thread in which an interruption waits until the section ends.

    A signal handler asks ``interrupt``; outside of a section the exception is raised there and then, inside it is
    raised when the section is left.
    """

    __slots__ = ("_depth", "_waiting")

    def __init__(self) -> None:
        self._depth = 0
        self._waiting: BaseException | None = None

    def __enter__(self) -> None:
        if get_ident() == _MAIN:
            self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if get_ident() == _MAIN:
            self._depth -= 1
            if self._waiting is not None and self._depth == 0:
                waiting, self._waiting = self._waiting, None
                raise waiting

    def interrupt(self, error: BaseException) -> None:
        """Raise the error now, or as soon as the section is left."""
        if self._depth:
            self._waiting = error
        else:
            raise error
