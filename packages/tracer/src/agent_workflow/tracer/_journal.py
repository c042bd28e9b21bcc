"""Append-only files of records, one line each: how they are written and how they are read.

A record is one ``write`` with its newline on a descriptor opened for appending. A record that did not fit is taken
back, so a file always ends in whole lines; a torn tail left by a killed writer is moved aside before the next append.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from agent_workflow.tracer._errors import TraceWriteFailed
from agent_workflow.tracer._json import decode_record


class Journal:
    """The writing end of one file; several processes may hold one for the same file."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            OSError: it cannot be opened or its torn tail cannot be moved aside.
        """
        self.path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            self._size = self._settle()
        except BaseException:
            os.close(self._fd)
            raise

    def append(self, line: bytes) -> int:
        """Write one record that ends in its newline, or several.

        Returns:
            The offset at which the first starts.

        Raises:
            TraceWriteFailed: nothing of it is in the file; the file is as it was before.
        """
        try:
            size = os.lseek(self._fd, 0, os.SEEK_END)
            if size != self._size:  # another process appended, or the file was cut
                size = self._settle()
            written = os.write(self._fd, line)
        except OSError as error:
            raise TraceWriteFailed(f"cannot write: {error.strerror}", path=self.path) from error
        if written != len(line):
            self._take_back(size, written)
            raise TraceWriteFailed("cannot write: no space left for the whole record", path=self.path)
        self._size = size + written
        return size

    def sync(self) -> None:
        """Ask the disk to keep what was written."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _settle(self) -> int:
        """Move a torn tail aside if nobody else is writing; return the size to expect."""
        size = os.fstat(self._fd).st_size
        if size == 0 or os.pread(self._fd, 1, size - 1) == b"\n":
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            return size
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # Another living writer: its record may be on its way. Close the line so that ours stands alone.
            fcntl.flock(self._fd, fcntl.LOCK_SH)
            os.write(self._fd, b"\n")
            return size + 1
        whole = end_of_last_line(self._fd, size)
        torn = os.pread(self._fd, size - whole, whole)
        if is_record(torn):
            os.write(self._fd, b"\n")
            size += 1
        else:
            self._set_aside(torn)
            os.ftruncate(self._fd, whole)
            size = whole
        fcntl.flock(self._fd, fcntl.LOCK_SH)
        return size

    def _set_aside(self, torn: bytes) -> None:
        # Evidence is never thrown away, not even half a record.
        with self.path.with_name(self.path.name + ".torn").open("ab") as aside:
            aside.write(torn + b"\n")

    def _take_back(self, size: int, written: int) -> None:
        self._size = -1  # look again before the next append
        try:
            if os.fstat(self._fd).st_size == size + written:  # else another process has a record behind it
                os.ftruncate(self._fd, size)
                self._size = size
        except OSError:
            return


class Record(NamedTuple):
    """One line of a journal.

    Attributes:
        number: line number from 1.
        value: the object, or ``None`` when the line is damaged.
        fault: why it is damaged, else empty.
        end: offset of the byte behind it.
    """

    number: int
    value: dict[str, Any] | None
    fault: str
    end: int


def records(path: Path, offset: int = 0) -> Iterator[Record]:
    """Read the whole lines of a journal in order; a missing file has none, a tail without newline waits.

    Args:
        path: the journal.
        offset: byte at which a line starts; lines are counted from there.

    Raises:
        OSError: the file exists and cannot be read.
    """
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return
    with stream:
        end = stream.seek(offset)
        for number, line in enumerate(stream, start=1):  # bytes are split on b"\n" only
            if not line.endswith(b"\n"):
                return
            end += len(line)
            try:
                yield Record(number, decode_record(line), "", end)
            except ValueError as error:
                yield Record(number, None, str(error), end)


def torn_tail(path: Path) -> int:
    """Return how many bytes at the end of a file belong to no whole line."""
    try:
        stream = path.open("rb")
    except FileNotFoundError:
        return 0
    with stream:
        size = os.fstat(stream.fileno()).st_size
        return size - end_of_last_line(stream.fileno(), size)


def end_of_last_line(fd: int, size: int) -> int:
    """Return the offset after the last newline before ``size``, 0 without one."""
    position = size
    while position > 0:
        start = max(0, position - 65_536)
        chunk = os.pread(fd, position - start, start)
        found = chunk.rfind(b"\n")
        if found >= 0:
            return start + found + 1
        position = start
    return 0


def is_record(torn: bytes) -> bool:
    """Tell whether a tail is a whole record that lacks only its newline."""
    try:
        decode_record(torn)
    except ValueError:
        return False
    return True
