"""A table of the index as columns of Arrow. ``pyarrow`` is imported by the functions: it is an extra."""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from agent_workflow.index_store.errors import DamagedDatabase
from agent_workflow.index_store.export.columns import Column, arrow_type, to_column, to_times
from agent_workflow.index_store.export.fields import FieldType
from agent_workflow.index_store.export.policy import Policy
from agent_workflow.index_store.export.snapshot import OF_ONE_RUN, PARTITION_TIME, IndexSnapshot
from agent_workflow.index_store.values import Value

if TYPE_CHECKING:
    import pyarrow as pa

NO_DAY = date(1970, 1, 1)
"""The partition of rows that have no time, and whose run has none."""

KEPT_BY_RUN = OF_ONE_RUN | {"runs"}
"""Tables of which the rows of single runs can be read."""

_OWN_TIME = {
    **dict.fromkeys(("incidents", "permissions", "events", "health", "remediations", "processes"), "recorded_at"),
    **dict.fromkeys(("errors", "notices"), "detected_at"),
    **dict.fromkeys(("workflows", "workflow_nodes"), "run_at"),
    "repairs": "created_at",
}
"""The time that decides a row's day; where it is missing, and in the other tables, it is that of the run."""

_RUN_AT = "run_at"
_OF_THE_RUN = frozenset({"storage_class", "source_dir", "executor", "model", "pack_id", "superseded", _RUN_AT})
"""Fields that rows of :data:`OF_ONE_RUN` have from their run. Joined here: the engine would do it row by row."""


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

    def count_lost(self, column: str, lost: int) -> None:
        """Count values that could not be told."""
        if lost:
            self.unrepresentable[column] = self.unrepresentable.get(column, 0) + lost


class TableRows(NamedTuple):
    """Rows in their order: the fields that leave, and beside them what decides where each row lies."""

    content: "pa.Table"
    days: "pa.Array"
    """The day of each; never null."""
    sessions: "pa.Array | None"
    """The run of each, in tables that are kept by run."""


@dataclass(frozen=True)
class FetchedTable:
    """What was read of a table, still in the pieces that it came in.

    Attributes:
        told: names the table.
        leaving: the fields that leave.
        types: of the columns that were read.
        pieces: some thousand rows each, by column.
        facts: what rows have from their runs, in tables of :data:`OF_ONE_RUN`.
        database: path of the index, for messages.
    """

    told: TableExport
    leaving: Mapping[str, FieldType]
    types: Mapping[str, FieldType]
    pieces: Sequence[Sequence[Column]]
    facts: Mapping[str, Mapping[str, Value]]
    database: str


def fetch_table(
    snapshot: IndexSnapshot, policy: Policy, told: TableExport, runs: Iterable[str] | None = None
) -> FetchedTable:
    """Read a table: all that needs the index, and as little else as can be, for the rest is work of another thread.

    Args:
        snapshot: the index.
        policy: what leaves.
        told: names the table, and gets the number of rows.
        runs: only the rows of these, of a table that is kept by run; None for all rows.
    """
    leaving = {field.name: field.field_type for field in policy.fields(told.name)}
    types = columns_read(told.name, policy)
    pieces = []
    with _collection_paused():
        for rows in snapshot.rows(told.name, list(types), runs):
            told.rows += len(rows)
            columns = zip(*rows, strict=True)
            pieces.append([to_column(values, t) for values, t in zip(columns, types.values(), strict=True)])
    facts = snapshot.run_facts if told.name in OF_ONE_RUN else {}
    return FetchedTable(told, leaving, types, pieces, facts, str(snapshot.location.database))


def columns_read(table: str, policy: Policy) -> dict[str, FieldType]:
    """Return the columns that are read of a table: those that leave, and those that rows are laid out by."""
    leaving = {field.name: field.field_type for field in policy.fields(table)}
    joined = _OF_THE_RUN if table in OF_ONE_RUN else frozenset()
    return {name: field_type for name, field_type in leaving.items() if name not in joined} | _beside(table)


