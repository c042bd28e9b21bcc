"""What is settled before the recorder and the command are started, and the words they exchange with the front."""

import os
import sys

from agent_workflow.tracer.running._options import Options

MARK = "AGENT_WORKFLOW_TRACE"
"""As in ``_ending``, which is not loaded here; a test compares the two."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from termios import _AttrReturn


class Plan:
    """What the recorder is given.

    Attributes:
        options: of the call.
        adw_id: the session.
        spills: descriptors of what each channel has brought so far, by the channel's name.
        is_stream: whether stdout is one that programs read: no terminal.
        terminal: a descriptor of the terminal whose settings are changed, and the settings as they were.
    """

    __slots__ = ("adw_id", "is_stream", "options", "spills", "terminal")

    def __init__(
        self,
        options: Options,
        spills: dict[str, int],
        *,
        is_stream: bool,
        terminal: "tuple[int, _AttrReturn] | None" = None,
    ) -> None:
        self.options = options
        self.adw_id = os.urandom(4).hex()
        self.spills = spills
        self.is_stream = is_stream
        self.terminal = terminal


def mark_of(adw_id: str, recorder: int) -> str:
    """Name what everything below the command carries in its environment: the mark of a run whose workflow is the recorder."""
    return f"{adw_id}:{recorder}:{_start_marker(recorder)}/1"


def _start_marker(pid: int) -> str:
    """Name the moment a process started, as ``_processes`` does, which takes longer to load than the command to start."""
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
