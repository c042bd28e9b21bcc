"""Ending processes: ask, wait, insist. The pid is checked again before every signal."""

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from agent_workflow.tracer._processes import Process, descendants, environment_mark, every, find, hold_process

MARK = "AGENT_WORKFLOW_TRACE"
"""Environment variable that every process below an agent inherits: the run's mark, a slash and a number."""

Outcome = Literal["ended", "killed", "signalled", "alive", "not permitted", "gone", "recycled", "zombie", "invalid"]


class Ended(NamedTuple):
    """What became of one process."""

    pid: int
    command: str
    outcome: Outcome


def tree_below(roots: set[int], mark: str | None) -> list[Process]:
    """Return what runs below some processes, the deepest first.

    Args:
        roots: pids whose children are wanted; they are not among the result.
        mark: also everything that was started with this mark, even if its parent has gone.
    """
    processes = every()
    below = descendants(roots, processes)
    if mark is None:
        return below
    known = roots | {process.pid for process in below} | {os.getpid()}
    strays = [
        process
        for process in processes
        if process.pid not in known and not process.is_zombie and _carries(process.pid, mark)
    ]
    return [*strays, *below]


def _carries(pid: int, mark: str) -> bool:
    found = environment_mark(pid, MARK)
    return found is not None and (found == mark or found.startswith(mark + "/"))


def end_processes(processes: Iterable[Process], *, grace_seconds: float, force: bool) -> list[Ended]:
    """Send SIGTERM in order, wait, then SIGKILL to what is left when forced.

    Args:
        processes: the deepest first; each is signalled only while it is still the same process.
        grace_seconds: how long to wait after SIGTERM.
        force: send SIGKILL afterwards.
    """
    outcomes: dict[int, Outcome] = {}
    targets = list(processes)
    for process in targets:
        outcomes[process.pid] = _signal(process, signal.SIGTERM)
    waiting = [process for process in targets if outcomes[process.pid] == "signalled"]
    _wait(waiting, grace_seconds, lambda process: outcomes.__setitem__(process.pid, "ended"))
    left = [process for process in waiting if _is_running(process)]
    if force:
        for process in left:
            outcomes[process.pid] = _signal(process, signal.SIGKILL)
        _wait(left, 5.0, lambda process: outcomes.__setitem__(process.pid, "killed"))
    for process in left:
        if _is_running(process) and outcomes[process.pid] == "signalled":
            outcomes[process.pid] = "alive"
    return [Ended(process.pid, process.command, outcomes[process.pid]) for process in targets]


def _signal(process: Process, number: signal.Signals) -> Outcome:
    try:
        with hold_process(process.pid) as send:
            living = find(process.pid)
            if living is None:
                return "gone"
            if living.start_marker != process.start_marker:
                return "recycled"
            if living.is_zombie:
                return "zombie"
            send(number)
    except ProcessLookupError:
        return "gone"
    except PermissionError:
        return "not permitted"
    return "signalled"


def _wait(processes: list[Process], seconds: float, ended: Callable[[Process], None]) -> None:
    deadline = time.monotonic() + seconds
    left = list(processes)
    while left:
        for process in [process for process in left if not _is_running(process)]:
            ended(process)
            left.remove(process)
        if not left or time.monotonic() > deadline:
            return
        time.sleep(0.02)


def _is_running(process: Process) -> bool:
    living = find(process.pid)
    return living is not None and not living.is_zombie and living.start_marker == process.start_marker
