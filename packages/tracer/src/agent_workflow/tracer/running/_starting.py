"""Starting the recorder and the command: two forks of a process that has loaded next to nothing."""

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from collections.abc import Mapping

    from agent_workflow.tracer.running._plan import Plan
    from agent_workflow.tracer.running._terminal import Terminal
else:
    import _signal as signal  # the names without the enumerations, which take longer than the command to start

_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"
_MOST_DESCRIPTORS = 65_536
_IGNORED_BY_PYTHON = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")


class CannotStart(OSError):
    """The command cannot be started; ``errno`` says why."""


def occupy_standard_streams() -> set[int]:
    """Put something behind each of 0, 1 and 2 that is closed, lest a pipe of ours ends up there; return those."""
    closed = set()
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            closed.add(descriptor)
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number
    return closed


def start_recorder(plan: "Plan") -> tuple[int, int, int]:
    """Fork the recorder.

    Returns:
        Its pid, the descriptor it is told things through (never waits), and the one it answers through.

    Raises:
        OSError: no more processes or descriptors.
    """
    inbox, outbox = os.pipe()
    answers, upstream = os.pipe()
    try:
        pid = os.fork()
    except OSError:
        for descriptor in (inbox, outbox, answers, upstream):
            os.close(descriptor)
        raise
    if pid == 0:
        code = 1
        try:
            os.setsid()
            kept = [inbox, upstream, *(spill for spill in plan.spills.values() if spill >= 0)]
            if plan.terminal:
                kept.append(plan.terminal[0])
            _close_all_but(kept)
            from agent_workflow.tracer.running._recorder import record

            record(plan, inbox, upstream)
            code = 0
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
) -> int:
    """Fork the command into a session of its own.

    Args:
        command: program and arguments.
        environment: all of it.
        streams: what takes the place of 0, 1 and 2; what is not named is inherited.
        closed: those that are to be closed in it.
        terminal: whose other end becomes its terminal, where there is one.

    Returns:
        Its pid, once the program runs.

    Raises:
        CannotStart: there is no such program, or it is none.
    """
    reading, writing = os.pipe()
    pid = os.fork()
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
            for name in _IGNORED_BY_PYTHON:
                if hasattr(signal, name):
                    signal.signal(getattr(signal, name), signal.SIG_DFL)
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
