"""One stream of the command on its way out: taken at once, kept in a spill, handed on as fast as its reader likes.

The spill is a file without a name: it holds the bytes as they came, secrets included, so nobody else may open it, and
it is gone with the processes that hold it. A thread hands on from there. So the command never waits for a slow reader,
and what the reader has not taken costs no memory.
"""

import _thread
import errno
import os

from agent_workflow.tracer.running._waiting import until_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = 1 << 17
_RECYCLE_BYTES = 1 << 24


class Channel:
    """One stream.

    Attributes:
        name: ``stdout`` or ``stderr``.
        source: descriptor it comes from, -1 once it has ended.
        spill: descriptor of the spill, -1 where there is none.
        spilled: bytes that are or were in the spill.
        base: byte of the stream with which the spill now begins.
        lost: bytes that passed by the spill, because the disk was full.
        is_delivered: the reader has everything, or wants no more.
        is_broken: the reader has gone, or cannot take any more.
        complaint: why it cannot, until that is told; that it has gone is no complaint.
    """

    def __init__(self, name: str, spill: int, sink: int, look: "Callable[[], object]", *, source: int) -> None:
        """Prepare a stream.

        Args:
            name: of the stream.
            spill: descriptor of a file without a name, -1 for none.
            sink: descriptor of the reader.
            look: called from another thread when something has changed.
            source: descriptor it comes from.
        """
        _widen(source)
        self.name = name
        self.source = source
        self.spilled = 0
        self.base = 0
        self.lost = 0
        self.is_delivered = False
        self.is_broken = False
        self.complaint = ""
        self.spill = spill
        self._sink = sink
        self._look = look
        self._sent = 0
        self._held = b""
        self._has_ended = False
        self._runs = False
        self._wake = _thread.allocate_lock()
        self._wake.acquire()

    @property
    def wants(self) -> bool:
        """Whether more can be taken now: without a spill, only when the reader has the last piece."""
        return self.source >= 0 and (self.is_broken or not self._held)

    def take(self) -> bool:
        """Take what is there; return whether the stream goes on."""
        try:
            data = os.read(self.source, _CHUNK)
        except BlockingIOError:
            return True
        except OSError:  # the end of a pseudo-terminal
            data = b""
        if data:
            self._keep(data)
        else:
            self.end()
        return bool(data)

    def end(self) -> None:
        """Take no more: the stream is at its end, or its reader has gone, which the command is to notice."""
        if self.source >= 0:
            os.close(self.source)
            self.source = -1
        self._has_ended = True
        if not self._runs:
            self.is_delivered = True
        self._stir()

    def recycle(self, recorded: int) -> bool:
        """Empty a large spill that everybody has read.

        Args:
            recorded: how far the recorder has read the stream.

        Returns:
            Whether it now begins with another byte.
        """
        is_read = recorded == self.spilled and (self.is_broken or self._sent == self.spilled)
        if self.spilled - self.base < _RECYCLE_BYTES or not is_read:
            return False
        os.ftruncate(self.spill, 0)
        self.base = self.spilled
        return True

    def _keep(self, data: bytes) -> None:
        try:
            kept = os.write(self.spill, data) if self.spill >= 0 else 0
        except OSError:
            kept = 0
        self.spilled += kept
        if kept < len(data):
            self.lost += len(data) - kept
            self._held = b"" if self.is_broken else data[kept:]
        if not self._runs and not self.is_broken:
            try:
                _thread.start_new_thread(self._deliver, ())
                self._runs = True
            except RuntimeError:  # no more threads: the command waits for its reader, as it would without us
                self._hand_on()
        self._stir()

    def _stir(self) -> None:
        if self._wake.locked():
            self._wake.release()

    def _deliver(self) -> None:
        """Hand on until the end; runs in a thread of its own, which may wait for the reader as long as it takes."""
        try:
            while self._hand_on():
                self._wake.acquire()
        finally:
            self.is_delivered = True
            self._look()

    def _hand_on(self) -> bool:
        """Hand on what there is; return whether there may be more."""
        try:
            while True:
                has_ended = self._has_ended  # asked first: what comes before the end is seen below
                if self._sent < self.spilled:
                    piece = os.pread(self.spill, _CHUNK, self._sent - self.base)
                    write_all(self._sink, piece)
                    self._sent += len(piece)
                elif self._held:
                    write_all(self._sink, self._held)
                    self._held = b""
                    self._look()
                else:
                    if self.spilled - self.base >= _RECYCLE_BYTES:
                        self._look()  # it may be emptied now
                    return not has_ended
        except OSError as error:
            if error.errno not in (errno.EPIPE, errno.EIO):
                self.complaint = f"{self.name} takes no more: {error.strerror}"
            self.is_broken = True
            self._held = b""
            return False


def write_all(sink: int, data: bytes) -> None:
    """Write everything, however long the reader takes.

    Raises:
        OSError: there is no reader, or no room.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(sink, rest) :]
        except BlockingIOError:  # whoever gave us the descriptor made it so
            until_ready([], [sink])


def _widen(pipe: int) -> None:
    """Let the command get ahead by a mebibyte: some agents lose what does not fit into the pipe when they end."""
    import fcntl

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (OSError, ValueError, AttributeError):  # no pipe, or a system that leaves no choice
        return
