"""Ends the agents of a workflow that was killed without a chance to do so itself.

Started beside a workflow as ``python -I -S _keeper.py MARK``, with a pipe on stdin. Lines ``+PID`` and ``-PID`` tell
which agents run or are about to. When the pipe closes and agents are left, the workflow is gone: they and all below
them are killed. Uses the standard library alone, so that it starts in a few milliseconds; stands in its own session,
so that what kills the workflow's process group does not reach it.
"""

import contextlib
import os
import select
import signal
import sys
import time

Seen = tuple[int, bytes]
"""A living process: its parent, and what names the moment it started."""


def main() -> None:
    """Wait for the workflow to end."""
    mark = f"AGENT_WORKFLOW_TRACE={sys.argv[1]}".encode()
    parent = os.getppid()
    agents: dict[int, bytes] = {}
    rest = b""
    while True:
        readable, _, _ = select.select([0], [], [], 0.5)
        data = os.read(0, 65536) if readable else None
        if data:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                pid = int(line[1:])
                if line[:1] == b"+":
                    agents[pid] = started_of(pid)
                else:
                    agents.pop(pid, None)
        elif data == b"" or os.getppid() != parent:
            break
    if agents:
        kill_all({pid for pid, started in agents.items() if started and started == started_of(pid)}, mark)


def kill_all(agents: set[int], mark: bytes) -> None:
    """Kill the agents and what runs below them, until nothing with the mark is left."""
    me = os.getpid()
    seen = table()
    still = {pid: seen[pid][1] for pid in agents if pid in seen}
    quiet = 0
    for _ in range(100):
        found = {pid for pid, started in still.items() if pid in seen and seen[pid][1] == started}
        found |= {pid for pid in seen if pid != me and has_mark(pid, mark)}
        fresh = found
        while fresh:
            fresh = {pid for pid, (parent, _) in seen.items() if parent in fresh} - found
            found |= fresh
        quiet = 0 if found else quiet + 1
        if quiet == 5:  # one that was about to start may only now carry the mark
            return
        for pid in found:
            kill(pid, seen[pid][1])
        time.sleep(0.05)
        seen = table()


def kill(pid: int, started: bytes) -> None:
    """Kill a process that was seen, held while it is looked at again: its number may have passed to a stranger."""
    held = -1
    with contextlib.suppress(AttributeError, OSError):  # not on this system, or not allowed; or it has ended
        held = os.pidfd_open(pid)
    try:
        if started_of(pid) != started:
            return
        if held >= 0:
            signal.pidfd_send_signal(held, signal.SIGKILL)
        else:
            os.kill(pid, signal.SIGKILL)
    except OSError:
        return  # it has ended, or is somebody else's
    finally:
        if held >= 0:
            os.close(held)


def table() -> dict[int, Seen]:
    """Return the living processes by pid."""
    if has_proc():
        pids = map(int, filter(str.isdigit, os.listdir("/proc")))  # noqa: PTH208 - as below
        return {pid: process for pid in pids if (process := from_proc(pid))}
    return from_ps("-ax")


def started_of(pid: int) -> bytes:
    """Return what names the moment a living process started, nothing for one that has ended."""
    process = from_proc(pid) if has_proc() else from_ps("-p", str(pid)).get(pid)
    return process[1] if process else b""


def has_proc() -> bool:
    """Tell whether the system shows its processes as files."""
    return os.path.exists("/proc/self/stat")  # noqa: PTH110 - as below


def from_proc(pid: int) -> Seen | None:
    """Look at one process, ``None`` for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - as below
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return None if len(fields) < 20 or fields[0] in (b"Z", b"X") else (int(fields[1]), fields[19])


def from_ps(*selection: str) -> dict[int, Seen]:
    """Look at processes where they are no files."""
    import subprocess  # takes longer to load than all the rest

    output = subprocess.run(  # noqa: S603 - a fixed program with numbers
        ["/bin/ps", *selection, "-o", "pid=,ppid=,stat=,lstart="],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
        env={"LC_ALL": "C", "TZ": "UTC", "PATH": "/bin:/usr/bin"},
    ).stdout
    rows = [line.split(None, 3) for line in output.split(b"\n")]
    return {int(row[0]): (int(row[1]), row[3].strip()) for row in rows if len(row) == 4 and not row[2].startswith(b"Z")}


def has_mark(pid: int, mark: bytes) -> bool:
    """Tell whether a process was started below the workflow, where the system shows that."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as stream:  # noqa: PTH123 - pathlib would triple the start-up time
            entries = stream.read().split(b"\0")
            return any(entry == mark or entry.startswith(mark + b"/") for entry in entries)
    except OSError:
        return False


if __name__ == "__main__":
    main()
