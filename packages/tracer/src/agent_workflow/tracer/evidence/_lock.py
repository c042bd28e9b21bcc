"""One writer at a time in a run directory: the tracer, whoever finds the run dead, and the supervisor."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent_workflow.tracer.evidence._errors import EvidenceError, RunIsBusy

LOCK_SECONDS: Final = 5.0
_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def run_lock(directory: Path, *, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Hold a run directory, across processes; not a second time within it.

    The lock is on the directory itself: a lock file would be one more file to seal, and would be missing from an
    archive's copy.

    Args:
        directory: of the run.
        seconds: how long to wait for somebody else.

    Raises:
        FileNotFoundError: there is no such run.
        RunIsBusy: somebody else kept it.
        EvidenceError: it is a link or no directory, or cannot be locked.
    """
    try:
        descriptor = os.open(directory, _FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise EvidenceError(f"{directory} cannot be opened: {error.strerror}", path=directory) from error
    try:
        _wait(descriptor, directory, seconds)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, directory: Path, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise RunIsBusy(f"{directory} was locked for {seconds:g} s", path=directory) from None
            time.sleep(0.01)
        except OSError as error:
            raise EvidenceError(f"{directory} cannot be locked: {error.strerror}", path=directory) from error
        else:
            return
