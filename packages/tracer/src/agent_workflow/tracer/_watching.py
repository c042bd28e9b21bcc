"""The workflow's side of the keeper: which agents would have to be ended if this process were killed."""

import itertools
import os
import subprocess
import sys
import threading
from pathlib import Path

from agent_workflow.tracer._identity import RecordedProcess
from agent_workflow.tracer._processes import find

_NO_PID = 2**40  # no system has pids from here on
_PROGRAM = Path(__file__).with_name("_keeper.py")


class Watch:
    """Starts one keeper, with the first agent, and tells it about each."""

    def __init__(self, adw_id: str) -> None:
        self._adw_id = adw_id
        self._keeper: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self.mark = mark_of(adw_id, os.getpid())

    def next_mark(self) -> str:
        """Name what one agent, and no other of this run, leaves in the environment of all below it."""
        return f"{self.mark}/{next(self._numbers)}"

    def begin(self) -> int:
        """Start the keeper if it does not run yet, and tell it that an agent is about to start.

        Returns:
            A number that stands for the agent until its pid is known.

        Raises:
            OSError: it cannot be started; agents then run without one.
        """
        with self._lock:  # agents may start side by side; a second keeper would take the first one's end for ours
            if self._keeper is None or self._keeper.poll() is not None:
                self._keeper = subprocess.Popen(  # noqa: S603 - our own program
                    [sys.executable, "-I", "-S", str(_PROGRAM), self.mark],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                    bufsize=0,
                    cwd="/",
                )
        announced = _NO_PID + next(self._numbers)
        self._tell(f"+{announced}\n")
        return announced

    def add(self, pid: int, announced: int) -> None:
        """An agent that was announced runs."""
        self._tell(f"+{pid}\n-{announced}\n")

    def remove(self, pid: int) -> None:
        """An agent has ended and was waited for."""
        self._tell(f"-{pid}\n")

    def end(self) -> None:
        """Let the keeper go; ending twice is fine."""
        keeper, self._keeper = self._keeper, None
        if keeper is None or keeper.stdin is None:
            return
        keeper.stdin.close()
        keeper.wait()

    def _tell(self, line: str) -> None:
        if self._keeper is None or self._keeper.stdin is None:
            return
        try:
            self._keeper.stdin.write(line.encode())
        except OSError:
            self._keeper.stdin.close()
            self._keeper = None  # the next agent starts a new one


def mark_of(adw_id: str, workflow_pid: int) -> str:
    """Name what the agents of one workflow process carry in their environment."""
    process = find(workflow_pid)
    return f"{adw_id}:{workflow_pid}:{process.start_marker if process else 'unknown'}"


def mark_from(recorded: RecordedProcess) -> str:
    """Return the mark of a workflow process that is in the trace; it may have gone."""
    return f"{recorded.adw_id}:{recorded.pid}:{recorded.start_marker or 'unknown'}"
