"""Reading one source: no link followed, regular files only, bounded, and noticed when it changes underneath.

A journal is append-only, so the bytes that were there when it was opened are a whole answer even while it grows. A
document is replaced by rename or rewritten in place; the latter is read again until two looks agree.
"""

import errno
import fcntl
import hashlib
import os
import stat
import time
from typing import NamedTuple

from agent_workflow.index_store.errors import LockedSource, UnreadableSource, UnsafeSource, UnsettledSource
from agent_workflow.index_store.scanning import FileKind

MAXIMUM_SOURCE_BYTES = 64 * 1024 * 1024
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK  # a FIFO must not block the open
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ATTEMPTS = 5
_LOCK_WAIT_SECONDS = 2.0
_CHUNK_BYTES = 1024 * 1024


class Content(NamedTuple):
    """The bytes of a source with the file they came from."""

    data: bytes
    status: os.stat_result
    """``fstat`` from before the bytes were read."""
    moved: bool
    """The file changed after it was opened: the next sync must look again."""


class Digest(NamedTuple):
    """Size and SHA-256 of a file, in bytes and lower-case hex."""

    size: int
    sha256: str
    mode: int


def read_source(run_directory: int, path: str, kind: FileKind) -> Content:
    """Read a source of a run.

    Args:
        run_directory: descriptor of the run directory.
        path: path below it; every component is opened without following a link.
        kind: ``jsonl`` takes a shared lock and may grow meanwhile.

    Raises:
        FileNotFoundError: it vanished.
        UnsafeSource: a component is a link or no directory, or the file is not regular.
        UnreadableSource: too large, or the operating system refused.
        UnsettledSource: it kept changing, or its writer kept the lock.
    """
    for attempt in range(_ATTEMPTS):
        descriptor = open_file(run_directory, path)
        try:
            if kind == "jsonl":
                _lock_shared(descriptor, path)
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                raise UnsafeSource("not a regular file", path)
            if before.st_size > MAXIMUM_SOURCE_BYTES:
                raise UnreadableSource(
                    f"{before.st_size} bytes are more than the {MAXIMUM_SOURCE_BYTES} that a source may have", path
                )
            data = _read(descriptor, path, before.st_size)
            after = os.fstat(descriptor)
        finally:
            os.close(descriptor)
        if len(data) == before.st_size and identity(before) == identity(after):
            return Content(data, before, moved=False)
        if kind == "jsonl" and after.st_size >= before.st_size == len(data):
            return Content(data, before, moved=True)
        time.sleep(0.005 * (attempt + 1))
    raise UnsettledSource("it kept changing while it was read; the next sync tries again", path)


def identity(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells one state of a file from another: size, times, device, inode and mode."""
    return (
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
        status.st_dev,
        status.st_ino,
        status.st_mode,
    )


def digest_file(run_directory: int, path: str) -> Digest:
    """Hash a file of any size in constant memory.

    Raises:
        FileNotFoundError: it is not there.
        UnsafeSource: a component is a link or no directory, or the file is not regular.
        UnreadableSource: the operating system refused.
        UnsettledSource: it changed while it was read.
    """
    descriptor = open_file(run_directory, path)
    try:
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            raise UnsafeSource("not a regular file", path)
        digest = hashlib.sha256()
        size = 0
        while chunk := _read(descriptor, path, _CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if identity(before) != identity(after) or size != before.st_size:
        raise UnsettledSource("it changed while it was hashed; the next sync tries again", path)
    return Digest(size, digest.hexdigest(), before.st_mode)


def open_file(run_directory: int, path: str) -> int:
    """Open a file below a run directory, component by component, following no link.

    Returns:
        A descriptor that the caller closes. It does not block, even on a FIFO; whether it is a regular file is left
        to the caller, who looks at it anyway.

    Raises:
        FileNotFoundError: it is not there.
        UnsafeSource: a component is a link or no directory, or the file is a socket.
        UnreadableSource: the operating system refused.
    """
    *directories, name = path.split("/")
    opened: list[int] = []
    parent = run_directory
    try:
        for component in directories:
            parent = os.open(component, _DIRECTORY_FLAGS, dir_fd=parent)
            opened.append(parent)
        return os.open(name, _FILE_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.ENXIO):
            # ENXIO is what opening a socket says.
            raise UnsafeSource("a link or a special file, which is never followed", path) from error
        raise UnreadableSource(f"it cannot be read: {error.strerror}", path) from error
    finally:
        for descriptor in reversed(opened):
            os.close(descriptor)


def _read(descriptor: int, path: str, size: int) -> bytes:
    try:
        data = os.read(descriptor, size)
        if len(data) == size or not data:
            return data
        parts = [data]
        missing = size - len(data)
        while missing and (part := os.read(descriptor, missing)):
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)
    except OSError as error:
        raise UnreadableSource(f"it cannot be read: {error.strerror}", path) from error


def _lock_shared(descriptor: int, path: str) -> None:
    """Wait for a writer that holds the journal's lock; a file system without locks is read without."""
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        except BlockingIOError as error:
            if time.monotonic() >= deadline:
                raise LockedSource("its writer keeps it locked; the next sync tries again", path) from error
            time.sleep(0.01)
        except OSError as error:
            if error.errno in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
                return
            raise
