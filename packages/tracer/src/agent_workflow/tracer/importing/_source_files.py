"""Reading the new part of a file that grows: which bytes are new, and the whole lines in them."""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from agent_workflow.tracer._json import MAX_LINE_BYTES

MARK_BYTES: Final = 512
RACY_NS: Final = 2_000_000_000
"""A file that changed so shortly before it was looked at may change again without another time."""


class Line(NamedTuple):
    """A whole line, with its number from 1; ``data`` is ``None`` when it is too long to be kept in memory."""

    number: int
    data: bytes | None


class Looked(NamedTuple):
    """A file as it was found."""

    device: int
    inode: int
    size: int
    mtime_ns: int


def look(status: os.stat_result) -> Looked | None:
    """Return what tells one file from another, ``None`` for what is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    return Looked(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def open_source(path: str | Path) -> BinaryIO:
    """Open a file for reading; a pipe or a device in its place would hold us up.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    opened = os.fdopen(descriptor, "rb", buffering=1 << 20)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        opened.close()
        raise OSError(0, "no regular file")
    return opened


def mark_of(opened: BinaryIO, offset: int) -> str:
    """Digest the beginning of a file and the bytes before an offset: a replaced file has others."""
    descriptor = opened.fileno()
    head = os.pread(descriptor, min(MARK_BYTES, offset), 0)
    tail = os.pread(descriptor, min(MARK_BYTES, offset), max(0, offset - MARK_BYTES))
    return hashlib.sha256(head + b"\n" + tail).hexdigest()


def whole_lines(opened: BinaryIO, offset: int, number: int) -> Iterator[tuple[Line, int]]:
    """Yield the whole lines from an offset on, each with the offset behind it; a torn tail waits.

    Args:
        opened: the file.
        offset: in bytes, where a line begins.
        number: of the lines before.
    """
    opened.seek(offset)
    while data := opened.readline(MAX_LINE_BYTES):
        kept: bytes | None = data
        length = len(data)
        while not data.endswith(b"\n"):
            # Too long, or torn: either way it is not kept.
            data = opened.readline(MAX_LINE_BYTES)
            kept = None
            length += len(data)
            if not data:
                return
        offset += length
        number += 1
        yield Line(number, kept), offset
