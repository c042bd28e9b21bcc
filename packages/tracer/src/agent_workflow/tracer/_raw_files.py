"""The files of a session, read in bounded pieces through directory descriptors; no link is followed."""

import os
import re
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from agent_workflow.tracer._errors import TracerError

MAX_RANGE: Final = 1_048_576
_MAX_FILES: Final = 2_000
_MAX_DEPTH: Final = 6
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_.-]{1,255}\Z")
_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class UnsafeName(TracerError):
    """A path below a session holds a segment that none of ours has: refused before the disk is touched."""


class NoSuchFile(TracerError):
    """The session keeps no regular file of this name; a link counts as none."""


class SessionFile(NamedTuple):
    """A regular file of a session; ``path`` is relative to it."""

    path: str
    size: int
    modified_at: str


class FileRange(NamedTuple):
    """A piece of a file: bytes, where they start, and how long the file was then."""

    data: bytes
    offset: int
    size: int
    modified_at: str


def segments(path: str) -> tuple[str, ...]:
    """Split a relative path and check every part of it.

    Raises:
        UnsafeName: a part is empty, ``.``, ``..``, or holds other characters than letters, digits, ``.``, ``_``, ``-``.
    """
    parts = tuple(path.split("/"))
    for part in parts:
        if part in (".", "..") or not _SEGMENT.match(part):
            raise UnsafeName("a path may hold letters, digits, '.', '_', '-' and '/' only")
    if len(parts) > _MAX_DEPTH + 2:
        raise UnsafeName("the path is too deep")
    return parts


def read_range(session: Path, parts: Sequence[str], offset: int, length: int) -> FileRange:
    """Read a piece of a file.

    Args:
        session: the directory.
        parts: the checked path below it.
        offset: first byte; negative counts from the end.
        length: at most so many bytes, 1 MiB at most.

    Raises:
        NoSuchFile: there is no such regular file, or it cannot be opened.
    """
    descriptor = _open(session, parts)
    try:
        status = os.fstat(descriptor)
        start = max(0, status.st_size + offset) if offset < 0 else min(offset, status.st_size)
        data = os.pread(descriptor, max(0, min(length, MAX_RANGE)), start)
        return FileRange(data, start, status.st_size, _moment(status.st_mtime))
    finally:
        os.close(descriptor)


def read_text(session: Path, parts: Sequence[str], limit: int) -> str | None:
    """Read the beginning of a text file, ``None`` when there is none.

    Args:
        session: the directory.
        parts: the checked path below it.
        limit: bytes.
    """
    try:
        descriptor = _open(session, parts)
    except NoSuchFile:
        return None
    try:
        return os.pread(descriptor, limit, 0).decode("utf-8", "replace")
    finally:
        os.close(descriptor)


def list_files(session: Path, below: Sequence[str] = ()) -> list[SessionFile]:
    """List the regular files of a session whose names can be asked for, at most 2,000, by path."""
    found: list[SessionFile] = []
    try:
        descriptor = _open(session, below, directory=True)
    except NoSuchFile:
        return found
    try:
        _walk(descriptor, "/".join(below), found, 0)
    finally:
        os.close(descriptor)
    return sorted(found)


def _walk(descriptor: int, prefix: str, found: list[SessionFile], depth: int) -> None:
    with os.scandir(descriptor) as entries:
        names = sorted(entry.name for entry in entries if _SEGMENT.match(entry.name))
    for name in names:
        if len(found) >= _MAX_FILES:
            return
        try:
            status = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
            path = f"{prefix}/{name}" if prefix else name
            if stat.S_ISREG(status.st_mode):
                found.append(SessionFile(path, status.st_size, _moment(status.st_mtime)))
            elif stat.S_ISDIR(status.st_mode) and depth < _MAX_DEPTH:
                inner = os.open(name, _FLAGS | os.O_DIRECTORY, dir_fd=descriptor)
                try:
                    _walk(inner, path, found, depth + 1)
                finally:
                    os.close(inner)
        except OSError:
            continue  # gone or closed to us while it was listed


def _open(session: Path, parts: Sequence[str], *, directory: bool = False) -> int:
    """Open step by step: a link in any component below the session is refused."""
    try:
        descriptor = os.open(session, _FLAGS | os.O_DIRECTORY)
    except OSError as error:
        raise NoSuchFile("the session has no files here") from error
    try:
        for number, part in enumerate(parts):
            is_last = number == len(parts) - 1
            kind = 0 if is_last and not directory else os.O_DIRECTORY
            try:
                inner = os.open(part, _FLAGS | kind, dir_fd=descriptor)
            except OSError as error:
                raise NoSuchFile(f"no file {'/'.join(parts)}") from error
            os.close(descriptor)
            descriptor = inner
        if not directory and not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NoSuchFile(f"no file {'/'.join(parts)}")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
