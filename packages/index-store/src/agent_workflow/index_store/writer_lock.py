"""The lock of the one writer: ``index/index.lock``, held with ``flock`` and naming its holder."""

import fcntl
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from agent_workflow.index_store.errors import UnsafePath, WriterBusy
from agent_workflow.index_store.state_root import check_owner, not_writable, quoted

LOCK_NAME = "index.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_POLL_SECONDS = 0.05


@contextmanager
def writer_lock(
    index_directory: int, shown_as: Path, timeout_seconds: float, on_wait: Callable[[str], None]
) -> Iterator[None]:
    """Hold the writer's lock.

    Args:
        index_directory: descriptor of ``index/``.
        shown_as: path of ``index/`` for messages.
        timeout_seconds: how long to wait for another writer.
        on_wait: told once, when the wait begins, who holds the lock.

    Raises:
        UnsafePath: a link or a special file stands in place of the lock.
        NotWritable: it cannot be made, or its file system has no locks.
        WriterBusy: another process still holds it after the wait; the message names it.
    """
    path = shown_as / LOCK_NAME
    deadline = time.monotonic() + timeout_seconds
    descriptor = open_lock(index_directory, path)
    try:
        told = False
        while not try_lock(descriptor, path):
            if not told:
                on_wait(_holder(descriptor))
                told = True
            if time.monotonic() >= deadline:
                raise WriterBusy(
                    f"the index is being written by {_holder(descriptor)}",
                    path=str(path),
                    hint="wait for it to end, or stop it, then call again",
                )
            time.sleep(_POLL_SECONDS)
        _name_holder(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def open_lock(index_directory: int, path: Path) -> int:
    """Open a lock file of ours in ``index/``, and make it, 0600 whatever the umask, where it is missing.

    Returns:
        A descriptor that the caller closes, which lets the lock go.

    Raises:
        UnsafePath: a link, a special file or somebody else's file stands in its place.
        NotWritable: it cannot be made.
    """
    try:
        descriptor = os.open(path.name, _FLAGS, 0o600, dir_fd=index_directory)
    except OSError as error:
        found = _kind_in_the_way(index_directory, path.name)
        if found is not None:
            raise UnsafePath(f"{path} is {found}", path=str(path), hint=f"rm -r {quoted(path)}") from error
        raise not_writable(path, error) from error
    status = os.fstat(descriptor)
    try:
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePath(f"{path} is no regular file", path=str(path), hint=f"rm {quoted(path)}")
        check_owner(status, path)
        os.fchmod(descriptor, 0o600)
    except UnsafePath:
        os.close(descriptor)
        raise
    return descriptor


def _kind_in_the_way(index_directory: int, name: str) -> str | None:
    try:
        mode = os.stat(name, dir_fd=index_directory, follow_symlinks=False).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return "a link"
    return None if stat.S_ISREG(mode) else "no regular file"


def try_lock(descriptor: int, path: Path) -> bool:
    """Take the lock of a file or directory for this process alone, without waiting; tell whether it was free.

    Raises:
        NotWritable: its file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:  # a file system without locks: nobody can say that no other writer is at work
        raise not_writable(path, error) from error
    return True


def _name_holder(descriptor: int, path: Path) -> None:
    holder = {"pid": os.getpid(), "command": " ".join(sys.argv)[:200], "since": datetime.now(UTC).isoformat()}
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps(holder).encode(), 0)
    except OSError as error:
        raise not_writable(path, error) from error


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']} ({holder['command']}) since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process that has not written its name yet"
