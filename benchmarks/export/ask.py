"""Measure questions to a dataset of a whole fleet: 100 hosts, 30 days, 10,000 rows for each host and day.

usage: python ask.py [--hosts N] [--days N] [--rows N] [--rounds N]

Every host has the same files, as hard links, so that 30 million rows fit on a small disk; the engine reads each.
"""

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

from agent_workflow.index_store import Filters
from agent_workflow.index_store.export import DEFAULT_POLICY, TABLES, FieldType
from agent_workflow.index_store.export.columns import arrow_type
from agent_workflow.index_store.export.manifest import Manifest, PartEntry, manifest_path
from agent_workflow.index_store.export.partitions import Part, encode
from agent_workflow.index_store.fleet import query_fleet

MOST_SECONDS = 2.0
FIRST_DAY = date(2026, 6, 1)
WORDS = {
    "category": ("stalled", "crashed", "permission_wait", "resource_pressure"),
    "severity": ("low", "high"),
    "state": ("open", "resolved", "resolved", "resolved"),
    "executor": ("pi", "codex", "claude"),
    "model": ("large", "small"),
    "storage_class": ("active", "archive"),
}


def column(name: str, field_type: FieldType, day: date, rows: int, chance: Random) -> Any:  # noqa: ANN401 -- pyarrow
    """Return one column of incidents of a day."""
    values: Sequence[object]
    if field_type is FieldType.TIME:
        midnight = datetime(day.year, day.month, day.day, tzinfo=UTC)
        values = [midnight + timedelta(seconds=86_399 * row / rows) for row in range(rows)]
    elif field_type is FieldType.INTEGER:
        values = list(range(rows))
    elif name in WORDS:
        values = chance.choices(WORDS[name], k=rows)
    elif name == "session_id":
        values = [f"run-{day:%m%d}-{row // 20:05d}" for row in range(rows)]
    else:
        values = [f"{chance.getrandbits(256):064x}" for _ in range(rows)]
    return pa.array(values, arrow_type(field_type))


def write_fleet(place: Path, hosts: int, days: int, rows: int) -> None:
    """Write the dataset and its manifests."""
    fields, chance = DEFAULT_POLICY.fields("incidents"), Random(20260601)
    whole = {"columns": [field.name for field in fields], "left_out": [], "rows": rows * days, "unrepresentable": {}}
    parts = []
    for number in range(days):
        day = FIRST_DAY + timedelta(days=number)
        columns = [column(field.name, field.field_type, day, rows, chance) for field in fields]
        parts.append(Part("incidents", day, rows, encode(pa.table(columns, [field.name for field in fields]))))
    entries = tuple(PartEntry(part.table, part.day, part.rows, len(part.content), part.sha256) for part in parts)
    for number in range(hosts):
        host = f"host-{number:03d}"
        for part, entry in zip(parts, entries, strict=True):
            path, first = place / entry.path(host), place / entry.path("host-000")
            path.parent.mkdir(parents=True)
            if number:
                os.link(first, path)
            else:
                path.write_bytes(part.content)
        tables: dict[str, dict[str, Any]] = {name: whole if name == "incidents" else {"columns": []} for name in TABLES}
        manifest = Manifest(host, "benchmark", "0", {"freshness": "current"}, {}, tables, entries)
        (place / manifest_path(host)).parent.mkdir(parents=True)
        (place / manifest_path(host)).write_bytes(manifest.to_bytes())


def main() -> None:
    """Write a fleet, ask it, and print the times beside their limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--hosts", 100), ("--days", 30), ("--rows", 10_000), ("--rounds", 5)):
        parser.add_argument(name, type=int, default=default)
    arguments = parser.parse_args()
    last = FIRST_DAY + timedelta(days=arguments.days - 1)
    questions = (
        (
            "open incidents of one executor on the last day",
            Filters(state="open", executor="codex", since=str(last)),
            MOST_SECONDS,
        ),
        ("one run of the first day, no day named", Filters(session=f"run-{FIRST_DAY:%m%d}-00007"), MOST_SECONDS),
        ("open incidents of one category in all days", Filters(state="open", category="crashed"), MOST_SECONDS),
    )
    with tempfile.TemporaryDirectory() as folder:
        write_fleet(Path(folder), arguments.hosts, arguments.days, arguments.rows)
        print(f"  {arguments.hosts} hosts, {arguments.days} days, {arguments.rows} rows each")
        for told, filters, limit in questions:
            found = []
            for _ in range(arguments.rounds):
                began = time.perf_counter()
                answer = query_fleet(folder, "incidents", filters)
                found.append(time.perf_counter() - began)
                if not answer.rows:
                    raise SystemExit(f"no answer to: {told}")
            took = statistics.median(found)
            verdict = "" if limit is None else f"   at most {limit:g}   {'holds' if took <= limit else 'EXCEEDED'}"
            print(f"  {told:<50}{took:8.3f} s{verdict}", flush=True)


if __name__ == "__main__":
    main()
