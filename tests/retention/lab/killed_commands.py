"""The command ``prune --yes`` over runs and a trace, killed before each call of the system that changes a disk.

``python killed_commands.py FOLDER``, with the import path of the tests, makes ``FOLDER/<step>`` for every step and
prints how many there were; the last one got through.
"""

import functools
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from pruned_sessions import database, make_session
from sample_state import StateRoot

from agent_workflow.cli._app import run

CALLS = ("write", "ftruncate", "fchmod", "fsync", "mkdir", "rename", "rmdir", "unlink")


def make_place(place: Path) -> Path:
    """Make a state root with a sealed run and one at work, and a trace with an ended session and one at work."""
    place.mkdir(parents=True)
    state = StateRoot(place / "state")
    state.run("done").seal()
    state.run("going")
    make_session(place / "data", "ended1")
    make_session(place / "data", "going1", status="running")
    return place


def prune(place: Path) -> int:
    """Delete all that may go; return the exit code."""
    trace = str(database(place / "data"))
    state_root = str(place / "state")
    return run(["prune", "--keep-bytes", "0", "--traces", "--db", trace, "--yes", "--state-root", state_root])


def main() -> None:
    """Kill until one prune gets through."""
    folder = Path(sys.argv[1])
    for number in range(1, 2000):
        place = make_place(folder / str(number))
        pid = os.fork()
        if pid == 0:
            _prune_and_die(place, number)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, status
            print(number)
            return
        assert os.WTERMSIG(status) == signal.SIGKILL


def _prune_and_die(place: Path, number: int) -> NoReturn:
    passed = 0

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)
        def wrapper(*arguments: Any, **options: Any) -> Any:
            nonlocal passed
            passed += 1
            if passed == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return wrapper

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))
    sys.stdout = sys.stderr
    try:
        os._exit(prune(place))
    except BaseException as error:  # noqa: BLE001 - the fork must never go on as its parent
        sys.stderr.write(f"{error!r}\n")
        os._exit(9)


if __name__ == "__main__":
    main()
