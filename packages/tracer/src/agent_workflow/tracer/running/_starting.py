"""Starting the recorder and the command: two forks of a process that has loaded next to nothing."""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable, Mapping
    from types import FrameType

    from agent_workflow.tracer.running._launch import Launch
    from agent_workflow.tracer.running._terminal import Terminal
else:
    import _signal as signal  # the names without the enumerations, which take longer than the command to start

STOPS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
FORWARDED = (signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
_WATCHED = (*STOPS, *FORWARDED, signal.SIGCHLD, signal.SIGWINCH, signal.SIGTSTP, signal.SIGCONT)
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_MOST_DESCRIPTORS = 65_536
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")


class CannotStart(OSError):
    """The command cannot be started; ``errno`` says why."""


def watch_signals() -> "tuple[int, int, Callable[[], None]]":
    """Have the numbers of signals that are not ignored written into a pipe.

    Returns:
        Its two ends, and what the command's process calls to have signals as they were before.
    """
    wake, waker = os.pipe()
    mask = signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])  # whoever blocked it did not wait for children
    ignores_children = signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN
    os.set_blocking(wake, False)
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    for number in _WATCHED:
        if number == signal.SIGCHLD or signal.getsignal(number) != signal.SIG_IGN:  # nohup means it
            signal.signal(number, _nothing)

    def undo() -> None:
        for name in _IGNORED_BY_PYTHON:
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
        if ignores_children:
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return wake, waker, undo


def start_recorder(launch: "Launch") -> tuple[int, int, int]:
    """Fork the recorder.

    Returns:
        Its pid, the descriptor it is told things through (never waits), and the one it answers through.

    Raises:
        OSError: no more processes or descriptors.
    """
    inbox, outbox = os.pipe()
    answers, upstream = os.pipe()
    try:
        pid = _fork()
    except OSError:
        for descriptor in (inbox, outbox, answers, upstream):
            os.close(descriptor)
        raise
    if pid == 0:
        code = 1
        try:
            for number in _WATCHED:
                if signal.getsignal(number) == _nothing:
                    signal.signal(number, signal.SIG_DFL)
            os.setsid()
            kept = [inbox, upstream, *(spill for spill in launch.spills.values() if spill >= 0)]
            if launch.terminal is not None:
                kept.append(launch.terminal.keep())
            _close_all_but(kept)
            from agent_workflow.tracer.running._waiting import until_ready

            until_ready([inbox], [])  # what is loaded now must not delay the command's start
            from agent_workflow.tracer.running._recorder import record

            record(launch, inbox, upstream)
            code = 0
        except Exception as error:  # noqa: BLE001 - a broken installation costs the recording, never the command
            os.write(upstream, f"say cannot load the recorder: {type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(code)
    os.close(inbox)
    os.close(upstream)
    os.set_blocking(outbox, False)
    return pid, outbox, answers


def start_command(
    command: list[str],
    environment: "Mapping[str, str]",
    streams: dict[int, int],
    closed: set[int],
    terminal: "Terminal | None",
    inherit_signals: "Callable[[], None]",
) -> int:
    """Fork the command into a session of its own.

    Args:
        command: program and arguments.
        environment: all of it.
        streams: what takes the place of 0, 1 and 2; what is not named is inherited.
        closed: those that are to be closed in it.
        terminal: whose other end becomes its terminal, where there is one.
        inherit_signals: has its signals as this process got them.

    Returns:
        Its pid, once the program runs.

    Raises:
        CannotStart: there is no such program, or it is none.
    """
    reading, writing = os.pipe()
    pid = _fork()
    if pid == 0:
        fault = 0
        try:
            os.setsid()
            if terminal is not None:
                terminal.enter()
            for target, source in streams.items():
                os.dup2(source, target)
            for descriptor in closed:
                os.close(descriptor)
            inherit_signals()
            _execute(command, environment)
        except OSError as error:
            fault = error.errno or errno.EINVAL
        finally:
            os.write(writing, b"%d" % (fault or errno.EINVAL))
            os._exit(127)
    os.close(writing)
    answer = os.read(reading, 16)
    os.close(reading)
    if answer:
        os.waitpid(pid, 0)
        raise CannotStart(int(answer), os.strerror(int(answer)), command[0])
    return pid


def _fork() -> int:
    """Fork; a signal that comes meanwhile is the parent's alone, who hands it on."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    pid = -1
    try:
        pid = os.fork()
    finally:
        if pid == 0:
            signal.set_wakeup_fd(-1)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def _execute(command: list[str], environment: "Mapping[str, str]") -> None:
    """Become the program; look for it as a shell does.

    Raises:
        OSError: it cannot be started.
    """
    program = command[0]
    folders = [""] if "/" in program else environment.get("PATH", _DEFAULT_PATH).split(":")
    fault = OSError(errno.ENOENT, os.strerror(errno.ENOENT), program)
    for folder in folders:
        path = program if "/" in program else f"{folder or '.'}/{program}"
        try:
            os.execve(path, command, environment)  # noqa: S606 - the command that was asked for
        except OSError as error:
            if error.errno == errno.ENOEXEC:  # a script that does not say by whom
                os.execve("/bin/sh", ["/bin/sh", path, *command[1:]], environment)  # noqa: S606 - as shells do
            if error.errno not in (errno.ENOENT, errno.ENOTDIR):
                fault = error
    raise fault


def _close_all_but(kept: list[int]) -> None:
    """Let go of everything else: what others wait for the end of must not hang on the recorder."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    below = 3
    for descriptor in sorted(kept):
        os.closerange(below, descriptor)
        below = descriptor + 1
    os.closerange(below, _MOST_DESCRIPTORS)


def _nothing(_: int, __: "FrameType | None") -> None:
    return None
