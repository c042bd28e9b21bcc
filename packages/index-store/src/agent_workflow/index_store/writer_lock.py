"""The lock of the one writer: ``index/index.lock``, held with ``flock`` and naming its holder."""

import fcntl
import json
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from agent_workflow.index_store.errors import UnsafePath, WriterBusy
from agent_workflow.index_store.state_root import check_owner, not_writable

LOCK_NAME = "index.lock"
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_POLL_SECONDS = 0.05


@contextmanager
def writer_lock(index_directory: int, shown_as: Path, timeout_seconds: float) -> Iterator[None]:
    """Hold the writer's lock.

    Args:
        index_directory: descriptor of ``index/``.
        shown_as: path of ``index/`` for messages.
        timeout_seconds: how long to wait for another writer.

    Raises:
        UnsafePath: a link or a special file stands in place of the lock.
        WriterBusy: another process still holds it after the wait; the message names it.
    """
    path = shown_as / LOCK_NAME
    deadline = time.monotonic() + timeout_seconds
    descriptor = _open_lock(index_directory, path)
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise WriterBusy(
                    f"the index is being written by {_holder(descriptor)}",
                    path=str(path),
                    hint="wait for it to end, or stop it, then call again",
                )
            time.sleep(_POLL_SECONDS)
        _name_holder(descriptor)
        yield
    finally:
        os.close(descriptor)


def _open_lock(index_directory: int, path: Path) -> int:
    try:
        descriptor = os.open(LOCK_NAME, _FLAGS, 0o600, dir_fd=index_directory)
    except OSError as error:
        found = _kind_in_the_way(index_directory)
        if found is not None:
            raise UnsafePath(f"{path} is {found}", path=str(path), hint=f"rm -r {path}") from error
        raise not_writable(path, error) from error
    status = os.fstat(descriptor)
    try:
        if not stat.S_ISREG(status.st_mode):
            raise UnsafePath(f"{path} is no regular file", path=str(path), hint=f"rm {path}")
        check_owner(status, path)
        os.fchmod(descriptor, 0o600)
    except UnsafePath:
        os.close(descriptor)
        raise
    return descriptor


def _kind_in_the_way(index_directory: int) -> str | None:
    try:
        mode = os.stat(LOCK_NAME, dir_fd=index_directory, follow_symlinks=False).st_mode
    except OSError:
        return None
    if stat.S_ISLNK(mode):
        return "a link"
    return None if stat.S_ISREG(mode) else "no regular file"


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _name_holder(descriptor: int) -> None:
    holder = {"pid": os.getpid(), "command": " ".join(sys.argv)[:200], "since": datetime.now(UTC).isoformat()}
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps(holder).encode(), 0)


def _holder(descriptor: int) -> str:
    try:
        holder = json.loads(os.pread(descriptor, 4096, 0))
        return f"process {holder['pid']} ({holder['command']}) since {holder['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process that has not written its name yet"
