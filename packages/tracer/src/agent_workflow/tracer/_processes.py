"""What the operating system knows about processes, read without any library.

Linux: ``/proc``. Elsewhere: one call of ``ps``. A zombie is dead; a process of somebody else is alive.
"""

import calendar
import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_PS_COLUMNS: Final = "pid=,ppid=,stat=,lstart=,command="


@dataclass(frozen=True, slots=True)
class Process:
    """One process as it is now.

    Attributes:
        pid: its id.
        parent: id of its parent.
        is_zombie: it has ended and waits for its parent to notice.
        start_marker: names the moment it started; equal markers and equal pids are the same process.
        started: POSIX time of its start in seconds, to about a second.
        command: its arguments joined by blanks.
    """

    pid: int
    parent: int
    is_zombie: bool
    start_marker: str
    started: float
    command: str


def find(pid: int) -> Process | None:
    """Return a process, or ``None`` when there is none by this id."""
    if pid <= 0:
        return None
    if _has_proc():
        return _from_proc(pid)
    return next(_from_ps(["-p", str(pid)]), None)


def every() -> list[Process]:
    """Return all processes that can be seen."""
    if not _has_proc():
        return list(_from_ps(["-ax"]))
    found = (_from_proc(int(entry)) for entry in os.listdir(_PROC) if entry.isdigit())  # noqa: PTH208 - names only
    return [process for process in found if process is not None]


@contextlib.contextmanager
def hold_process(pid: int) -> Iterator[Callable[[int], None]]:
    """Hold a process while it is looked at and signalled: its number may pass to another one in between.

    Args:
        pid: of the process.

    Yields:
        What sends a signal to it, and only it; where the system has no such hold, to whatever has its number.

    Raises:
        OSError: there is none, or it cannot be signalled.
    """
    if pid <= 0:
        raise ProcessLookupError(f"{pid} is the number of no process")
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        raise
    except (AttributeError, OSError):  # not on this system, or not allowed where it runs
        yield functools.partial(os.kill, pid)
        return
    try:
        yield functools.partial(signal.pidfd_send_signal, descriptor)
    finally:
        os.close(descriptor)


def environment_mark(pid: int, name: str) -> str | None:
    """Return a variable from the environment a process was started with, where the system shows it."""
    try:
        data = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    prefix = name.encode() + b"="
    for entry in data.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode("utf-8", "replace")
    return None


def descendants(roots: set[int], processes: list[Process]) -> list[Process]:
    """Return the living processes below some roots, the deepest first; the roots are not among them."""
    children: dict[int, list[Process]] = {}
    for process in processes:
        children.setdefault(process.parent, []).append(process)
    found: list[Process] = []
    level = [child for root in roots for child in children.get(root, [])]
    seen = set(roots)
    while level:
        fresh = [process for process in level if process.pid not in seen]
        seen.update(process.pid for process in fresh)
        found.extend(fresh)
        level = [child for process in fresh for child in children.get(process.pid, [])]
    return [process for process in reversed(found) if not process.is_zombie]


def _has_proc() -> bool:
    return sys.platform == "linux" and (_PROC / "self" / "stat").exists()


def _from_proc(pid: int) -> Process | None:
    try:
        stat = (_PROC / str(pid) / "stat").read_bytes()
        arguments = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return None
    # The name in brackets may itself hold blanks and brackets; fields are counted from the last bracket.
    name = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode("utf-8", "replace")
    fields = stat[stat.rindex(b")") + 2 :].split()
    ticks = int(fields[19])
    words = [word.decode("utf-8", "replace") for word in arguments.rstrip(b"\0").split(b"\0") if word]
    return Process(
        pid=pid,
        parent=int(fields[1]),
        is_zombie=fields[0] in (b"Z", b"X"),
        # Ticks since boot do not move when the clock is set; the boot's id tells two boots apart.
        start_marker=f"linux:{_boot_id()}:{ticks}",
        started=time.time() - _uptime() + ticks / os.sysconf("SC_CLK_TCK"),
        command=" ".join(words) if words else f"[{name}]",
    )


def _boot_id() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "unknown-boot"


def _uptime() -> float:
    return float((_PROC / "uptime").read_text().split()[0])


def _from_ps(selection: list[str]) -> Iterator[Process]:
    result = subprocess.run(  # noqa: S603 - a fixed program with numbers
        ["/bin/ps", "-ww", *selection, "-o", _PS_COLUMNS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=30,
        env={"LC_ALL": "C", "PATH": "/bin:/usr/bin", "TZ": "UTC0"},  # a start stays the same in another zone
    )
    for line in result.stdout.decode("utf-8", "replace").split("\n"):
        words = line.split(None, 8)
        if len(words) < 9:
            continue
        started = " ".join(words[3:8])
        yield Process(
            pid=int(words[0]),
            parent=int(words[1]),
            is_zombie=words[2].startswith("Z"),
            start_marker=f"ps:{started}",
            started=calendar.timegm(time.strptime(started)),
            command=words[8].rstrip(),
        )
