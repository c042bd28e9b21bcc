"""SQLite opens a file as it finds it, and to open a FIFO is to wait for a writer: who waits there is let out.

A FIFO in place of a file is refused before SQLite opens it; one that is put there in between cannot be. It takes a
writer that comes and goes: SQLite then finds that what it opened is no file.
"""

import os
import stat
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

LOOK_EVERY_SECONDS: Final = 0.5


@contextmanager
def let_out_of_fifos(paths: Sequence[Path]) -> Iterator[None]:
    """See to it, from a thread, that nobody waits at these paths for as long as the block lasts."""
    done = threading.Event()

    def look() -> None:
        while not done.wait(LOOK_EVERY_SECONDS):
            for path in paths:
                _let_out(path)

    watcher = threading.Thread(target=look, name="fifo release", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _let_out(path: Path) -> None:
    try:
        if stat.S_ISFIFO(path.lstat().st_mode):
            _come_and_go(path)
    except OSError:
        return  # gone again, or nobody waits there


def _come_and_go(path: Path) -> None:
    """Open a FIFO to write and close it, without waiting: where nobody reads, that fails. Nothing is written."""
    if not hasattr(os, "O_PATH"):
        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC))
        return
    # Held by a descriptor that is for looking only: had the database come back to this path meanwhile, to open and
    # close it here would drop the locks that SQLite has on it.
    held = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if stat.S_ISFIFO(os.fstat(held).st_mode):
            os.close(os.open(f"/proc/self/fd/{held}", os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    finally:
        os.close(held)
