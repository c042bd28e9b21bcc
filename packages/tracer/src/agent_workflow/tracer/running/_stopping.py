"""Ending the command when this process is told to stop: asked first, killed after a grace, with all it has started."""

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

_INSIST_SECONDS = 2.0


class Stopping:
    """What has been asked for and how far it has got.

    Attributes:
        pid: of the command.
        reason: number of the first signal, 0 while nobody has asked.
        is_under_way: something of the command may still run.
    """

    def __init__(self, pid: int, grace_seconds: float, mark: str) -> None:
        self.pid = pid
        self.reason = 0
        self.is_under_way = False
        self._grace_seconds = grace_seconds
        self._mark = mark
        self._insist_at = 0.0
        self._kill_at = 0.0
        self._has_insisted = False

    def ask(self, number: int, *, has_ended: bool) -> None:
        """Ask the command to end; asked for a second time, it is killed.

        Args:
            number: the signal that was received; the command's group gets the same.
            has_ended: the command has ended already.
        """
        now = time.monotonic()
        if self.reason:
            self._kill_at = now
            return
        self.reason = number
        self.is_under_way = True
        self._kill_at = now + self._grace_seconds
        self._insist_at = now if number == signal.SIGTERM else now + min(_INSIST_SECONDS, self._grace_seconds / 2)
        if not has_ended:
            _signal_group(self.pid, number)

    def go_on(self, *, has_ended: bool) -> None:
        """Do what is due.

        Args:
            has_ended: the command itself has ended, and was waited for.
        """
        now = time.monotonic()
        if now >= self._kill_at:
            from agent_workflow.tracer._keeper import kill_all

            if not has_ended:
                _signal_group(self.pid, signal.SIGKILL)
            kill_all(set() if has_ended else {self.pid}, self._environment_entry())
            self.is_under_way = False
        elif not self._has_insisted and now >= self._insist_at:
            self._has_insisted = True
            self._insist(has_ended=has_ended)
        elif has_ended and not self._is_anything_left():
            self.is_under_way = False

    def _insist(self, *, has_ended: bool) -> None:
        """Send SIGTERM to whatever below the command has not got it with its group."""
        from agent_workflow.tracer._ending import end_processes, tree_below

        if not has_ended and self.reason != signal.SIGTERM:
            _signal_group(self.pid, signal.SIGTERM)
        strays = tree_below(set() if has_ended else {self.pid}, self._mark or None)
        others = [process for process in strays if process.pid != os.getpid() and _group_of(process.pid) != self.pid]
        end_processes(others, grace_seconds=0, force=False)

    def _is_anything_left(self) -> bool:
        from agent_workflow.tracer._keeper import has_mark, table

        return bool(self._mark) and any(has_mark(pid, self._environment_entry()) for pid in table())

    def _environment_entry(self) -> bytes:
        return f"AGENT_WORKFLOW_TRACE={self._mark or os.urandom(8).hex()}".encode()


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        return  # it has ended


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except OSError:
        return 0
