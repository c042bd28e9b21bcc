"""The lock of an export: one at a time for each state root, while syncs go on beside it."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

from agent_workflow.index_store.errors import WriterBusy
from agent_workflow.index_store.export.snapshot import IndexSnapshot
from agent_workflow.index_store.writer_lock import open_lock, try_lock

LOCK_NAME = "export.lock"


@contextmanager
def export_lock(snapshot: IndexSnapshot) -> Iterator[None]:
    """Hold the lock, without waiting for it.

    Raises:
        WriterBusy: another one is running.
        UnsafePath: something else stands in place of the lock.
        NotWritable: it cannot be made, or its file system has no locks.
    """
    path = snapshot.location.path / LOCK_NAME
    descriptor = open_lock(snapshot.location.directory, path)
    try:
        if not try_lock(descriptor, path):
            raise WriterBusy(
                "another export of this state root is running",
                path=str(path),
                hint="wait for it to end, then call again",
            )
        yield
    finally:
        os.close(descriptor)
