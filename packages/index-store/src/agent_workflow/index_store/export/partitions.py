"""A table of the index as files of Parquet, one for each day: equal rows make equal bytes."""

import gc
import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date
from typing import TYPE_CHECKING, Any

from agent_workflow.index_store.export.columns import arrow_type, to_column
from agent_workflow.index_store.export.fields import Field, FieldType
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.snapshot import PARTITION_TIME, IndexSnapshot
from agent_workflow.index_store.values import Row, Value

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "v1"
NO_DAY = date(1970, 1, 1)
"""The partition of rows that have no time, and whose run has none."""

_DAY = "partition_day"
_WRITER_OPTIONS: dict[str, Any] = {
    "version": "2.6",
    "data_page_version": "1.0",
    "compression": "zstd",
    "compression_level": 1,
    "use_dictionary": True,
    "write_statistics": True,
    "store_schema": False,
    "row_group_size": 65_536,
    "write_batch_size": 1024,
}
"""All that decides about the bytes, so that a newer pyarrow with other defaults writes the same."""


@dataclass
class TableExport:
    """What became of one table.

    Attributes:
        name: of the table.
        columns: that its files have, partition columns not among them.
        left_out: fields that stay by the policy.
        rows: that the index has.
        unrepresentable: values by column that their type cannot hold, exported as null.
    """

    name: str
    columns: tuple[str, ...]
    left_out: tuple[str, ...]
    rows: int = 0
    unrepresentable: dict[str, int] = dataclass_field(default_factory=dict)


@dataclass(frozen=True)
class Part:
    """One file.

    Attributes:
        table: name of the table.
        day: UTC.
        rows: in it.
        content: its bytes.
    """

    table: str
    day: date
    rows: int
    content: bytes

    @property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return hashlib.sha256(self.content).hexdigest()


def part_path(table: str, host: str, day: date, sha256: str) -> str:
    """Return the path of a part below the root of the dataset."""
    return f"table={table}/schema={SCHEMA}/host={host}/date={day.isoformat()}/part-{sha256}.parquet"


def read_table(snapshot: IndexSnapshot, policy: Policy, told: TableExport) -> "pa.Table":
    """Return all rows of a table, the day of each in a column behind the fields that leave.

    Args:
        snapshot: the index.
        policy: what leaves.
        told: names the table, and gets the number of rows and of values that could not be told.
    """
    import pyarrow as pa

    fields = policy.fields(told.name)
    own_time = _OWN_TIME.get(told.name)
    names = [field.name for field in fields]
    schema = _schema(fields)
    batches = []
    with _collection_paused():
        for rows in snapshot.rows(told.name, [*names, own_time or "NULL", PARTITION_TIME]):
            batches.append(_batch(rows, fields, schema, told))
            told.rows += len(rows)
    return pa.Table.from_batches(batches, schema)


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Keep the garbage collector from looking at millions of rows that hold no cycle: an eighth of an export."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


_OWN_TIME = {
    **dict.fromkeys(("incidents", "permissions", "events", "health", "remediations", "processes"), "recorded_at"),
    **dict.fromkeys(("errors", "notices"), "detected_at"),
    **dict.fromkeys(("metrics", "workflows", "workflow_nodes"), "run_at"),
    "repairs": "created_at",
}
"""The time that decides a row's day; where it is missing, and in the other tables, it is that of the run."""


def _schema(fields: Sequence[Field]) -> "pa.Schema":
    import pyarrow as pa

    return pa.schema([(field.name, arrow_type(field.field_type)) for field in fields] + [(_DAY, pa.date32())])


def _batch(rows: Sequence[Row], fields: Sequence[Field], schema: "pa.Schema", told: TableExport) -> "pa.RecordBatch":
    """Turn rows into columns: the fields, then the row's own time and that of its run, which become its day."""
    import pyarrow as pa

    *columns, own_times, run_times = zip(*rows, strict=True)
    own_time = _OWN_TIME.get(told.name)
    own_moments = None
    arrays = []
    for field, values in zip(fields, columns, strict=True):
        found = to_column(values, field.field_type)
        arrays.append(found.values)
        if field.name == own_time:
            own_moments = found.values
        if found.unrepresentable:
            told.unrepresentable[field.name] = told.unrepresentable.get(field.name, 0) + found.unrepresentable
    if own_moments is None:  # the policy keeps the time, and it still decides the day
        own_moments = to_column(own_times, FieldType.TIME).values
    return pa.record_batch([*arrays, _days(own_moments, run_times)], schema=schema)


def _days(own_moments: "pa.Array", run_times: Sequence[Value]) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    own = own_moments.cast(pa.date32())
    if not own.null_count:
        return own
    of_run = to_column(run_times, FieldType.TIME).values.cast(pa.date32())
    return pc.coalesce(own, of_run, pa.scalar(NO_DAY, pa.date32()))


def parts_of(table: "pa.Table", name: str, since: date) -> Iterator[Part]:
    """Cut a table by day, its rows within a day in the order that they have.

    Args:
        table: as :func:`read_table` gives it.
        name: of the table.
        since: earlier days are left out; rows without a day are not.
    """
    import pyarrow.compute as pc

    if not len(table):
        return
    days = table.column(_DAY).combine_chunks()
    content = table.drop_columns([_DAY])
    counts = sorted((count["values"], count["counts"]) for count in pc.value_counts(days).to_pylist())
    if len(counts) > 1:
        content = content.take(pc.sort_indices(days))  # which is stable
    begin = 0
    for day, count in counts:
        if not is_retired(day, since):
            yield Part(name, day, count, encode(content.slice(begin, count)))
        begin += count


def is_retired(day: date, since: date) -> bool:
    """Tell whether a retention rule removes a day; rows without a day have no age, and stay."""
    return day < since and day != NO_DAY


def encode(table: "pa.Table") -> bytes:
    """Return a table as one file of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # In one chunk: pages end where chunks do, and how rows were fetched must not show in the bytes.
    pq.write_table(table.combine_chunks(), sink, **_WRITER_OPTIONS)
    content: bytes = sink.getvalue().to_pybytes()
    return content
