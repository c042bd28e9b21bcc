"""The process that stands between the command and whoever called it: it hands on, and does nothing else.

One loop takes what the command prints, watches for signals and for the command's end, and tells the recorder, a process
of its own. Nothing that the recorder does, or fails to do, can hold this loop up.
"""

import os
import select
import time

from agent_workflow.tracer.running._channel import Channel, open_spill
from agent_workflow.tracer.running._line import Line
from agent_workflow.tracer.running._options import Options
from agent_workflow.tracer.running._plan import MARK, Plan, mark_of
from agent_workflow.tracer.running._starting import (
    CannotStart,
    occupy_standard_streams,
    start_command,
    start_recorder,
)
from agent_workflow.tracer.running._stopping import Stopping

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from types import FrameType

    from agent_workflow.tracer.running._terminal import Terminal
else:
    import _signal as signal

_LINGER_SECONDS = 1.0
_RECORDER_SECONDS = 20.0
_PATIENCE_SECONDS = 2.0
_MOST_KEYS = 65_536
_STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
_FORWARDED = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_WATCHED = (*_STOPS, *_FORWARDED, signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)


class Front:
    """Runs one command.

    Attributes:
        channels: by name; the two are one where stdout and stderr are the same pipe, file or terminal.
        pid: of the command, 0 before it runs.
        status: as ``wait`` gave it, ``None`` while it runs.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.pid = 0
        self.status: int | None = None
        self.channels: dict[str, Channel] = {}
        self.terminal: Terminal | None = None
        self.line = Line()
        self.stopping: Stopping | None = None
        self._keys = b""
        self._reads_keys = False
        self._announced: dict[str, int] = {}
        self._quiet_since = 0.0
        self._done_at = 0.0
        self._leave_by = 0.0
        self._is_done = False
        self._missing: set[int] = set()
        self._wake, self._waker = -1, -1

    def run(self) -> None:
        """Run the command and end this process as it ended."""
        self._prepare()
        try:
            self._start()
            while not self._has_finished():
                self._turn()
        except CannotStart as error:
            self._refused(error)
        finally:
            if self.terminal is not None:
                self.terminal.restore()
        self._leave()

    def _prepare(self) -> None:
        self._missing = occupy_standard_streams()
        self._wake, self._waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._waker, False)
        if os.isatty(1) or os.isatty(2):
            from agent_workflow.tracer.running._terminal import Terminal

            self.terminal = Terminal.of_standard_streams()
        self._add_channel("stdout", 1)
        if not _same(1, 2) and (self.terminal is None or len(self.terminal.outputs) == 1):
            self._add_channel("stderr", 2)
        plan = Plan(
            self.options,
            {name: channel.spill for name, channel in self.channels.items()},
            is_stream=self.terminal is None or 1 not in self.terminal.outputs,
        )
        if self.terminal is not None and self.terminal.is_interactive:
            plan.terminal = (os.dup(self.terminal.output), self.terminal.saved)
        self.plan = plan

    def _add_channel(self, name: str, sink: int) -> None:
        try:
            spill = open_spill()
        except OSError as error:
            self._say(f"no room to keep the command's output: {error.strerror}; it may have to wait for its reader")
            spill = -1
        self.channels[name] = Channel(name, spill, sink, self._look)

    def _start(self) -> None:
        mark = ""
        try:
            self.line = Line(*start_recorder(self.plan))
            mark = mark_of(self.plan.adw_id, self.line.pid)
        except OSError as error:
            self._say(f"cannot start the recorder: {error.strerror}; the command goes on unrecorded")
        streams, ours = self._connect()
        environment = {**os.environ, MARK: mark} if mark else os.environ
        self.stopping = Stopping(self.options.grace_seconds, mark)
        before = time.time()
        try:
            self.pid = start_command(self.options.command, environment, streams, self._missing, self.terminal)
        finally:
            for descriptor in ours:
                os.close(descriptor)
        self.stopping.pid = self.pid
        self._watch_signals()
        self.line.tell("start", self.pid, f"{before:.3f}")
        self._quiet_since = time.monotonic()
        if self.terminal is not None:
            self.terminal.close_slave()
            self.terminal.make_raw()
        self._reads_keys = self.terminal is not None and self.terminal.is_interactive
        if not self._reads_keys:  # whoever fills stdin is to notice when the command no longer reads
            null = os.open(os.devnull, os.O_RDONLY)
            os.dup2(null, 0)
            os.close(null)
        self._reap()  # it may have ended before anybody watched

    def _connect(self) -> tuple[dict[int, int], list[int]]:
        """Make the pipes; return what takes the place of the command's 1 and 2, and what to close on our side."""
        streams: dict[int, int] = {}
        ours = []
        terminals = self.terminal.outputs if self.terminal is not None else []
        for name, target in (("stdout", 1), ("stderr", 2)):
            if name not in self.channels:
                if 2 not in terminals:
                    streams[2] = streams[1]
                continue
            channel = self.channels[name]
            if self.terminal is not None and target in terminals:
                channel.source = os.dup(self.terminal.master)
                continue
            channel.source, streams[target] = os.pipe()
            _widen(channel.source)
            ours.append(streams[target])
        return streams, ours

    def _watch_signals(self) -> None:
        signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        for number in _WATCHED:
            if number == signal.SIGCHLD or signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
                signal.signal(number, _nothing)

    def _turn(self) -> None:
        """Wait for something to happen and see to it."""
        reading = [self._wake, *(channel.source for channel in self.channels.values() if channel.wants)]
        if self.line.answers >= 0:
            reading.append(self.line.answers)
        if self._reads_keys and self.terminal is not None and self.terminal.is_raw and len(self._keys) < _MOST_KEYS:
            reading.append(0)
        writing = [self.line.outbox] if self.line.is_waiting else []
        if self._keys and self.terminal is not None:
            writing.append(self.terminal.master)
        ready, able, _ = select.select(reading, writing, [], self._patience())
        for channel in self.channels.values():
            if channel.source in ready:
                self._quiet_since = time.monotonic()
                channel.take()
        if self.line.outbox in able:
            self.line.flush()
        if 0 in ready:
            self._read_keys()
        if self._keys:
            self._type_keys()
        if self.line.answers in ready:
            self._listen()
        if self._wake in ready:
            for number in os.read(self._wake, 4096):
                self._signalled(number)
        self._look_after_channels()
        self._look_after_end()

    def _patience(self) -> float | None:
        if self.stopping is not None and self.stopping.is_under_way:
            return 0.05
        return 0.1 if self.status is not None else None

    def _look_after_channels(self) -> None:
        for channel in self.channels.values():
            if channel.fault and channel.source >= 0 and not self._is_terminal(channel):
                channel.end()
            if not self.line.is_waiting and self._announced.get(channel.name, 0) != channel.spilled:
                self._announced[channel.name] = channel.spilled
                self.line.tell("data", channel.name, channel.spilled, f"{time.time():.3f}")

    def _look_after_end(self) -> None:
        if self.stopping is not None and self.stopping.is_under_way:
            self.stopping.go_on(has_ended=self.status is not None)
        if self.status is None or self._is_done:
            return
        is_open = any(channel.source >= 0 for channel in self.channels.values())
        if is_open and time.monotonic() - self._quiet_since < _LINGER_SECONDS:
            return
        if is_open:  # something below the command holds its streams; the command itself has ended
            self.line.tell("left")
        for channel in self.channels.values():
            channel.end()
            self.line.tell("data", channel.name, channel.spilled, f"{time.time():.3f}")
            if channel.lost:
                self.line.tell("gap", channel.name, channel.lost)
        self._is_done = True
        self._done_at = time.monotonic()
        self._leave_by = self._done_at + _RECORDER_SECONDS
        self.line.tell("done")
        self.line.hang_up()

    def _has_finished(self) -> bool:
        if not self._is_done:
            return False
        now = time.monotonic()
        if self.stopping is not None and self.stopping.is_under_way:
            return False
        is_told_to_stop = self.stopping is not None and bool(self.stopping.reason)
        is_delivered = all(channel.is_delivered for channel in self.channels.values())
        if not is_delivered and not (is_told_to_stop and now > self._done_at + _PATIENCE_SECONDS):
            return False
        if self.line.answers >= 0 and now > self._leave_by:
            self._say("the recorder is still at work; it goes on by itself")
            return True
        return self.line.answers < 0

    def _reap(self) -> None:
        self.line.collect()
        if self.status is not None:
            return
        pid, status, usage = os.wait4(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            if self._reads_keys:
                self._suspend()
            return
        self.status = status
        self._quiet_since = time.monotonic()
        numbers = (f"{usage.ru_utime:.6f}", f"{usage.ru_stime:.6f}", usage.ru_maxrss)
        self.line.tell("end", status, *numbers, f"{time.time():.3f}")

    def _signalled(self, number: int) -> None:
        if number == signal.SIGCHLD:
            self._reap()
        elif number == signal.SIGWINCH and self.terminal is not None:
            self.terminal.copy_size()
            if not self.terminal.is_interactive:
                self._pass_on(number)
        elif number == signal.SIGTSTP:
            self._suspend()
        elif number == signal.SIGCONT:
            self._resume()
        elif number == signal.SIGINT and self.terminal is not None:
            self._pass_on(number)
        elif number in _STOPS:
            self._stop(number)
        elif number in _FORWARDED:
            self._pass_on(number)

    def _stop(self, number: int) -> None:
        if self.stopping is not None:
            if not self.stopping.reason:
                self.line.tell("stop", number)
            self.stopping.ask(number, has_ended=self.status is not None)
        self._leave_by = min(self._leave_by, time.monotonic() + _PATIENCE_SECONDS)

    def _pass_on(self, number: int) -> None:
        if self.status is None:
            try:
                os.killpg(self.pid, number)
            except OSError:
                return

    def _suspend(self) -> None:
        """Stop the command and this process, until the shell lets both go on."""
        self._pass_on(signal.SIGSTOP)
        if self.terminal is not None:
            self.terminal.restore()
        os.kill(os.getpid(), signal.SIGSTOP)
        self._resume()

    def _resume(self) -> None:
        if self.terminal is not None:
            self.terminal.make_raw()
            self.terminal.copy_size()
        self._pass_on(signal.SIGCONT)

    def _read_keys(self) -> None:
        try:
            data = os.read(0, 4096)
        except OSError:
            data = b""
        self._keys += data
        self._reads_keys = bool(data)
        if data and self.terminal is not None and self.terminal.asks_to_suspend(data):
            self._type_keys()
            self._suspend()

    def _type_keys(self) -> None:
        assert self.terminal is not None  # noqa: S101 - there are no keys without one
        try:
            self._keys = self._keys[os.write(self.terminal.master, self._keys) :]
        except BlockingIOError:
            return
        except OSError:
            self._keys = b""

    def _listen(self) -> None:
        for kind, *rest in self.line.listen():
            if kind == "read":
                channel = self.channels[rest[0]]
                if channel.recycle(int(rest[1])):
                    self.line.tell("base", channel.name, channel.base)
            elif kind == "say" and self.line.is_news(" ".join(rest)):
                self._say(" ".join(rest))
            elif kind == "stop":
                self._stop(int(rest[0]))
        if self.line.answers < 0 and not self._is_done:
            self._say("the recorder has ended; the command goes on unrecorded")

    def _refused(self, error: CannotStart) -> None:
        self._say(f"cannot start {error.filename}: {error.strerror}")
        self.line.tell("refused", error.errno)
        self.line.hang_up()
        deadline = time.monotonic() + _RECORDER_SECONDS
        while self.line.answers >= 0 and time.monotonic() < deadline:
            if select.select([self.line.answers], [], [], 0.1)[0]:
                self._listen_after_refusal()
        self.status = (126 if error.errno not in (2, 20) else 127) << 8

    def _listen_after_refusal(self) -> None:
        for kind, *rest in self.line.listen():
            if kind == "say" and self.line.is_news(" ".join(rest)):
                self._say(" ".join(rest))

    def _leave(self) -> None:
        """End as the command ended."""
        status = self.status or 0
        if not os.WIFSIGNALED(status):
            os._exit(os.WEXITSTATUS(status))
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL and self.stopping is not None and self.stopping.reason:
            number = self.stopping.reason  # killed by us, since it did not do what this asked for
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command's own core is enough
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)

    def _is_terminal(self, channel: Channel) -> bool:
        return self.terminal is not None and {"stdout": 1, "stderr": 2}[channel.name] in self.terminal.outputs

    def _look(self) -> None:
        try:
            os.write(self._waker, b"\0")
        except OSError:
            return  # there is enough to look at already

    def _say(self, words: str) -> None:
        end = "\r\n" if self.terminal is not None and self.terminal.is_raw else "\n"
        try:
            os.write(2, f"agent-workflow: {words}{end}".encode("utf-8", "replace"))
        except OSError:
            return


def _same(first: int, second: int) -> bool:
    """Tell whether two descriptors lead to the same place: then what is written to them keeps its order."""
    one, other = os.fstat(first), os.fstat(second)
    return (one.st_dev, one.st_ino, one.st_rdev) == (other.st_dev, other.st_ino, other.st_rdev)


def _widen(pipe: int) -> None:
    """Let the command get ahead by a mebibyte: some agents lose what does not fit into the pipe when they end."""
    import fcntl

    try:
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)
    except (OSError, AttributeError):
        return


def _nothing(_: int, __: "FrameType | None") -> None:
    return None
