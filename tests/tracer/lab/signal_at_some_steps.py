"""Records runs, each told to end by SIGTERM some steps later than the one before while it finishes.

``python signal_at_some_steps.py`` in a repository with a configuration. Every run is a fork, a step is a call that
changes something on a disk; the first eight, which write the trace, are tried one by one. Prints a JSON list: exit
code, status of the session, rows of processes that are still open, and what the state root holds.
"""

import atexit
import json
import os
import signal
from pathlib import Path
from typing import NoReturn

from kill_at_every_step import RUNS, arm, counted, record, verdict

from agent_workflow.tracer import Run, load_config
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._replay import replay_state


def main() -> None:
    """Interrupt until one run gets through."""
    found = []
    for step in (*range(1, 9), *range(9, 1000, 8)):
        name = f"finish{step}"
        pid = os.fork()
        if pid == 0:
            leave(name, step)
        _, status = os.waitpid(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        data_dir = load_config("adws/sssf.config.yaml").data_dir
        state = replay_state(SessionFiles.of(Path(data_dir), name))
        open_rows = sum(row.get("ended_at") is None for row in state.of("processes"))
        found.append([code, state.session().get("status"), open_rows, verdict(RUNS / name)])
        if code == 0:
            break
    print(json.dumps(found))


def leave(name: str, step: int) -> NoReturn:
    """Record a run and end as a process does that was not forked."""
    code: object = 1
    try:
        count = arm(step, signal.SIGTERM)
        setattr(Run, "finish", counted(Run.finish, count))  # noqa: B010 - a method is not assigned to
        record(name)
        code = 0
    except SystemExit as end:
        code = end.code
    finally:
        atexit._run_exitfuncs()
        os._exit(code if isinstance(code, int) else 1)


if __name__ == "__main__":
    main()
