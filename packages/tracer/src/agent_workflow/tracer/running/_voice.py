"""What the user is told on stderr: by a thread, since one who does not read it must hold nobody up."""

import _thread

from agent_workflow.tracer.running._channel import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Voice:
    """Says one sentence after the other."""

    def __init__(self, look: "Callable[[], object]") -> None:
        """Prepare; nothing is said yet.

        Args:
            look: called from another thread when everything is said.
        """
        self._look = look
        self._lock = _thread.allocate_lock()
        self._sentences: list[bytes] = []
        self._speaks = False

    @property
    def is_silent(self) -> bool:
        """Whether everything has been said."""
        return not self._speaks

    def say(self, sentence: bytes) -> None:
        """Say something when what came before it has been said."""
        with self._lock:
            self._sentences.append(sentence)
            if self._speaks:
                return
            self._speaks = True
        try:
            _thread.start_new_thread(self._speak, ())
        except RuntimeError:  # no more threads
            self._speak()

    def _speak(self) -> None:
        while sentence := self._next():
            try:
                write_all(2, sentence)
            except OSError:  # nobody listens
                self._sentences.clear()
        self._look()

    def _next(self) -> bytes:
        with self._lock:
            self._speaks = bool(self._sentences)
            return self._sentences.pop(0) if self._sentences else b""
