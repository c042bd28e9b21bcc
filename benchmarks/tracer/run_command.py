"""What `agent-workflow run` adds to a command, beyond the start of Python itself.

usage: python benchmarks/tracer/run_command.py [ROUNDS] -> one line a figure, in milliseconds, the best of the rounds

Two figures, each measured in turns with its floor.

*until the command runs*: from the call to the command's first act. The floor is the same for the bare command, plus
the same for a Python that tells the time.
*the whole call*: from the call to its end, for a command that does nothing. The floor is that command bare plus a
Python that does nothing. The session is written meanwhile, which disappears behind an agent that works for a second.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

LIMIT_MS = 5.0
RUN = [str(Path(sys.executable).with_name("agent-workflow")), "run", "--"]
TRACER_ALONE = [sys.executable, "-m", "agent_workflow.tracer.running", "--"]
TELL_TIME = ["date", "+%s%N"]
NOTHING = ["true"]


def until_it_runs(argv: list[str], folder: str) -> float:
    """Return how long a program takes to say what time it is."""
    began = time.time_ns()
    said = subprocess.run(argv, cwd=folder, stdout=subprocess.PIPE, check=True).stdout
    return (int(said) - began) / 1e6


def whole(argv: list[str], folder: str) -> float:
    """Return how long a program takes."""
    began = time.perf_counter()
    subprocess.run(argv, cwd=folder, check=True)
    return (time.perf_counter() - began) * 1000


class Case(NamedTuple):
    """What is measured, and how."""

    name: str
    measure: Callable[[list[str], str], float]
    argv: list[str]


CASES = (
    Case("until it runs: python", until_it_runs, [sys.executable, "-c", "import time; print(time.time_ns())"]),
    Case("until it runs: bare command", until_it_runs, TELL_TIME),
    Case("until it runs: agent-workflow run", until_it_runs, [*RUN, *TELL_TIME]),
    Case("until it runs: python -m ...running", until_it_runs, [*TRACER_ALONE, *TELL_TIME]),
    Case("whole: python -c pass", whole, [sys.executable, "-c", "pass"]),
    Case("whole: bare command", whole, NOTHING),
    Case("whole: agent-workflow run", whole, [*RUN, *NOTHING]),
)


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    best = {case.name: float("inf") for case in CASES}
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ |= {"XDG_STATE_HOME": f"{folder}/state", "PYTHONPYCACHEPREFIX": f"{folder}/cache"}
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed has its byte code
        for _ in range(rounds + 1):
            for case in CASES:
                best[case.name] = min(best[case.name], case.measure(case.argv, folder))
    for name, milliseconds in best.items():
        print(f"{name:<40} {milliseconds:8.2f} ms")
    start, end = (best["until it runs: python"], best["until it runs: bare command"]), "whole: "
    for name in ("agent-workflow run", "python -m ...running"):
        added = best[f"until it runs: {name}"] - sum(start)
        print(f"{name} adds {added:.2f} ms until the command runs; the limit is {LIMIT_MS:g} ms")
    added = best[f"{end}agent-workflow run"] - best[f"{end}python -c pass"] - best[f"{end}bare command"]
    print(f"agent-workflow run adds {added:.2f} ms to the whole call of a command that does nothing")


if __name__ == "__main__":
    main()
