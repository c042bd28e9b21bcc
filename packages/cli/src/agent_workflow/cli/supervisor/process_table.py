"""Every process of the host, looked at once a cycle; a zombie is dead, what we may not see is alive."""

import calendar
import contextlib
import os
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import psutil

from agent_workflow.cli.supervisor.clock import boot_id, seconds_since_boot, ticks_per_second

Identity = Literal["same", "gone", "zombie", "other", "unknown"]
"""What became of a recorded process: it runs; there is none of its pid; it has ended and nobody has collected it;
another program has its pid; no pid was recorded, or the pid is one of another namespace."""

_PROC = Path("/proc")
_START_SLACK_SECONDS = 5.0
_PS_SLACK_SECONDS = 1.5
_DEAD_STATES = ("Z", "X")


@dataclass(frozen=True, slots=True)
class Seen:
    """A process as it was in this cycle's pass.

    Attributes:
        pid, parent, group: ids; the group is None where it is not known.
        state: the system's letter, ``Z`` for a zombie; None where we may not see it.
        start_ticks: clock ticks from boot to its start, which no change of the wall's clock moves; Linux only.
        started: POSIX time of its start as the system keeps it, where there are no ticks.
        age_seconds: how long it has lived; None where that is not known.
        cpu_user, cpu_system: seconds of its own; reaped: seconds of children that have ended.
        rss_bytes, threads: as now.
    """

    pid: int
    parent: int | None = None
    group: int | None = None
    state: str | None = None
    start_ticks: int | None = None
    age_seconds: float | None = None
    cpu_user: float | None = None
    cpu_system: float | None = None
    reaped: float = 0.0
    started: float | None = None
    rss_bytes: int | None = None
    threads: int | None = None

    @property
    def is_dead(self) -> bool:
        """Whether it has ended and only waits to be collected."""
        return self.state in _DEAD_STATES

    def is_same_as(self, other: "Seen") -> bool:
        """Tell whether two looks saw one process: the same pid and the same start, which must be known."""
        start = self.start_ticks, self.started
        return self.pid == other.pid and start == (other.start_ticks, other.started) and start != (None, None)

    @property
    def cpu(self) -> float:
        """Seconds of processor that it and its ended children have used."""
        return (self.cpu_user or 0.0) + (self.cpu_system or 0.0) + self.reaped


@dataclass(frozen=True, slots=True)
class Expected:
    """A process as a run's evidence names it.

    Attributes:
        pid: None where none was recorded.
        start_marker: names its start, as the tracer writes it.
        start_ticks: its start as an earlier sample has it.
        seconds_since_known: how long ago it was alive for certain, for example by a heartbeat; it started before.
    """

    pid: int | None = None
    start_marker: str | None = None
    start_ticks: int | None = None
    seconds_since_known: float | None = None

    @property
    def is_dated(self) -> bool:
        """Whether the evidence says enough to tell a later process of the same pid from it."""
        return self.pid is None or bool(self.start_marker) or self.seconds_since_known is not None


class ProcessTable:
    """One pass over all processes."""

    def __init__(self, processes: Iterable[Seen]) -> None:
        self._by_pid = {process.pid: process for process in processes}
        self._children: dict[int, list[Seen]] = {}
        for process in self._by_pid.values():
            if process.parent is not None:
                self._children.setdefault(process.parent, []).append(process)
        self._boot = boot_id()

    @classmethod
    def scan(cls) -> "ProcessTable":
        """Look at every process once."""
        return cls(_every())

    def find(self, pid: int) -> Seen | None:
        """Return a process; one that the pass did not see is asked for by its pid, because it may be hidden from us."""
        if pid <= 0:
            return None
        return self._by_pid.get(pid) or _ask(pid)

    def seen_before(self, process: Seen) -> Seen | None:
        """Return the same process as this pass saw it, None where it saw none of that start."""
        was = self._by_pid.get(process.pid)
        return was if was is not None and was.is_same_as(process) else None

    def children(self, pid: int) -> list[Seen]:
        """Return the living children of a process."""
        return [child for child in self._children.get(pid, ()) if not child.is_dead]

    def below(self, pid: int) -> list[Seen]:
        """Return the living processes below a process, the deepest first."""
        found: list[Seen] = []
        level, known = [pid], {pid}
        while level:
            fresh = [child for parent in level for child in self._children.get(parent, ()) if child.pid not in known]
            known.update(child.pid for child in fresh)
            found.extend(fresh)
            level = [child.pid for child in fresh]
        return [process for process in reversed(found) if not process.is_dead]

    def identify(self, expected: Expected, *, anew: bool = False) -> Identity:
        """Say what became of a recorded process.

        Args:
            expected: as recorded.
            anew: look at it now, not at what this pass saw.
        """
        if expected.pid is None or expected.pid <= 0:
            return "unknown"
        seen = look(expected.pid) if anew else self.find(expected.pid)
        if seen is None or not self._may_be(expected, seen):
            if self._is_elsewhere(expected):
                return "unknown"
            return "gone" if seen is None else "other"
        return "zombie" if seen.is_dead else "same"

    def _is_elsewhere(self, expected: Expected) -> bool:
        """Tell whether a process below ours has this pid in a pid namespace of its own, as in a container.

        Its start counts from the same boot there, so that it is known by it. Of a namespace above or beside ours
        nothing can be seen.
        """
        began = (expected.start_marker or "").removeprefix(f"linux:{self._boot}:")
        return any(
            str(process.start_ticks) == began
            and not process.is_dead
            and process.pid != expected.pid
            and expected.pid in _pids_inside(process.pid)
            for process in self._by_pid.values()
        )

    def _may_be(self, expected: Expected, seen: Seen) -> bool:
        marker = expected.start_marker or ""
        if seen.start_ticks is not None:
            if marker.startswith("linux:"):
                return marker == f"linux:{self._boot}:{seen.start_ticks}"
            if expected.start_ticks is not None:
                return expected.start_ticks == seen.start_ticks
        elif seen.started is not None and marker.startswith("ps:"):
            return _is_start(marker, seen.started)
        if seen.age_seconds is None or expected.seconds_since_known is None:
            return True
        # A process that began after its pid was recorded is another one.
        return seen.age_seconds >= expected.seconds_since_known - _START_SLACK_SECONDS


