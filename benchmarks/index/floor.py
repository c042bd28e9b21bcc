"""What any index has to pay on a state root, in plain Python and SQLite: the floor that ours is measured against.

usage: python floor.py STATE_ROOT

Prints one JSON object: ``rebuild_seconds`` (read, hash and parse every source; insert a row of 16 columns for every
journal record; one synchronous transaction a run), ``stat_seconds`` (look at every source once) and the CPU of that.
"""

import hashlib
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

COLUMNS = 16


def runs_of(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the source paths of every run."""
    for storage in ("runs", "archive"):
        for run in os.scandir(root / storage):
            sources, folders = [], [run.path]
            while folders:
                for entry in os.scandir(folders.pop()):
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.name.endswith((".json", ".jsonl")):
                        sources.append(entry.path)
            yield run.name, sources


def stat_floor(root: Path) -> tuple[float, float]:
    """Return the seconds it takes to list every run and look at every source, of the clock and of CPU."""
    began, used = time.perf_counter(), time.process_time()
    for _, sources in runs_of(root):
        for source in sources:
            os.lstat(source)
    return time.perf_counter() - began, time.process_time() - used


def rebuild_floor(root: Path, database: Path) -> tuple[float, int]:
    """Return the seconds of the least that a rebuild can do, and the number of records."""
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    names = ", ".join(f"c{index}" for index in range(COLUMNS - 3))
    connection.execute(f"CREATE TABLE records (run, path, line, {names}, PRIMARY KEY (run, path, line))")
    insert = f"INSERT INTO records VALUES ({', '.join('?' * COLUMNS)})"
    records = 0
    began = time.perf_counter()
    for run, sources in list(runs_of(root)):
        rows: list[tuple[object, ...]] = []
        for source in sources:
            content = Path(source).read_bytes()
            hashlib.sha256(content).hexdigest()
            if not source.endswith("l"):
                json.loads(content)
                records += 1
                continue
            for line, raw in enumerate(content.splitlines(), 1):
                value = json.loads(raw)
                digest = hashlib.sha256(raw).hexdigest()
                some = [value.get(name) for name in ("schema", "event_id", "recorded_at", "category", "state")]
                rows.append((run, source, line, *some, *[None] * (COLUMNS - 9), digest))
        records += len(rows)
        connection.execute("BEGIN")
        connection.executemany(insert, rows)
        connection.execute("COMMIT")
    seconds = time.perf_counter() - began
    connection.close()
    return seconds, records


def main() -> None:
    """Measure the state root that the command line names."""
    root = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        seconds, records = rebuild_floor(root, Path(folder) / "floor.sqlite3")
    look, look_cpu = (statistics.median(some) for some in zip(*(stat_floor(root) for _ in range(5)), strict=True))
    found = {"rebuild_seconds": seconds, "stat_seconds": look, "cpu_of_stat_seconds": look_cpu, "records": records}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
