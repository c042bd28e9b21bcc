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
import subprocess
import sys
import time


def main() -> None:
    """Wait for the workflow to end."""
    mark = f"AGENT_WORKFLOW_TRACE={sys.argv[1]}".encode()
    parent = os.getppid()
    agents: set[int] = set()
    rest = b""
    while True:
        readable, _, _ = select.select([0], [], [], 0.5)
        data = os.read(0, 65536) if readable else None
        if data:
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                change = agents.add if line[:1] == b"+" else agents.discard
                change(int(line[1:]))
        elif data == b"" or os.getppid() != parent:
            break
    if agents:
        kill_all(agents, mark)


def kill_all(agents: set[int], mark: bytes) -> None:
    """Kill the agents and what runs below them, until nothing with the mark is left."""
    me = os.getpid()
    quiet = 0
    for _ in range(100):
        parents = table()
        found = set(agents) & set(parents)
        found |= {pid for pid in parents if pid != me and has_mark(pid, mark)}
        fresh = found
        while fresh:
            fresh = {pid for pid, parent in parents.items() if parent in fresh} - found
            found |= fresh
        quiet = 0 if found else quiet + 1
        if quiet == 5:  # one that was about to start may only now carry the mark
            return
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def table() -> dict[int, int]:
    """Return the living pids with their parents."""
    if os.path.exists("/proc/self/stat"):  # noqa: PTH110 - as below
        return {pid: parent for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if (parent := parent_of(pid))}  # noqa: PTH208
    output = subprocess.run(
        ["/bin/ps", "-axo", "pid=,ppid=,stat="], capture_output=True, stdin=subprocess.DEVNULL, check=False
    ).stdout
    rows = [line.split() for line in output.split(b"\n")]
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 3 and not row[2].startswith(b"Z")}


def parent_of(pid: int) -> int:
    """Return the parent of a living process, 0 for one that has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stream:  # noqa: PTH123 - as below
            fields = stream.read().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if len(fields) < 2 or fields[0] in (b"Z", b"X") else int(fields[1])


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
