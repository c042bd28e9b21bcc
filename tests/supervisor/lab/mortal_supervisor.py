"""A supervisor that is killed in the middle: ``mortal_supervisor.py ROOT NUMBER half|whole [terminate]``.

It looks once by the real clock, and kills itself at its so manieth write to a file: after half of it, or after all.
Prints ``done`` when it came to its end before that.
"""

import os
import signal
import sys
from pathlib import Path

from agent_workflow.cli.supervisor.clock import SystemClock
from agent_workflow.cli.supervisor.cycle import Supervisor
from agent_workflow.cli.supervisor.settings import Settings

_write = os.write
_left = int(sys.argv[2])


def _mortal_write(descriptor: int, data: bytes) -> int:
    global _left  # noqa: PLW0603 - the one number that this program is about
    if descriptor <= 2:
        return _write(descriptor, data)
    _left -= 1
    if _left > 0:
        return _write(descriptor, data)
    whole = bytes(data)
    _write(descriptor, whole[: len(whole) // 2] if sys.argv[3] == "half" else whole)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("dead by now")


if __name__ == "__main__":
    os.write = _mortal_write  # type: ignore[assignment] # one of its forms is enough here
    settings = Settings(
        sync_index=False,
        least_memory_bytes=0,
        least_disk_bytes=0,
        terminate_stalled="terminate" in sys.argv,
        stall_seconds=0.01,
        stall_samples=1,
    )
    Supervisor(Path(sys.argv[1]), settings, SystemClock()).cycle()
    _write(1, b"done\n")
