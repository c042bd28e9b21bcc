"""Measure an export against pyarrow writing the same columns, in the same process and in turn.

usage: python write.py [--runs N] [--records N] [--rounds N]

An export reads the index, turns its values into columns, compresses, hashes, syncs every file to the disk and compares
the index with its sources. pyarrow is given the columns: once as it has them in memory, once as lists of the values
that the index holds, which it has to turn into columns as an export does. It writes the same partitions with the same
compression, and syncs nothing.
"""

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parents[2]))
from benchmarks.index.workload import write_state_root

from agent_workflow import index_store
from agent_workflow.index_store.export import export

LEAST_SHARE = 0.5
PARTITIONS = ds.partitioning(
    pa.schema([("schema", pa.string()), ("host", pa.string()), ("date", pa.date32())]), flavor="hive"
)


class Cost(NamedTuple):
    """Seconds, and seconds of processor, which others on the machine change less."""

    wall: float
    cpu: float


def cost(action: Callable[[Path], object], scratch: Path) -> Cost:
    """Return what an action takes that writes below a fresh directory."""
    with tempfile.TemporaryDirectory(dir=scratch) as folder:
        began = time.perf_counter(), time.process_time()
        action(Path(folder))
        return Cost(time.perf_counter() - began[0], time.process_time() - began[1])


def tables_of(dataset: Path) -> dict[str, Any]:
    """Return the tables of a dataset, with their partition columns."""
    folders = [folder for folder in dataset.iterdir() if folder.name.startswith("table=")]
    return {folder.name: ds.dataset(folder, partitioning=PARTITIONS).to_table() for folder in folders}


def write_tables(tables: dict[str, Any], place: Path) -> None:
    """Let pyarrow write tables, partitioned as an export is."""
    for name, table in tables.items():
        pq.write_to_dataset(
            table, place / name, partition_cols=["schema", "host", "date"], compression="zstd", compression_level=1
        )


def as_in_the_index(table: Any) -> list[list[Any]]:  # noqa: ANN401 -- pyarrow has no types
    """Return the columns as lists of values, times as text."""
    return [
        (column.cast(pa.string()) if pa.types.is_timestamp(column.type) else column).to_pylist()
        for column in table.columns
    ]


def from_values(values: list[list[Any]], schema: Any) -> Any:  # noqa: ANN401 -- pyarrow has no types
    """Let pyarrow turn lists of values into a table."""
    columns = [
        pa.array(column, pa.string()).cast(field.type)
        if pa.types.is_timestamp(field.type)
        else pa.array(column, field.type)
        for column, field in zip(values, schema, strict=True)
    ]
    return pa.table(columns, schema=schema)


def main() -> None:
    """Measure, and print the shares beside their limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--records", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        root = scratch / "state"
        write_state_root(root, arguments.runs, arguments.records)
        index_store.rebuild(root)
        rows = sum(table.rows for table in export(root, str(scratch / "dataset")).tables)
        tables = tables_of(scratch / "dataset")
        values = {name: (as_in_the_index(table), table.schema) for name, table in tables.items()}
        gc.freeze()  # the values that pyarrow is given here are no burden of an export
        measured: dict[str, list[Cost]] = {"export": [], "unchanged": [], "columns": [], "values": []}
        actions: dict[str, Callable[[Path], object]] = {
            "export": lambda place: export(root, str(place)),
            "unchanged": lambda _: export(root, str(scratch / "dataset")),
            "columns": lambda place: write_tables(tables, place),
            "values": lambda place: write_tables({n: from_values(*v) for n, v in values.items()}, place),
        }
        for _ in range(arguments.rounds):
            for name, action in actions.items():
                measured[name].append(cost(action, scratch))
    show(rows, measured)


def show(rows: int, measured: dict[str, list[Cost]]) -> None:
    """Print the figures: medians, and of the shares every round's as well."""
    print(f"  {rows} rows")
    for name, told in (
        ("export", "export"),
        ("unchanged", "export of an unchanged index"),
        ("values", "pyarrow, from the values of the index"),
        ("columns", "pyarrow, from columns in memory"),
    ):
        wall, cpu = (statistics.median(found) for found in zip(*measured[name], strict=True))
        print(f"  {told:<40} {wall:8.3f} s  {cpu:8.3f} s of processor")
    for name, told in (("values", "from values"), ("columns", "from memory")):
        shares = [
            (floor.wall / ours.wall, floor.cpu / ours.cpu)
            for floor, ours in zip(measured[name], measured["export"], strict=True)
        ]
        wall, cpu = (statistics.median(found) for found in zip(*shares, strict=True))
        every = " ".join(f"{share:.2f}" for share, _ in shares)
        verdict = ("holds" if wall >= LEAST_SHARE else "MISSED") if name == "values" else ""
        print(f"  share of pyarrow's speed, {told:<14}{wall:8.2f}     at least {LEAST_SHARE}   {verdict}")
        print(f"      in each round: {every}; of processor time: {cpu:.2f}")


if __name__ == "__main__":
    main()
