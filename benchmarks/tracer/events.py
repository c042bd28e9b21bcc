"""How fast events are recorded, beside what any recorder must pay.

usage: python benchmarks/tracer/events.py [EVENTS] -> one JSON document

The floor is one raw append of a finished line plus one autocommit insert of a finished row into a table of the same
columns, WAL, synchronous NORMAL. Both take turns in the same process, so that a busy machine slows both.
"""

import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from agent_workflow.trace_schema import INSERT_EVENT, TABLES
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


class Floor:
    """One raw append and one autocommit insert."""

    def __init__(self, folder: Path) -> None:
        """Make an empty file and an empty table."""
        self._fd = os.open(folder / "floor.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._connection = sqlite3.connect(folder / "floor.db", isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        columns = ", ".join(f"{name} {kind}" for name, kind in TABLES["events"].columns.items())
        self._connection.execute(f"CREATE TABLE events ({columns})")

    def event(self, number: int) -> None:
        """Write one event that was made up before."""
        payload = json.dumps(PAYLOAD)
        row = (f"evt_{number:012x}", "7f3a91c2", NAMES["phase_id"], NAMES["parent_id"], "tool_call", "bash: ls -la src")
        line = json.dumps([*row, payload]) + "\n"
        began = time.perf_counter()
        os.write(self._fd, line.encode())
        self._connection.execute(INSERT_EVENT, (*row, payload, None, MOMENT, MOMENT))
        self.spent.append(time.perf_counter() - began)

    spent: list[float]


class Ours:
    """The tracer."""

    def __init__(self, folder: Path) -> None:
        """Open a new session."""
        self._tracer = Tracer(folder / "sssf.db", folder, "7f3a91c2")

    def event(self, _: int) -> None:
        """Record one event from its payload."""
        began = time.perf_counter()
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

    spent: list[float]


def main() -> None:
    """Measure and print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        floor, ours = Floor(Path(folder)), Ours(Path(folder))
        floor.spent, ours.spent = [], []
        for start in range(0, count, BATCH):
            for side in (floor, ours):
                for number in range(start, start + BATCH):
                    side.event(number)
    document = {"events": count, "floor": figures(floor.spent), "tracer": figures(ours.spent)}
    document["ratio"] = round(sum(floor.spent) / sum(ours.spent), 3)
    document["ratio_of_medians"] = round(statistics.median(floor.spent) / statistics.median(ours.spent), 3)
    print(json.dumps(document))


def figures(spent: list[float]) -> dict[str, float]:
    """Sum up one side."""
    ordered = sorted(spent)
    median, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    return {
        "events_per_second": round(len(spent) / sum(spent)),
        "median_us": round(median * 1e6, 1),
        "p99_us": round(late * 1e6, 1),
        "p99_over_median": round(late / median, 2),
    }


if __name__ == "__main__":
    main()