def _beside(table: str) -> dict[str, FieldType]:
    """Return what is read of a table although it may not leave: the days and runs of rows go by it."""
    times = [_OWN_TIME.get(table)] if table in OF_ONE_RUN else [_OWN_TIME.get(table), PARTITION_TIME]
    beside = {name: FieldType.TIME for name in times if name is not None}
    return beside | ({"session_id": FieldType.TEXT} if table in KEPT_BY_RUN else {})


def lay_out(fetched: FetchedTable) -> TableRows:
    """Put the pieces of a table together, with the day of each row; counts the values that could not be told.

    Raises:
        DamagedDatabase: a row belongs to no run.
    """
    import pyarrow as pa

    told, leaving = fetched.told, fetched.leaving
    found = {name: _whole(fetched, place, name) for place, name in enumerate(fetched.types)}
    sessions = found.get("session_id") if told.name in KEPT_BY_RUN else None
    if told.name in OF_ONE_RUN and sessions is not None:
        found |= _of_the_runs(fetched, sessions)
    content = pa.Table.from_arrays([found[name] for name in leaving], names=list(leaving))
    return TableRows(content, _days(found, _OWN_TIME.get(told.name)), sessions)


def _whole(fetched: FetchedTable, place: int, name: str) -> "pa.Array":
    """Return one column in one piece."""
    import pyarrow as pa

    columns = [piece[place] for piece in fetched.pieces]
    if not columns:
        return pa.array([], arrow_type(fetched.types[name]))
    lost = sum(column.unrepresentable for column in columns)
    if fetched.types[name] is FieldType.TIME:
        columns = [to_times(column.values) for column in columns]
        lost += sum(column.unrepresentable for column in columns)
    if name in fetched.leaving:
        fetched.told.count_lost(name, lost)
    return pa.concat_arrays([column.values for column in columns])


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


def _of_the_runs(fetched: FetchedTable, sessions: "pa.Array") -> dict[str, "pa.Array"]:
    """Return the columns that rows have from their runs, and when those ran; rows of a run stand together."""
    import pyarrow as pa
    import pyarrow.compute as pc

    stretches = pc.run_end_encode(sessions)
    try:
        facts = [fetched.facts[session] for session in stretches.values.to_pylist()]
    except KeyError as error:
        raise DamagedDatabase(
            f"{fetched.database} has {fetched.told.name} of {error.args[0]!r}, which is no run in it",
            path=fetched.database,
            hint="agent-workflow index rebuild",
        ) from None

    def spread(values: "pa.Array") -> "pa.Array":
        return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(stretches.run_ends, values))

    found = {}
    wanted = {name: field_type for name, field_type in fetched.leaving.items() if name in _OF_THE_RUN}
    for name, field_type in ({_RUN_AT: FieldType.TIME} | wanted).items():
        values = [fact[name] for fact in facts]
        column = to_column(values, field_type).values
        found[name] = spread(to_times(column).values if field_type is FieldType.TIME else column)
        if name in wanted:
            known = spread(pa.array([value is not None for value in values]))
            fetched.told.count_lost(name, int(pc.sum(known).as_py() or 0) - (len(known) - found[name].null_count))
    return found


def _days(found: Mapping[str, "pa.Array"], own_time: str | None) -> "pa.Array":
    import pyarrow as pa
    import pyarrow.compute as pc

    of_run = _RUN_AT if _RUN_AT in found else PARTITION_TIME
    times = [name for name in (own_time, of_run) if name is not None and name in found]
    days = [found[name].cast(pa.date32()) for name in times]
    return pc.coalesce(*days, pa.scalar(NO_DAY, pa.date32())) if days[0].null_count else days[0]


def days_by_run(rows: TableRows) -> dict[str, dict[date, int]]:
    """Return how many rows each run has on each day."""
    import pyarrow as pa

    table = pa.Table.from_arrays([rows.sessions, rows.days], names=["session", "day"])
    counted = table.group_by(["session", "day"], use_threads=False).aggregate([([], "count_all")])
    found: dict[str, dict[date, int]] = {}
    for row in counted.to_pylist():
        found.setdefault(row["session"], {})[row["day"]] = row["count_all"]
    return found
