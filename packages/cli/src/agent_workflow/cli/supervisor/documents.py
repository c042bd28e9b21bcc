"""Reading files of a run: no link followed, bounded, each record parsed by itself, damage told and not hidden."""

import errno
import json
import math
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

MOST_DOCUMENT_BYTES = 8 * 1024 * 1024
MOST_JOURNAL_BYTES = 64 * 1024 * 1024
_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK

Document = dict[str, Any]


class BadEvidence(Exception):
    """A file of a run cannot be used; the message says why and never quotes it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class FileState(NamedTuple):
    """Size in bytes and last change of a regular file."""

    size: int
    changed: float
    changed_ns: int
    inode: int


def file_state(path: str | Path) -> FileState | None:
    """Look at a regular file without following a link; None where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return FileState(status.st_size, status.st_mtime, status.st_mtime_ns, status.st_ino)


def read_bytes(path: Path, start: int = 0, limit: int = MOST_DOCUMENT_BYTES) -> bytes | None:
    """Read a piece of a regular file; None where there is no file.

    Raises:
        BadEvidence: it is a link or no regular file, or the system refuses it.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        is_link = error.errno == errno.ELOOP
        reason = "is a link, which is never followed" if is_link else f"cannot be opened: {error.strerror}"
        raise BadEvidence(path, reason) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BadEvidence(path, "is no regular file")
        parts, left = [], limit
        while left and (part := os.pread(descriptor, left, start)):
            parts.append(part)
            start += len(part)
            left -= len(part)
        return b"".join(parts)
    except OSError as error:
        raise BadEvidence(path, f"cannot be read: {error.strerror}") from error
    finally:
        os.close(descriptor)


def read_document(path: Path) -> Document | None:
    """Read a JSON object; None where there is no file.

    Raises:
        BadEvidence: it cannot be read, is too large or no JSON object.
    """
    data = read_bytes(path, limit=MOST_DOCUMENT_BYTES + 1)
    if data is None:
        return None
    if len(data) > MOST_DOCUMENT_BYTES:
        raise BadEvidence(path, f"has more than {MOST_DOCUMENT_BYTES} bytes")
    try:
        return parse(data)
    except ValueError as error:
        raise BadEvidence(path, f"is no JSON object: {error}") from error


@dataclass(slots=True)
class Journal:
    """The whole records of a journal, and what is wrong with it.

    Attributes:
        records: in order; damaged lines are left out.
        size: of the file, in bytes.
        damaged: numbers of the damaged lines, from 1.
    """

    records: list[Document] = field(default_factory=list)
    size: int = 0
    damaged: list[int] = field(default_factory=list)


def read_journal(path: Path, limit: int = MOST_JOURNAL_BYTES) -> Journal:
    """Read a journal; a missing one is empty, a last line without its newline waits.

    Raises:
        BadEvidence: it cannot be read.
    """
    journal = Journal()
    data = read_bytes(path, limit=limit)
    if not data:
        return journal
    journal.size = len(data)
    *lines, _tail = data.split(b"\n")
    for number, line in enumerate(lines, start=1):
        try:
            journal.records.append(parse(line))
        except ValueError:
            journal.damaged.append(number)
    return journal


def last_records(path: Path, count: int, line_bytes: int = 4096) -> Journal:
    """Read the last records of a journal, the oldest first.

    Args:
        path: the journal.
        count: at most so many records.
        line_bytes: how long a line may be for all of them to be found.

    Raises:
        BadEvidence: it cannot be read.
    """
    state = file_state(path)
    if state is None or state.size == 0:
        return Journal()
    start = max(0, state.size - (count + 1) * line_bytes)
    data = read_bytes(path, start, state.size - start) or b""
    *lines, _tail = data.split(b"\n")
    if start:
        lines = lines[1:]
    journal = Journal(size=state.size)
    for line in lines[-count:]:
        try:
            journal.records.append(parse(line))
        except ValueError:
            journal.damaged.append(0)
    return journal


def parse(data: bytes) -> Document:
    """Parse one JSON object.

    Raises:
        ValueError: not UTF-8, not an object, a repeated key, NaN or an infinity, nested too deeply.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_unique)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("not a JSON object")
    return value


def whole_number(value: object) -> int | None:
    """Return a whole number that is not negative, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def number(value: object) -> float | None:
    """Return a finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 2**63 else None


def text(value: object) -> str | None:
    """Return a text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def inner(document: Document | None, *names: str) -> Document:
    """Return an object inside of a document, an empty one where there is none."""
    current: object = document
    for name in names:
        current = current.get(name) if isinstance(current, dict) else None
    return current if isinstance(current, dict) else {}


def _refuse(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is out of range")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> Document:
    record = dict(pairs)
    if len(record) != len(pairs):
        raise ValueError("a key is repeated")
    return record
