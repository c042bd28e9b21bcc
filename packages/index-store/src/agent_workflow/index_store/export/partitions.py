"""A table of the index as files of Parquet, one for each day: equal rows make equal bytes."""

import hashlib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from agent_workflow.index_store.export.tables import NO_DAY, TableRows

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "v1"
WRITER_OPTIONS: dict[str, Any] = {
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

    @cached_property
    def sha256(self) -> str:
        """Digest of its bytes."""
        return hashlib.sha256(self.content).hexdigest()


def part_path(table: str, host: str, day: date, sha256: str) -> str:
    """Return the path of a part below the root of the dataset."""
    return f"table={table}/schema={SCHEMA}/host={host}/date={day.isoformat()}/part-{sha256}.parquet"


def parts_of(table: TableRows, name: str, since: date, only: Collection[date] | None = None) -> Iterator[Part]:
    """Cut a table by day, its rows within a day in the order that they have.

    Args:
        table: its rows.
        name: of the table.
        since: earlier days are left out; rows without a day are not.
        only: no days but these; None for all.
    """
    import pyarrow.compute as pc

    content = table.content
    counts = sorted((count["values"], count["counts"]) for count in pc.value_counts(table.days).to_pylist())
    if len(counts) > 1:
        content = content.take(pc.sort_indices(table.days))  # which is stable
    begin = 0
    for day, count in counts:
        if not is_retired(day, since) and (only is None or day in only):
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
    pq.write_table(table.combine_chunks(), sink, **WRITER_OPTIONS)
    content: bytes = sink.getvalue().to_pybytes()
    return content
