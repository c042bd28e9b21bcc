"""Measure the evidence index against the floor of the same machine in the same run, and print ratios.

usage: python bench.py [--small] [--rounds N] [--state-root FOLDER] [--floor-script FILE] [--rebuild-limit X]

The index runs as its users run it: ``agent-workflow index …`` as a process of its own, start-up included. Floor and
index take turns, and each figure is the median over the rounds, because a shared machine changes its speed.
"""

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
SHORT_CALLS = 5
"""How often what takes a fraction of a second is called in a round."""

# An installed command finds its modules compiled; an environment that forbids to keep them would have every call
# compile them anew, and that is no cost of the index.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Cost:
    """What one process cost: seconds of the clock, seconds of CPU, and its largest memory in MiB."""

    wall: float
    cpu: float
    memory: float


def run(*command: str) -> Cost:
    """Run a command to its end and account for it alone."""
    began = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    _, code, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(code)
    if process.returncode:
        raise SystemExit(f"failed with {process.returncode}: {' '.join(command)}")
    return Cost(time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def index(root: Path, *arguments: str) -> Cost:
    """Run an index command on a state root."""
    return run(str(Path(sys.executable).with_name("agent-workflow")), "index", *arguments, "--state-root", str(root))


class Floor(NamedTuple):
    """Seconds of the floor: for a rebuild, for looking at every source, and of CPU for that, where the script says."""

    rebuild: float
    look: float
    look_cpu: float | None


def floor(script: Path, root: Path) -> Floor:
    """Run the floor script on a state root."""
    output = subprocess.run([sys.executable, str(script), str(root)], check=True, capture_output=True).stdout
    found = json.loads(output)
    rebuild, look = (next(found[key] for key in found if key.startswith(name)) for name in ("rebuild", "stat"))
    return Floor(float(rebuild), float(look), found.get("cpu_of_stat_seconds"))


def show(name: str, value: float, unit: str, limit: float | None = None) -> None:
    """Print one figure, with what it is not to exceed."""
    bound = "" if limit is None else f"   at most {limit:g}   {'holds' if value <= limit else 'EXCEEDED'}"
    print(f"  {name:<52}{value:9.3f} {unit:<8}{bound}", flush=True)


def measure_writers(root: Path, script: Path, rounds: int, limit: float) -> None:
    """Compare a rebuild from no database, and an unchanged sync after it, with the floor of the same round."""
    start_ups, rebuilds, syncs, rebuild_ratios, sync_ratios = [], [], [], [], []
    cpu_ratios = []
    memory = 0.0
    index(root, "sync")  # whose modules are compiled from here on
    for _ in range(rounds):
        shutil.rmtree(root / "index", ignore_errors=True)
        least = floor(script, root)
        rebuild = index(root, "rebuild")
        if not (root / "index" / "agent-workflow.sqlite3").exists():
            raise SystemExit("the rebuild made no database")
        calls = [(index(root, "--help"), index(root, "sync")) for _ in range(SHORT_CALLS)]
        start_up, sync = (statistics.median(cost.wall for cost in costs) for costs in zip(*calls, strict=True))
        start_ups.append(start_up)
        rebuilds.append(rebuild.wall)
        syncs.append(sync)
        rebuild_ratios.append(rebuild.wall / least.rebuild)
        sync_ratios.append((sync - start_up) / least.look)
        if least.look_cpu is not None:
            cpu = statistics.median(done.cpu - started.cpu for started, done in calls)
            cpu_ratios.append(cpu / least.look_cpu)
        memory = max(memory, rebuild.memory, *(cost.memory for _, cost in calls))
    show("rebuild", statistics.median(rebuilds), "s")
    show("rebuild / rebuild floor", statistics.median(rebuild_ratios), "x", limit)
    show("start-up of the command", statistics.median(start_ups), "s")
    show("unchanged sync", statistics.median(syncs), "s")
    show("(unchanged sync - start-up) / stat floor", statistics.median(sync_ratios), "x", 3)
    if cpu_ratios:
        show("the same of CPU, which a busy machine changes less", statistics.median(cpu_ratios), "x", 3)
    show("memory of a writer", memory, "MiB", 200)


def measure_queries(root: Path, rounds: int, limit: float) -> None:
    """Look at the CPU that a question costs, start-up and freshness included."""
    for kind in ("runs", "incidents", "performance"):
        costs = [index(root, "query", kind).cpu for _ in range(rounds)]
        show(f"CPU of `index query {kind}`", statistics.median(costs), "s", limit)


def measure_growth(root: Path, rounds: int) -> None:
    """Append one record to a journal of 100,000 and sync."""
    run_folder = root / "runs" / "bench-growing"
    shutil.rmtree(run_folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, str(HERE / "workload.py"), folder, "1", "2")
        shutil.copytree(Path(folder) / "runs" / "bench-000000", run_folder)
    journal = run_folder / "permission-events.jsonl"
    line = journal.read_bytes().splitlines(keepends=True)[0]
    journal.write_bytes(line * 100_000)
    whole = index(root, "sync", "--strict").cpu
    costs = []
    for _ in range(rounds):
        with journal.open("ab") as file:
            file.write(line)
        costs.append(index(root, "sync", "--strict").cpu)
    shutil.rmtree(run_folder)
    index(root, "sync")
    show("CPU of a sync that reads 100,000 new records", whole, "s")
    show("CPU of a sync after one more record", statistics.median(costs), "s")


def measure(runs: int, records: int, rounds: int, rebuild_limit: float, arguments: argparse.Namespace) -> None:
    """Write a state root of a size and measure everything on it."""
    print(f"{runs} runs, {records} records in each large journal")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "state"
        run(sys.executable, str(HERE / "workload.py"), str(root), str(runs), str(records))
        measure_root(root, HERE / "floor.py", rounds, rebuild_limit, arguments)


def measure_root(root: Path, script: Path, rounds: int, rebuild_limit: float, arguments: argparse.Namespace) -> None:
    """Measure everything on one state root."""
    measure_writers(root, script, rounds, rebuild_limit)
    measure_queries(root, rounds, 0.4 if len(list((root / "runs").iterdir())) <= 1000 else 1.5)
    if not arguments.state_root:
        measure_growth(root, rounds)


def main() -> None:
    """Measure the two sizes, or a given state root against a given floor script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="a tenth of the sizes, to see that the script works")
    parser.add_argument("--state-root", type=Path, help="measure this one instead of writing two")
    parser.add_argument("--floor-script", type=Path, default=HERE / "floor.py")
    parser.add_argument("--rebuild-limit", type=float, default=1.5)
    arguments = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, {os.cpu_count()} CPUs, {resource.getpagesize()}-byte pages")
    if arguments.state_root:
        measure_root(arguments.state_root, arguments.floor_script, arguments.rounds, arguments.rebuild_limit, arguments)
        return
    scale = 10 if arguments.small else 1
    measure(1000 // scale, 50, arguments.rounds, 1.3, arguments)
    measure(10_000 // scale, 2, arguments.rounds, 1.5, arguments)


if __name__ == "__main__":
    main()