def _pids_inside(pid: int) -> list[int]:
    """Return the pids that a process has in the namespaces below ours, none for one of ours."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:  # noqa: PTH123 - as the other files of it
            listed = next((line for line in file if line.startswith(b"NSpid:")), b"")
    except OSError:
        return []
    return [int(word) for word in listed.split()[2:]]


def _is_start(marker: str, started: float) -> bool:
    """Tell whether a start, as ``ps`` writes it in UTC, is that of a process."""
    try:
        return abs(calendar.timegm(time.strptime(marker.removeprefix("ps:"))) - started) < _PS_SLACK_SECONDS
    except (ValueError, OverflowError):
        return False


def look(pid: int) -> Seen | None:
    """Look at one process now, outside of the pass; None where there is none."""
    if pid <= 0:
        return None
    if not _has_proc():
        return next(_portable([pid]), None)
    return _from_proc(str(pid), seconds_since_boot()) or _ask(pid)


def _every() -> Iterator[Seen]:
    if not _has_proc():
        yield from _portable(psutil.pids())
        return
    now = seconds_since_boot()
    for name in os.listdir(_PROC):  # noqa: PTH208 - names only
        if name.isdigit() and (seen := _from_proc(name, now)) is not None:
            yield seen


def _ask(pid: int) -> Seen | None:
    """Ask the kernel for a process that cannot be seen."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except OSError:
        return Seen(pid)  # somebody else's: alive, and nothing of it is known
    return _from_proc(str(pid), seconds_since_boot()) if _has_proc() else Seen(pid)


def _has_proc() -> bool:
    return sys.platform == "linux" and (_PROC / "self" / "stat").exists()


_TICKS = ticks_per_second()
_PAGE = os.sysconf("SC_PAGE_SIZE")


def _from_proc(name: str, now: float | None) -> Seen | None:
    try:
        with open(f"/proc/{name}/stat", "rb", buffering=0) as file:  # noqa: PTH123 - thousands of times a cycle
            data = file.read(2048)
    except OSError:
        return None
    # The name in brackets may itself hold blanks and brackets; fields are counted from the last bracket.
    fields = data[data.rfind(b")") + 2 :].split()
    ticks = int(fields[19])
    return Seen(
        pid=int(name),
        parent=int(fields[1]),
        group=int(fields[2]),
        state=fields[0].decode("ascii", "replace"),
        start_ticks=ticks,
        age_seconds=None if now is None else max(0.0, now - ticks / _TICKS),
        cpu_user=int(fields[11]) / _TICKS,
        cpu_system=int(fields[12]) / _TICKS,
        reaped=(int(fields[13]) + int(fields[14])) / _TICKS,
        rss_bytes=int(fields[21]) * _PAGE,
        threads=int(fields[17]),
    )


def _portable(pids: Iterable[int]) -> Iterator[Seen]:
    """Look at processes through psutil alone, where there is no ``/proc``."""
    for pid in pids:
        try:
            process = psutil.Process(pid)
            with process.oneshot():
                parent, status = process.ppid(), process.status()
                started = process.create_time()
        except psutil.ZombieProcess:  # a NoSuchProcess too, but there it is
            yield Seen(pid, state="Z")
            continue
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            yield Seen(pid)
            continue
        letter = "Z" if status == psutil.STATUS_ZOMBIE else status[:1].upper()
        age = max(0.0, time.time() - started)
        group = None
        with contextlib.suppress(OSError):
            group = os.getpgid(pid)
        yield _with_usage(Seen(pid, parent, group, letter, age_seconds=age, started=started), process)


def _with_usage(seen: Seen, process: psutil.Process) -> Seen:
    try:
        with process.oneshot():
            times, memory = process.cpu_times(), process.memory_info()
            return replace(
                seen,
                cpu_user=times.user,
                cpu_system=times.system,
                rss_bytes=memory.rss,
                threads=process.num_threads(),
            )
    except psutil.Error:
        return seen
