"""Reading a trace database in the event loop: never a wait, never an opening, and no question asked twice in vain."""

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, Final, TypeVar

from agent_workflow.tracer import TracerError
from agent_workflow.tracer.viewing import FileIdentity, TraceSource

T = TypeVar("T")

_MOST_ANSWERS: Final = 256
_MOST_BYTES: Final = 2_000_000


class NotAtOnce(Exception):
    """An answer that cannot be given without waiting."""


class _Quick:
    """A connection, with answers that hold until somebody commits."""

    def __init__(self, source: TraceSource) -> None:
        self.source = source
        self.version = -1
        self.forget()

    def forget(self) -> None:
        self.answers: dict[Hashable, Any] = {}
        self.bytes = 0

    def keep(self, question: Hashable, answer: object, size: int) -> None:
        if len(self.answers) >= _MOST_ANSWERS or self.bytes + size > _MOST_BYTES:
            self.forget()
        self.answers[question] = answer
        self.bytes += size


class AtOnce:
    """The connection of the event loop to one database; :meth:`prepare` opens it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._preparing = threading.Lock()
        self._quick: _Quick | None = None
        self._retired: list[_Quick] = []

    def read(self, question: Hashable, ask: Callable[[TraceSource], tuple[T, int]]) -> T:
        """Ask the database without ever waiting: no lock, no opening, over a connection kept for this.

        Called from the event loop only, so one at a time. While the file is the same and nobody has committed, the
        answer of before holds: several tabs, or one that asks again, cost one look at the file.

        Args:
            question: equal ones have equal answers.
            ask: finds the answer, and how many bytes it holds.

        Raises:
            NotAtOnce: it would have to wait, or something is wrong; :meth:`Database.read` finds out what.
        """
        while self._retired:
            self._retired.pop().source.close()
        quick = self._quick
        if quick is None:
            raise NotAtOnce
        try:
            if quick.source.identity != FileIdentity.of(self._path):
                raise NotAtOnce
            version = quick.source.data_version()
            if version != quick.version:
                quick.forget()
                quick.source.notice_schema()
                quick.version = version
            elif question in quick.answers:
                kept: T = quick.answers[question]
                return kept
            answer, size = ask(quick.source)
        except TracerError as error:
            self._retired.append(quick)
            if self._quick is quick:
                self._quick = None
            raise NotAtOnce from error
        quick.keep(question, answer, size)
        return answer

    def prepare(self) -> None:
        """Open the connection where there is none for the file of now; may wait itself.

        Raises:
            TraceReadError: it cannot be opened.
        """
        with self._preparing:  # several polls may find at once that there is none: one of them opens it
            before = self._quick
            if before is None or before.source.identity != FileIdentity.of(self._path):
                self._quick = _Quick(TraceSource(self._path, wait_ms=0))
                if before is not None:
                    self._retired.append(before)  # the loop may be using it: it closes it at its next poll

    def close(self) -> None:
        """Close the connection."""
        for quick in (*self._retired, *([self._quick] if self._quick else ())):
            quick.source.close()
        self._quick, self._retired = None, []
