"""What `agent-workflow run` adds to a command, beyond the start of Python itself.

usage: python benchmarks/tracer/run_command.py [ROUNDS] -> one line a figure, in milliseconds, medians of the rounds

Two figures, each measured in turns with its floor. ``until the command runs``: from the call to the command's first act;
the floor is the same for the bare command, plus the same for a Python that does nothing. ``the whole call``: from the call
to its end, for a command that does nothing; the session is written meanwhile, which an agent that works for a second hides.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

LIMIT_MS = 5.0
COMMAND = ["date", "+%s%N"]
NOTHING = ["true"]
TIME_IN_PYTHON = [sys.executable, "-c", "import time; print(time.time_ns())"]
RECORDED = [str(Path(sys.executable).with_name("agent-workflow")), "run", "--"]
TRACER_ALONE = [sys.executable, "-m", "agent_workflow.tracer.running", "--"]


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


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    wholes: list[tuple[str, Callable[[list[str], str], float], list[str]]] = [
        ("python, until it runs", until_it_runs, TIME_IN_PYTHON),
        ("bare, until it runs", until_it_runs, COMMAND),
        ("run, until it runs", until_it_runs, [*RECORDED, *COMMAND]),
        ("tracer alone, until it runs", until_it_runs, [*TRACER_ALONE, *COMMAND]),
        ("python -c pass", whole, [sys.executable, "-c", "pass"]),
        ("bare", whole, NOTHING),
        ("run", whole, [*RECORDED, *NOTHING]),
    ]
    measured: dict[str, list[float]] = {name: [] for name, _, _ in wholes}
    os.environ["XDG_STATE_HOME"] = ""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        os.environ["XDG_STATE_HOME"] = str(Path(folder) / "state")
        for _ in range(rounds):
            for name, measure, argv in wholes:
                measured[name].append(measure(argv, folder))
    figures = {name: statistics.median(values) for name, values in measured.items()}
    for name, value in figures.items():
        print(f"{name:<30} {value:8.2f} ms")
    floor = figures["python, until it runs"] + figures["bare, until it runs"]
    for name in ("run", "tracer alone"):
        print(
            f"{name}: added until the command runs {figures[f'{name}, until it runs'] - floor:6.2f} ms (limit {LIMIT_MS})"
        )
    print(f"run: added to the whole call {figures['run'] - figures['python -c pass'] - figures['bare']:6.2f} ms")


if __name__ == "__main__":
    main()
