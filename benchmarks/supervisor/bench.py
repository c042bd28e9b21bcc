"""What supervising costs, against its limits.

usage: python benchmarks/supervisor/bench.py [LIVE [ENDED]] -> two JSON documents; CPU seconds; exit 1 beyond a limit

``cycle``: one look at 200 live runs with real processes, by a supervisor that keeps running (``again``) and by one that
was just started (``first``); ``cycle_with_index``: by one that keeps running and syncs the index afterwards;
``beside_ended``: as ``cycle``, with 10,000 ended runs beside them, and ``listing``, the look after a run came or went,
for which every ended run is looked at once. ``idle``: a real ``supervisor run`` without live runs, its CPU share over
some of its cycles and its memory.
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from agent_workflow.cli.supervisor.clock import SystemClock
from agent_workflow.cli.supervisor.cycle import Supervisor
from agent_workflow.cli.supervisor.settings import Settings

CYCLE_SECONDS, ENDED_SHARE, IDLE_SHARE, IDLE_MIB = 1.0, 0.10, 0.01, 80.0
ROUNDS = 7
STREAM_LINE = json.dumps({"type": "message_update", "text": "x" * 400}) + "\n"


def main() -> int:
    """Measure, print, and compare with the limits."""
    live = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    ended = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, processes(live * 2) as pids:
        root = make_root(Path(folder) / "state")
        for number in range(live):
            make_live(root, f"live-{number:04}", pids[2 * number], pids[2 * number + 1])
        alone = cycles(root, live)
        synced = with_index(root, live)
        for number in range(ended):
            make_ended(root, f"ended-{number:05}")
        beside = cycles(root, live)
        listing = listed(root, live)
        idle = idle_run(Path(folder) / "idle")
    added = {name: round(beside[name] / alone[name] - 1, 3) for name in alone}
    figures = {"live": live, "ended": ended, "cycle": alone, "cycle_with_index": synced, "beside_ended": beside}
    print(json.dumps({**figures, "listing": listing, "added": added, "idle": idle}))
    limits = {
        "cycle": max(alone.values()) <= CYCLE_SECONDS,
        "cycle_with_index": synced["cpu"] <= CYCLE_SECONDS,
        "memory_with_index": synced["rss_mib"] <= IDLE_MIB,
        "ended": max(added.values()) <= ENDED_SHARE,
        "idle_cpu": idle["cpu_share"] <= IDLE_SHARE,
        "idle_memory": idle["rss_mib"] <= IDLE_MIB,
    }
    print(json.dumps({"limits_kept": limits}))
    return 0 if all(limits.values()) else 1


@contextlib.contextmanager
def processes(count: int) -> Iterator[list[int]]:
    """Start so many processes that sleep."""
    started = [subprocess.Popen(["sleep", "3600"], start_new_session=True) for _ in range(count)]
    try:
        yield [process.pid for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()


def make_root(root: Path) -> Path:
    """Make an empty state root."""
    (root / "runs").mkdir(parents=True)
    for path in (root, root / "runs"):
        path.chmod(0o700)
    return root


def make_live(root: Path, name: str, runner: int, executor: int) -> None:
    """Write a live run whose agent prints a known stream."""
    directory = root / "runs" / name
    directory.mkdir()
    now = datetime.now(UTC).isoformat()
    write(directory / "status.json", {"session_id": name, "status": "running", "created_at": now, "updated_at": now})
    plan = {"stream_format": "claude-stream-json", "executor": "claude"}
    write(directory / "launch-contract.json", {"schema": "agent-workflow/launch-contract/v2", "command_plan": plan})
    write(directory / "heartbeat.json", {"at": now, "runner_pid": runner, "executor_pid": executor})
    (directory / "executor-events.jsonl").write_text(STREAM_LINE * 100)
    (directory / "executor-stderr.log").write_text("a line\n" * 20)
    (directory / "output.log").write_text("a line\n" * 100)


def make_ended(root: Path, name: str) -> None:
    """Write a run that has ended and is sealed."""
    directory = root / "runs" / name
    directory.mkdir()
    for file in ("status.json", "final-receipt.json"):
        write(directory / file, {"session_id": name, "status": "completed"})


def write(path: Path, document: dict[str, Any]) -> None:
    """Write a document."""
    path.write_text(json.dumps(document))


def cycles(root: Path, live: int) -> dict[str, float]:
    """Measure the CPU seconds of a cycle; each agent prints something between two of them."""
    settings = Settings(sync_index=False, least_memory_bytes=0, least_disk_bytes=0)
    reset(root, live)
    first = [measured(root, live, Supervisor(root, settings, SystemClock())) for _ in range(ROUNDS)]
    reset(root, live)
    lasting = Supervisor(root, settings, SystemClock())
    measured(root, live, lasting)
    again = [measured(root, live, lasting) for _ in range(ROUNDS)]
    return {"first": round(min(first), 4), "again": round(min(again), 4)}


def with_index(root: Path, live: int) -> dict[str, float]:
    """Measure cycles of one supervisor that end with a sync, once the index is there."""
    settings = Settings(least_memory_bytes=0, least_disk_bytes=0)
    lasting = Supervisor(root, settings, SystemClock())
    measured(root, live, lasting)
    used = min(measured(root, live, lasting) for _ in range(ROUNDS))
    return {"cpu": round(used, 4), "rss_mib": round(psutil.Process().memory_info().rss / 2**20, 1)}


def listed(root: Path, live: int) -> float:
    """Measure the look of a new supervisor after a run came."""
    make_ended(root, "ended-last")
    settings = Settings(sync_index=False, least_memory_bytes=0, least_disk_bytes=0)
    return round(measured(root, live, Supervisor(root, settings, SystemClock())), 4)


def reset(root: Path, live: int) -> None:
    """Let every measurement begin with streams of the same length, and with a listing that holds."""
    for number in range(live):
        (root / "runs" / f"live-{number:04}" / "executor-events.jsonl").write_text(STREAM_LINE * 100)
    time.sleep(2.5)
    measured(root, live, Supervisor(root, Settings(sync_index=False), SystemClock()))


def measured(root: Path, live: int, supervisor: Supervisor) -> float:
    """Let every agent print, then measure one cycle."""
    for number in range(live):
        with (root / "runs" / f"live-{number:04}" / "executor-events.jsonl").open("a") as stream:
            stream.write(STREAM_LINE * 4)
    began = time.process_time()
    report = supervisor.cycle()
    used = time.process_time() - began
    assert live == len(report.health), report.errors[:3]
    assert [] == report.errors + report.incidents
    return used


def idle_run(root: Path) -> dict[str, float]:
    """Run the real command without live runs, with the index, and measure what it uses once it has begun."""
    make_root(root)
    words = [str(Path(sys.executable).with_name("agent-workflow")), "--state-root", str(root)]
    process = subprocess.Popen([*words, "supervisor", "run", "--interval", "2"], stdout=subprocess.DEVNULL)
    try:
        watched = psutil.Process(process.pid)
        while not (root / "index" / "agent-workflow.sqlite3").exists():
            time.sleep(0.1)
        time.sleep(2)
        before, began = sum(watched.cpu_times()[:2]), time.monotonic()
        time.sleep(20)
        used, seconds = sum(watched.cpu_times()[:2]) - before, time.monotonic() - began
        return {"cpu_share": round(used / seconds, 4), "rss_mib": round(watched.memory_info().rss / 2**20, 1)}
    finally:
        os.kill(process.pid, 15)
        process.wait()


if __name__ == "__main__":
    sys.exit(main())
