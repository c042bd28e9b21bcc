"""The line to the recorder: what the front tells it never waits, what it answers is read when it is there."""

import os

_MOST_WORDS = 20
_PIECE = 65_536


class Line:
    """The front's side.

    Attributes:
        pid: of the recorder, 0 when there is none.
        outbox: descriptor to select for writing while ``is_waiting``, -1 once it is closed.
        answers: descriptor to select for reading, -1 once the recorder has gone.
    """

    def __init__(self, pid: int = 0, outbox: int = -1, answers: int = -1) -> None:
        self.pid = pid
        self.outbox = outbox
        self.answers = answers
        self._waiting = b""
        self._rest = b""
        self._said: set[str] = set()
        self._hangs_up = False

    @property
    def is_waiting(self) -> bool:
        """Whether something could not be told yet."""
        return bool(self._waiting)

    def tell(self, *words: object) -> None:
        """Tell something as soon as the recorder listens."""
        if self.outbox >= 0:
            self._waiting += " ".join(map(str, words)).encode() + b"\n"
            self.flush()

    def flush(self) -> None:
        """Tell as much as the recorder takes now."""
        try:
            while self._waiting:
                self._waiting = self._waiting[os.write(self.outbox, self._waiting) :]
        except BlockingIOError:
            return
        except OSError:  # it has gone, which its answers tell
            self._waiting = b""
            self._hangs_up = True
        if self._hangs_up:
            self._close()

    def hang_up(self) -> None:
        """Tell no more once everything is told."""
        self._hangs_up = True
        if self.outbox >= 0 and not self._waiting:
            self._close()

    def listen(self) -> list[list[str]]:
        """Read what has been answered, each a list of words; at the end ``answers`` is closed."""
        data = os.read(self.answers, _PIECE)
        if not data:
            os.close(self.answers)
            self.answers = -1
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [line.decode("utf-8", "replace").split(" ") for line in lines]

    def is_news(self, words: str) -> bool:
        """Tell whether a sentence of the recorder is one for the user: each once, and not too many."""
        if words in self._said or len(self._said) >= _MOST_WORDS:
            return False
        self._said.add(words)
        return True

    def collect(self) -> None:
        """Let the system forget the recorder if it has ended."""
        if self.pid:
            try:
                os.waitpid(self.pid, os.WNOHANG)
            except OSError:
                return

    def _close(self) -> None:
        if self.outbox >= 0:
            os.close(self.outbox)
            self.outbox = -1
