"""How fast events are recorded, beside what any recorder must pay.

usage: python benchmarks/tracer/events.py [EVENTS] -> one JSON document

The floor and the tracer take turns in one process, so that a busy machine slows both; ``TMPDIR`` says on which disk.
Beside the clock each side's CPU time is counted, which tells more where others use the machine.
"""

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agent_workflow.trace_schema import INSERT_EVENT, TABLES, migrate
from agent_workflow.tracer import Tracer

BATCH = 250
PAYLOAD = {
    "tool": "bash",
    "tool_call_id": "call_1",
    "args": {"command": "ls -la src"},
    "ok": True,
    "result_snippet": "total 8\n" + "drwxr-xr-x 2 dev dev 4096 src\n" * 8,
    "duration_ms": 41,
    "agent": "planner",
}
NAMES = {"phase_id": "7f3a91c2_02_plan", "parent_id": "evt_0a1b2c3d4e5f"}
MOMENT = "2026-08-16T14:03:22.518+00:00"


FLOOR_IS = (
    "one raw append of a finished line, then one autocommit insert of a finished row into a table of the trace's"
    " columns with their primary key: WAL, synchronous NORMAL, SQLite's own page size and checkpoints, no other index"
)
INDEXED_FLOOR_IS = "the same into the trace's own tables, with the indexes that readers need"


class Floor:
    """One raw append and one autocommit insert."""

    def __init__(self, folder: Path, *, indexed: bool) -> None:
        """Make an empty file and an empty table, or the trace's own tables."""
        name = "indexed" if indexed else "floor"
        self._fd = os.open(folder / f"{name}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._connection = sqlite3.connect(folder / f"{name}.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        if indexed:
            migrate(self._connection)
        else:
            columns = ", ".join(f"{name} {kind}" for name, kind in TABLES["events"].columns.items())
            self._connection.execute(f"CREATE TABLE events ({columns})")
        self.spent: list[float] = []
        self.cpu = 0.0

    def event(self, number: int) -> None:
        """Write one event that was made up before."""
        payload = json.dumps(PAYLOAD)
        row = (f"evt_{number:012x}", "7f3a91c2", NAMES["phase_id"], NAMES["parent_id"], "tool_call", "bash: ls -la src")
        line = json.dumps([*row, payload]) + "\n"
        cpu, began = time.thread_time(), time.perf_counter()
        os.write(self._fd, line.encode())
        self._connection.execute(INSERT_EVENT, (*row, payload, None, MOMENT, MOMENT))
        self.spent.append(time.perf_counter() - began)
        self.cpu += time.thread_time() - cpu


class Ours:
    """The tracer."""

    def __init__(self, folder: Path) -> None:
        """Open a new session."""
        self._tracer = Tracer(folder / "sssf.db", folder, "7f3a91c2")
        self.spent: list[float] = []
        self.cpu = 0.0

    def event(self, _: int) -> None:
        """Record one event from its payload."""
        cpu, began = time.thread_time(), time.perf_counter()
        self._tracer.event(
            "tool_call",
            "bash: ls -la src",
            PAYLOAD,
            phase_id=NAMES["phase_id"],
            parent_id=NAMES["parent_id"],
            started_at=MOMENT,
            ended_at=MOMENT,
        )
        self.spent.append(time.perf_counter() - began)
        self.cpu += time.thread_time() - cpu

    def close(self) -> None:
        """End the session."""
        self._tracer.reserve.release()
        self._tracer.close()


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        floor, indexed, ours = Floor(folder, indexed=False), Floor(folder, indexed=True), Ours(folder)
        for sides in ((floor, ours), (indexed,)):
            for start in range(0, count, BATCH):
                for side in sides:
                    for number in range(start, start + BATCH):
                        side.event(number)
        ours.close()
    print(
        json.dumps(
            {
                "events": count,
                "floor": {"is": FLOOR_IS, **figures(floor)},
                "indexed_floor": {"is": INDEXED_FLOOR_IS, **figures(indexed)},
                "tracer": figures(ours),
                "ratio": round(sum(floor.spent) / sum(ours.spent), 3),
                "ratio_of_medians": round(median(floor) / median(ours), 3),
                "ratio_of_cpu": round(floor.cpu / ours.cpu, 3),
                "ratio_of_medians_to_indexed_floor": round(median(indexed) / median(ours), 3),
            },
            indent=1,
        )
    )


def median(side: Floor | Ours) -> float:
    """Return what the event in the middle took."""
    return statistics.median(side.spent)


def figures(side: Floor | Ours) -> dict[str, float]:
    """Sum up one side."""
    ordered = sorted(side.spent)
    late = ordered[int(len(ordered) * 0.99)]
    return {
        "events_per_second": round(len(ordered) / sum(ordered)),
        "cpu_us": round(side.cpu / len(ordered) * 1e6, 1),
        "median_us": round(median(side) * 1e6, 1),
        "p99_us": round(late * 1e6, 1),
        "p99_over_median": round(late / median(side), 2),
    }


if __name__ == "__main__":
    main()
