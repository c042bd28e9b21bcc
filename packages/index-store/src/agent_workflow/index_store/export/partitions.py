"""A table of the index as files of Parquet, one for each day: equal rows make equal bytes."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from agent_workflow.index_store.export.columns import arrow_type, parse_time, to_column
from agent_workflow.index_store.export.fields import SOURCE_DIGEST, Field, FieldClass, FieldType
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.snapshot import PARTITION_TIME, IndexSnapshot
from agent_workflow.index_store.reports import Row, Value

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "v1"
NO_DAY = date(1970, 1, 1)
"""The partition of rows that have no time, and whose run has none."""

_DIGEST = Field(SOURCE_DIGEST, FieldClass.DIGEST, FieldType.TEXT)
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
    unrepresentable: dict[str, int] = field(default_factory=dict)


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


def fields_of(table: str, policy: Policy) -> tuple[Field, ...]:
    """Return the columns of a table's files: what the policy lets out, and the digest of the source."""
    return (*policy.fields(table), _DIGEST)


def parts_of(snapshot: IndexSnapshot, table: str, policy: Policy, told: TableExport, since: date) -> Iterator[Part]:
    """Return the parts of a table, by day.

    Args:
        snapshot: the index.
        table: its name.
        policy: what leaves.
        told: gets the number of rows, and what could not be told.
        since: rows of an earlier day are left out; those without a day are kept.
    """
    import pyarrow as pa

    fields = fields_of(table, policy)
    names = [column.name for column in fields]
    batches = [_batch(rows, fields, told) for rows in snapshot.rows(table, [*names, PARTITION_TIME])]
    told.rows = sum(len(batch) for batch in batches)
    if batches:
        yield from _by_day(pa.Table.from_batches(batches), table, since)


def _batch(rows: Sequence[Row], fields: Sequence[Field], told: TableExport) -> "pa.RecordBatch":
    """Turn rows into columns, the day of each row behind them."""
    import pyarrow as pa

    *columns, times = zip(*rows, strict=True)
    arrays = []
    for column, values in zip(fields, columns, strict=True):
        found = to_column(values, column.field_type)
        arrays.append(found.values)
        if found.unrepresentable:
            before = told.unrepresentable.get(column.name, 0)
            told.unrepresentable[column.name] = before + found.unrepresentable
    schema = pa.schema([(column.name, arrow_type(column.field_type)) for column in fields] + [(_DAY, pa.date32())])
    return pa.record_batch([*arrays, _days(times)], schema=schema)


def _days(times: Sequence[Value]) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        moments = pa.array(times, pa.string()).cast(arrow_type(FieldType.TIME))
        return pc.fill_null(moments.cast(pa.date32()), NO_DAY)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        found = [parse_time(value) for value in times]
        return pa.array([NO_DAY if moment is None else moment.date() for moment in found], pa.date32())


def _by_day(table: "pa.Table", name: str, since: date) -> Iterator[Part]:
    """Cut a table by day, its rows within a day in the order that they have."""
    import pyarrow.compute as pc

    days = table.column(_DAY).combine_chunks()
    content = table.drop_columns([_DAY])
    counts = sorted((count["values"], count["counts"]) for count in pc.value_counts(days).to_pylist())
    if len(counts) > 1:
        content = content.take(pc.sort_indices(days))  # which is stable
    begin = 0
    for day, count in counts:
        if day >= since or day == NO_DAY:
            yield Part(name, day, count, encode(content.slice(begin, count)))
        begin += count


def encode(table: "pa.Table") -> bytes:
    """Return a table as one file of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    # In one chunk: pages end where chunks do, and how rows were fetched must not show in the bytes.
    pq.write_table(table.combine_chunks(), sink, **_WRITER_OPTIONS)
    content: bytes = sink.getvalue().to_pybytes()
    return content
