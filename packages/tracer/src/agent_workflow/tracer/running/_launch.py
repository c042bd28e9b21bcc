"""A command about to be recorded: its streams, its recorder, and then the command itself.

This module and those it brings are all that is loaded before the command runs.
"""

import os
import sys
import time

from agent_workflow.tracer.running._options import Options
from agent_workflow.tracer.running._starting import (
    CannotStart,
    start_command,
    start_recorder,
    watch_signals,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent_workflow.tracer.running._terminal import Terminal

MARK = "AGENT_WORKFLOW_TRACE"
"""As in ``_ending``, which is not loaded here; a test compares the two."""

_FOLDERS = ("/var/tmp", "/tmp", ".")  # noqa: S108 - the file there has no name


class Launch:
    """A command that was started, or could not be.

    Attributes:
        options: of the call.
        adw_id: the session.
        mark: what everything below the command carries in its environment, empty when there is no recorder.
        terminal: between the command and the user's, if an output is one.
        sinks: where each channel goes, by its name: ``stdout`` and, unless it goes the same way, ``stderr``.
        spills: descriptors of what each channel has brought so far, -1 where there is no room for any.
        sources: descriptors that each channel comes from.
        recorder: its pid, the descriptor it is told things through, and the one it answers through.
        pid: of the command, 0 when it could not be started.
        refusal: why it could not.
        began: POSIX time just before.
        faults: what the user is to know.
        wake, waker: a pipe that brings the numbers of signals.
    """

    def __init__(self, options: Options) -> None:
        self.options = options
        self.adw_id = os.urandom(4).hex()
        self.mark = ""
        self.terminal: Terminal | None = None
        self.sinks: dict[str, int] = {}
        self.spills: dict[str, int] = {}
        self.sources: dict[str, int] = {}
        self.recorder = (0, -1, -1)
        self.pid = 0
        self.refusal: CannotStart | None = None
        self.began = 0.0
        self.faults: list[str] = []
        self.wake, self.waker = -1, -1

    @property
    def is_stream(self) -> bool:
        """Whether stdout is one that programs read: no terminal."""
        return self.terminal is None or 1 not in self.terminal.outputs

    def start(self) -> None:
        """Start the recorder, then the command. Whatever fails is noted, nothing is raised."""
        closed = _occupy_standard_streams()
        self.wake, self.waker, inherit_signals = watch_signals()
        if os.isatty(1) or os.isatty(2):
            from agent_workflow.tracer.running._terminal import Terminal

            self.terminal = Terminal.of_standard_streams()
            if self.terminal is None:
                self.faults.append("there is no pseudo-terminal left; the command writes into pipes")
        outputs = self.terminal.outputs if self.terminal is not None else []
        self.sinks["stdout"] = 1
        if not _lead_to_the_same(1, 2) and outputs != [1, 2]:
            self.sinks["stderr"] = 2
        for name in self.sinks:
            self.spills[name] = self._spill()
        try:
            self.recorder = start_recorder(self)
            self.mark = mark_of(self.adw_id, self.recorder[0])
        except OSError as error:
            self.faults.append(f"cannot start the recorder: {error.strerror}; the command goes on unrecorded")
        environment = {**os.environ, MARK: self.mark} if self.mark else os.environ
        self.began = time.time()
        streams: dict[int, int] = {}
        try:
            self._connect(outputs, streams)
            command = self.options.command
            self.pid = start_command(command, environment, streams, closed, self.terminal, inherit_signals)
        except OSError as error:  # no such program; or no more processes or descriptors
            self.refusal = CannotStart(error.errno, error.strerror, self.options.command[0])
        for descriptor in set(streams.values()):
            os.close(descriptor)
        if self.terminal is not None:
            self.terminal.close_slave()

    def _spill(self) -> int:
        try:
            return open_spill()
        except OSError as error:
            self.faults.append(f"no room to keep the output: {error.strerror}; the command may wait for its reader")
            return -1

    def _connect(self, outputs: list[int], streams: dict[int, int]) -> None:
        """Make the pipes; note what takes the place of the command's 1 and 2, where no terminal does."""
        for name, target in self.sinks.items():
            if self.terminal is not None and target in outputs:
                self.sources[name] = os.dup(self.terminal.master)
            else:
                self.sources[name], streams[target] = os.pipe()
        if "stderr" not in self.sinks and 1 in streams:
            streams[2] = streams[1]


def open_spill() -> int:
    """Open a file without a name, on a disk where there is one.

    Raises:
        OSError: nowhere is room for one.
    """
    fault: OSError | None = None
    for folder in (os.environ.get("TMPDIR"), *_FOLDERS):
        if not folder:
            continue
        path = os.path.join(folder, f".agent-workflow-{os.urandom(8).hex()}")  # noqa: PTH118 - pathlib takes long to load
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)
            os.unlink(path)  # noqa: PTH108 - as above
        except OSError as error:
            fault = error
        else:
            return descriptor
    raise fault or OSError("no folder")


def mark_of(adw_id: str, recorder: int) -> str:
    """Name what everything below the command carries: the mark of a run whose workflow is the recorder."""
    return f"{adw_id}:{recorder}:{start_marker(recorder)}/1"


def start_marker(pid: int) -> str:
    """Name the moment a process started, as ``_processes`` does, which is not loaded here."""
    if sys.platform != "linux":
        from agent_workflow.tracer._processes import find

        process = find(pid)
        return process.start_marker if process else "unknown"
    try:
        ticks = int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19])
        return f"linux:{_read('/proc/sys/kernel/random/boot_id').decode().strip()}:{ticks}"
    except (OSError, ValueError, IndexError):
        return "unknown"


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)


def _occupy_standard_streams() -> set[int]:
    """Put something behind each of 0, 1 and 2 that is closed, lest a pipe of ours ends up there; return those."""
    closed = set()
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.add(descriptor)
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    return closed


def _lead_to_the_same(first: int, second: int) -> bool:
    """Tell whether two descriptors lead to the same place where somebody reads what keeps its order."""
    one, other, nowhere = os.fstat(first), os.fstat(second), os.stat(os.devnull)  # noqa: PTH116 - as above
    places = [(place.st_dev, place.st_ino, place.st_rdev) for place in (one, other, nowhere)]
    return places[0] == places[1] != places[2]
