"""Ending as the command ended."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal


def leave(status: int, stopped_by: int) -> None:
    """End this process as the command ended: by the same code or the same signal.

    Args:
        status: of the command, as ``wait`` gives it.
        stopped_by: the signal by which this process was told to stop, 0 for none.
    """
    if not os.WIFSIGNALED(status):
        os._exit(os.WEXITSTATUS(status))
    import resource

    number = os.WTERMSIG(status)
    if number == signal.SIGKILL and stopped_by:
        number = stopped_by  # killed by us, since it did not do what this asked for
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command's own core is enough
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)
