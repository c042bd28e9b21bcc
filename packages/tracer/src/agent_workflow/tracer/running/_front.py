"""The process that stands between the command and whoever called it: it hands on, and does nothing else.

One loop takes what the command prints, watches for signals and for the command's end, and tells the recorder, a process
of its own. Nothing that the recorder does, or fails to do, can hold this loop up.
"""

import errno
import os
import time

from agent_workflow.tracer._linger import Linger
from agent_workflow.tracer.running._channel import Channel
from agent_workflow.tracer.running._launch import Launch
from agent_workflow.tracer.running._line import Line
from agent_workflow.tracer.running._starting import FORWARDED, STOPS, CannotStart
from agent_workflow.tracer.running._voice import Voice
from agent_workflow.tracer.running._waiting import until_ready

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal

    from agent_workflow.tracer.running._stopping import Stopping
else:
    import _signal as signal

_RECORDER_SECONDS = 20.0
_PATIENCE_SECONDS = 2.0
_NOT_FOUND, _NOT_EXECUTABLE = 127 << 8, 126 << 8


class Front:
    """Looks after one command.

    Attributes:
        status: of the command as ``wait`` gave it, ``None`` while it runs.
    """

    def __init__(self, launch: Launch) -> None:
        """Take over a command that was started, or could not be."""
        self.status: int | None = None
        self._launch = launch
        self._terminal = launch.terminal
        self._line = Line(*launch.recorder)
        self._voice = Voice(self._look)
        self._stopping: Stopping | None = None
        self._channels = [
            Channel(name, launch.spills[name], sink, self._look, source=launch.sources.get(name, -1))
            for name, sink in launch.sinks.items()
        ]
        self._announced = {channel.name: 0 for channel in self._channels}
        self._linger = Linger()
        self._said_at = 0.0
        self._done_at = 0.0
        self._leave_by = 0.0
        self._is_done = False
        self._is_recorded = False
        self._is_left_alone = False

    def run(self) -> int:
        """Follow the command to its end.

        Returns:
            Its status, as ``wait`` gives it.
        """
        try:
            for fault in self._launch.faults:
                self._say(fault)
            if self._launch.refusal is not None:
                self._refused(self._launch.refusal)
            else:
                self._begin()
            while not self._has_finished():
                self._turn()
        finally:
            if self._terminal is not None:
                self._terminal.restore()
        return self.status or 0

    @property
    def stopped_by(self) -> int:
        """Number of the signal that told this process to stop, 0 when none did."""
        return 0 if self._stopping is None else self._stopping.reason

    def _begin(self) -> None:
        self._line.tell("start", self._launch.pid, f"{self._launch.began:.3f}")
        if self._terminal is not None:
            self._terminal.make_raw()
        if self._terminal is None or not self._terminal.is_interactive:
            null = os.open(os.devnull, os.O_RDONLY)  # whoever fills stdin is to notice when the command no longer reads
            os.dup2(null, 0)
            os.close(null)
        self._reap()  # it may have ended before anybody watched

    def _refused(self, refusal: CannotStart) -> None:
        self._say(f"cannot start {refusal.filename}: {refusal.strerror}")
        self._line.tell("refused", refusal.errno)
        self.status = _NOT_FOUND if refusal.errno in (errno.ENOENT, errno.ENOTDIR) else _NOT_EXECUTABLE
        for channel in self._channels:
            channel.end()
        self._finish()

    def _turn(self) -> None:
        """Wait for something to happen and see to it."""
        line, terminal, has_ended = self._line, self._terminal, self.status is not None
        sources = [channel.source for channel in self._channels if channel.wants]
        is_held_up = len(sources) < sum(channel.source >= 0 for channel in self._channels)
        reading = [self._launch.wake, *sources]
        writing = [line.outbox] if line.is_waiting else []
        if line.answers >= 0:
            reading.append(line.answers)
        if terminal is not None:
            reading += [0] if terminal.takes_keys and not has_ended else []  # later ones are the shell's
            writing += [terminal.master] if terminal.is_typing else []
        ready, able = until_ready(reading, writing, self._patience())
        if has_ended:
            self._linger.note(something_came=not ready.isdisjoint(sources), is_held_up=is_held_up)
        self._take(ready)
        if line.outbox in able:
            line.flush()
        if terminal is not None:
            self._hand_keys_on(0 in ready)
        if line.answers in ready:
            self._listen()
        if self._launch.wake in ready:
            numbers = os.read(self._launch.wake, 4096)
            self._reap()  # whatever they are: the pipe may have been too full for one more
            for number in numbers:
                self._signalled(number)
        self._announce()
        self._look_after_end()

    def _patience(self) -> float | None:
        if self._stopping is not None and self._stopping.is_under_way:
            return 0.05
        return 0.1 if self.status is not None else None

    def _take(self, ready: set[int]) -> None:
        for channel in self._channels:
            if channel.source in ready:
                channel.take()
            if channel.complaint:
                self._say(channel.complaint)
                channel.complaint = ""
            if channel.is_broken and not self._is_terminal(channel):
                channel.end()  # its reader has gone, which the command is to notice when it next writes

    def _announce(self) -> None:
        for channel in self._channels:
            if self._line.answers < 0:
                channel.recycle(channel.spilled)  # nobody records it any more
            elif not self._line.is_waiting and self._announced[channel.name] != channel.spilled:
                self._announced[channel.name] = channel.spilled
                self._line.tell("data", channel.name, channel.spilled, f"{time.time():.3f}")

    def _look_after_end(self) -> None:
        if self._stopping is not None and self._stopping.is_under_way:
            self._stopping.go_on(has_ended=self.status is not None)
        if self.status is None or self._is_done:
            return
        is_open = any(channel.source >= 0 for channel in self._channels)
        if is_open and not self._linger.is_over:
            return
        if is_open:  # something below the command holds its streams; the command itself has ended
            self._line.tell("left")
        for channel in self._channels:
            channel.end()
            self._line.tell("data", channel.name, channel.spilled, f"{time.time():.3f}")
            if channel.lost:
                self._line.tell("gap", channel.name, channel.lost)
        self._finish()

    def _finish(self) -> None:
        self._is_done = True
        self._done_at = time.monotonic()
        self._leave_by = self._done_at + _RECORDER_SECONDS
        self._line.tell("done")
        self._line.hang_up()

    def _has_finished(self) -> bool:
        if not self._is_done or (self._stopping is not None and self._stopping.is_under_way):
            return False
        now = time.monotonic()
        is_delivered = all(channel.is_delivered for channel in self._channels)
        if not is_delivered and (self._stopping is None or now < self._done_at + _PATIENCE_SECONDS):
            return False
        if self._terminal is not None:
            self._terminal.restore()  # the keys are the shell's from here on
        if self._line.answers >= 0 and now > self._leave_by and not self._is_left_alone:
            self._is_left_alone = True
            self._say("the recorder is still at work; it goes on by itself")
        if self._line.answers >= 0 and not self._is_left_alone:
            return False
        return self._voice.is_silent or now > self._said_at + _PATIENCE_SECONDS

    def _reap(self) -> None:
        self._line.collect()
        if self.status is not None or not self._launch.pid:
            return
        pid, status, usage = os.wait4(self._launch.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            if self._terminal is not None and self._terminal.is_interactive:
                self._suspend()
            return
        self.status = status
        self._linger = Linger()
        numbers = (f"{usage.ru_utime:.6f}", f"{usage.ru_stime:.6f}", usage.ru_maxrss)
        self._line.tell("end", status, *numbers, f"{time.time():.3f}")

    def _signalled(self, number: int) -> None:
        if number == signal.SIGWINCH and self._terminal is not None:
            self._terminal.copy_size()
            if not self._terminal.is_interactive:  # it does not control the command, so the system does not tell it
                self._pass_on(number)
        elif number == signal.SIGTSTP:
            self._suspend()
        elif number == signal.SIGCONT:
            self._resume()
        elif number in FORWARDED or (number == signal.SIGINT and self._terminal is not None and self.status is None):
            self._pass_on(number)
        elif number in STOPS:
            self._stop(number)

    def _stop(self, number: int) -> None:
        if self._stopping is None:
            from agent_workflow.tracer.running._stopping import Stopping

            self._stopping = Stopping(self._launch.pid, self._launch.options.grace_seconds, self._launch.mark)
            self._line.tell("stop", number)
        self._stopping.ask(number, has_ended=self.status is not None)
        self._leave_by = min(self._leave_by, time.monotonic() + _PATIENCE_SECONDS)

    def _pass_on(self, number: int) -> None:
        if self.status is None and self._launch.pid:
            try:
                os.killpg(self._launch.pid, number)
            except OSError:
                return  # it has ended

    def _suspend(self, *, with_group: bool = False) -> None:
        """Stop the command and this process, until the shell lets both go on; at once where there is none.

        Args:
            with_group: also those who were started with this process, as the key does at a terminal that is not raw.
        """
        self._pass_on(signal.SIGSTOP)
        if self._terminal is not None:
            self._terminal.restore()
        before = signal.signal(signal.SIGTSTP, signal.SIG_DFL)  # unlike SIGSTOP, not where nobody could end it
        if with_group:
            os.killpg(0, signal.SIGTSTP)
        else:
            signal.raise_signal(signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, before)
        self._resume()

    def _resume(self) -> None:
        if self._terminal is not None and self.status is None:
            self._terminal.make_raw()
            self._terminal.copy_size()
        self._pass_on(signal.SIGCONT)

    def _hand_keys_on(self, can_be_read: bool) -> None:
        assert self._terminal is not None  # noqa: S101 - there are no keys without one
        keys = self._terminal.read_keys() if can_be_read else b""
        if can_be_read and not keys and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
            self._hang_up()  # otherwise a signal says so
        asks_to_suspend = bool(keys) and self._terminal.asks_to_suspend(keys, self._launch.pid)
        if self._terminal.is_typing:
            self._terminal.type_keys()
        if asks_to_suspend and signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
            self._suspend(with_group=True)

    def _hang_up(self) -> None:
        """Let the user's terminal, which has gone, be gone for the command, too."""
        assert self._terminal is not None  # noqa: S101 - it has gone
        self._terminal.hang_up()
        for channel in filter(self._is_terminal, self._channels):
            channel.end()

    def _listen(self) -> None:
        for kind, *rest in self._line.listen():
            if kind == "say" and self._line.is_news(" ".join(rest)):
                self._say(" ".join(rest))
            elif kind == "over":
                self._is_recorded = True
            elif kind == "stop":
                self._stop(int(rest[0]))
            elif kind == "read":
                channel = next(channel for channel in self._channels if channel.name == rest[0])
                if channel.recycle(int(rest[1])):
                    self._line.tell("base", channel.name, channel.base)
        if self._line.answers < 0 and not self._is_recorded:
            self._say("the recorder has ended before the command; the session is not recorded in full")

    def _is_terminal(self, channel: Channel) -> bool:
        return self._terminal is not None and self._launch.sinks[channel.name] in self._terminal.outputs

    def _look(self) -> None:
        try:
            os.write(self._launch.waker, b"\0")
        except OSError:
            return  # there is enough to look at already

    def _say(self, words: str) -> None:
        end = "\r\n" if self._terminal is not None and self._terminal.is_raw else "\n"
        self._said_at = time.monotonic()
        self._voice.say(f"agent-workflow: {words}{end}".encode("utf-8", "replace"))
