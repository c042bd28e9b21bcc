"""Reading the file that a coding agent keeps of a conversation for itself: leniently, since it is not ours."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final

from agent_workflow.tracer._json import MAX_LINE_BYTES, decode_record

_LARGEST_OBJECT: Final = 1 << 20
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")


def find_file(folder: Path, pattern: str, session_id: str) -> Path | None:
    """Find the newest file of a conversation.

    Args:
        folder: below which the agent keeps its files.
        pattern: of their paths there, with ``{id}`` where the conversation's id stands.
        session_id: one that could be a path or a pattern is refused.

    Returns:
        The file, ``None`` when there is none or the folder cannot be read.
    """
    if not _SAFE_ID.match(session_id):
        return None
    try:
        found = files_below(folder, pattern.format(id=session_id))
        return max(found, key=lambda file: file.stat().st_mtime_ns, default=None)
    except OSError:
        return None


def files_below(folder: Path, pattern: str) -> list[Path]:
    """Return the regular files whose paths below a folder match, sorted; none when it cannot be read."""
    try:
        return sorted(file for file in folder.glob(pattern) if file.is_file())
    except OSError:
        return []


def size_of(file: Path | None) -> int:
    """Return how many bytes a file has, zero when there is none."""
    try:
        return file.stat().st_size if file else 0
    except OSError:
        return 0


def read_object(file: Path) -> dict[str, Any]:
    """Read a small file that is one JSON object; one that cannot be read is an empty one."""
    if size_of(file) > _LARGEST_OBJECT or not file.is_file():
        return {}
    try:
        return _decoded(file.read_bytes()) or {}
    except OSError:
        return {}


def count_lines(file: Path, offset: int, like: re.Pattern[bytes]) -> int | None:
    """Count the lines of a text file behind an offset that begin like this; ``None`` when it cannot be read."""
    try:
        with _opened(file) as opened:
            opened.seek(offset)
            found = 0
            while line := opened.readline(MAX_LINE_BYTES):
                found += like.match(line) is not None
            return found
    except OSError:
        return None


class RecordFile:
    """A file of one JSON object per line that grows while it is read.

    Attributes:
        file: whose records are read.
        offset: up to where, in bytes; always the beginning of a line.
    """

    def __init__(self, file: Path, offset: int = 0) -> None:
        self.file = file
        self.offset = offset

    def new_records(self, containing: bytes = b"") -> Iterator[dict[str, Any]]:
        """Yield the whole records that have come since the last time.

        A file that cannot be read has none; a line that is no record is passed over; a torn tail waits.

        Args:
            containing: lines without these bytes are passed over unparsed.
        """
        try:
            with _opened(self.file) as opened:
                opened.seek(self.offset)
                while line := opened.readline(MAX_LINE_BYTES):
                    if not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
                        return
                    self.offset += len(line)
                    if containing in line and (record := _decoded(line)) is not None:
                        yield record
        except OSError:
            return


def _opened(file: Path) -> BinaryIO:
    # A pipe or a device in its place would hold us up.
    opened = os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    if stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
        return opened
    opened.close()
    raise OSError(errno.EINVAL, "no regular file", str(file))


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        return decode_record(line)
    except ValueError:
        return None
