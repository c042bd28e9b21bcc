"""The lock of an export: one at a time for each state root, while syncs go on beside it."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from agent_workflow.index_store.errors import UnsafePath, WriterBusy
from agent_workflow.index_store.export.snapshot import IndexSnapshot
from agent_workflow.index_store.state_root import not_writable

LOCK_NAME = "export.lock"


@contextmanager
def export_lock(snapshot: IndexSnapshot) -> Iterator[None]:
    """Hold the lock, without waiting for it.

    Raises:
        WriterBusy: another one is running.
        UnsafePath: something else stands in place of the lock.
    """
    path = snapshot.location.path / LOCK_NAME
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(LOCK_NAME, flags, 0o600, dir_fd=snapshot.location.directory)
    except IsADirectoryError as error:
        raise UnsafePath(f"{path} is a directory", path=str(path), hint=f"rmdir {path}") from error
    except OSError as error:
        raise not_writable(path, error) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise WriterBusy(
            "another export of this state root is running", path=str(path), hint="wait for it to end, then call again"
        ) from None
    finally:
        os.close(descriptor)
