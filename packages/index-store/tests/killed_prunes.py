"""Prunes that are killed, each one step later than the one before; every one is a fork with a state root of its own.

``python killed_prunes.py FOLDER`` makes ``FOLDER/<step>`` for every step and prints how many there were; the last one
got through. A step is what comes before or after a change on the disk.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from sample_state import StateRoot

from agent_workflow.index_store.retention import PruneCriteria, plan_runs, prune_runs, prune_session

PLANNED = ("runs/first", "archive/second")
KEPT = "kept"
CRITERIA = PruneCriteria(older_than_seconds=0.0)


def make_state(path: Path) -> StateRoot:
    """Make a state root with two runs that may go and one that goes on."""
    state = StateRoot(path)
    state.run("first").seal()
    second = state.run("second", archived=True)
    (second.path / "deep" / "deeper").mkdir(parents=True)
    (second.path / "deep" / "deeper" / "note.txt").write_text("a note\n")
    second.seal()
    (second.path / "latest").symlink_to("output.log")
    state.run(KEPT)
    return state


def prune(state_root: Path, step: Callable[[str], None] = lambda _name: None) -> str:
    """Plan, and delete what the plan lists; return its digest."""
    with prune_session(state_root, step=step) as session:
        plan = plan_runs(state_root, CRITERIA)
        session.begin(plan.digest, CRITERIA.to_document(), {"subjects": len(plan.runs), "files": 0, "bytes": 0})
        prune_runs(session, plan, step=step)
        session.end()
    return plan.digest


def main() -> None:
    """Kill until one prune gets through."""
    folder = Path(sys.argv[1])
    for number in range(1, 2000):
        state = make_state(folder / str(number))
        if _is_through(state.path, number):
            print(number)
            return


def _is_through(state_root: Path, number: int) -> bool:
    pid = os.fork()
    if pid == 0:
        _prune_and_die(state_root, number)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def _prune_and_die(state_root: Path, number: int) -> NoReturn:
    passed = 0

    def step(_name: str) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        prune(state_root, step)
    except BaseException as error:  # noqa: BLE001 - the fork must never go on as its parent
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
