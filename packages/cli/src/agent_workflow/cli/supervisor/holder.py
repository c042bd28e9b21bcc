"""One cycle at a time on a state root, and one ``supervisor run``: two locks, and a file that says who and when.

A cycle holds the state root's own directory; ``supervisor run`` holds ``supervisor.lock`` for as long as it lives. The
file names that process, and keeps what the next cycle wants to know: both clocks, and which runs had not ended.
"""

import contextlib
import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from agent_workflow.cli.supervisor.documents import Document, parse

FILE = "supervisor.lock"
CYCLE_SECONDS = 60.0
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_BYTES = 4 * 1024 * 1024


class SupervisorBusy(Exception):
    """Another supervisor is at work on the state root; the message names it."""


@contextlib.contextmanager
def only_runner(root: Path, since: str) -> Iterator[None]:
    """Be the only ``supervisor run`` of a state root.

    Args:
        root: the state root.
        since: when this one began, for others to read.

    Raises:
        SupervisorBusy: there is one.
        OSError: the file cannot be opened.
    """
    descriptor = os.open(root / FILE, _FLAGS, 0o600)
    try:
        if not _try_lock(descriptor):
            raise SupervisorBusy(f"{_holder(_read(descriptor))} supervises {root} already")
        with cycle_lock(root):
            _write(root, {**_read(descriptor), "holder": _ourselves(since)})
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def cycle_lock(root: Path, seconds: float = CYCLE_SECONDS) -> Iterator[None]:
    """Hold a state root for one cycle.

    Args:
        root: the state root.
        seconds: how long to wait for the cycle of another supervisor.

    Raises:
        SupervisorBusy: it did not end in time.
        OSError: the directory cannot be opened.
    """
    descriptor = os.open(root, _DIRECTORY)
    deadline = time.monotonic() + seconds
    try:
        while not _try_lock(descriptor):
            if time.monotonic() >= deadline:
                raise SupervisorBusy(f"{_holder(read_file(root))} has been in a cycle on {root} for {seconds:g} s")
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def keep(root: Path, **facts: object) -> None:
    """Keep facts for the next cycle, while the cycle's lock is held; a fact that is None is forgotten.

    Raises:
        OSError: they cannot be written.
    """
    _write(root, {name: value for name, value in {**read_file(root), **facts}.items() if value is not None})


def read_file(root: Path) -> Document:
    """Return what ``supervisor.lock`` says; a missing or torn one says nothing."""
    try:
        descriptor = os.open(root / FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return {}
    try:
        return _read(descriptor)
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _read(descriptor: int) -> Document:
    try:
        return parse(os.pread(descriptor, _MOST_BYTES, 0))
    except (ValueError, OSError):
        return {}


def _write(root: Path, document: Document) -> None:
    """Write in place: another file of this name would be another lock."""
    descriptor = os.open(root / FILE, _FLAGS, 0o600)
    try:
        data = json.dumps(document).encode()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, data, 0)
    finally:
        os.close(descriptor)


def _ourselves(since: str) -> Document:
    return {
        "pid": os.getpid(),
        "command": " ".join(Path(word).name for word in sys.argv[:3])[:200],
        "since": since,
    }


def _holder(document: Document) -> str:
    holder = document.get("holder")
    if not isinstance(holder, dict) or "pid" not in holder:
        return "another supervisor"
    return f"process {holder['pid']} ({holder.get('command')}, since {holder.get('since')})"
