"""A question put to a dataset with DuckDB: the files that the manifests name, and no others."""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from agent_workflow.index_store.errors import InvalidQuestion
from agent_workflow.index_store.export.errors import DamagedDataset
from agent_workflow.index_store.export.fields import FieldType
from agent_workflow.index_store.export.manifest import Manifest, PartEntry
from agent_workflow.index_store.export.store import RemoteStore, Store, open_store
from agent_workflow.index_store.fleet.hosts import parts_between, present, read_hosts, standing
from agent_workflow.index_store.fleet.questions import QUESTIONS, Question, columns_of
from agent_workflow.index_store.fleet.report import FleetReport
from agent_workflow.index_store.moments import to_milliseconds
from agent_workflow.index_store.queries import DEFAULT_LIMIT, FILTERS, Filters, checked_parameters
from agent_workflow.index_store.values import Value

if TYPE_CHECKING:
    import duckdb

Parameter = str | int | datetime | list[str]

_SQL_TYPES = {
    FieldType.TEXT: "VARCHAR",
    FieldType.INTEGER: "BIGINT",
    FieldType.REAL: "DOUBLE",
    FieldType.TIME: "TIMESTAMPTZ",
    FieldType.MONEY: "DECIMAL(38, 12)",
}
_READ = "FROM read_parquet($parts, hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, %s)"
_ATTEMPTS_TO_READ = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MILLISECOND = 999_000


def query_fleet(dataset: str, kind: str, filters: Filters | None = None, *, limit: int = DEFAULT_LIMIT) -> FleetReport:
    """Answer one curated question over every host of a dataset, newest first.

    Args:
        dataset: a directory, or a URL that fsspec knows.
        kind: one of :data:`agent_workflow.index_store.KINDS`.
        filters: only those that the kind takes.
        limit: most rows to return, 1 to 10,000.

    Raises:
        InvalidQuestion: the kind, a filter or the limit is not one of the closed list.
        MissingDataset: no host has exported there.
        DamagedDataset: a manifest, or a file that one names, is missing or is none.
    """
    import duckdb

    filters = filters or Filters()
    given = checked_parameters(kind, filters, limit)
    parameters: dict[str, Parameter] = {"limit": limit}
    for name in FILTERS:
        value = given.get(name)
        if value is not None:
            parameters[name] = _bound(name, value) if isinstance(value, float) else str(value)
    store, question = open_store(dataset), QUESTIONS[kind]
    for _ in range(_ATTEMPTS_TO_READ):
        manifests = read_hosts(store)
        try:
            return _answer(store, manifests, question, parameters)
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            failure = error
            if manifests == read_hosts(store):
                break  # else an export that ended meanwhile removed a part, and the manifest now names another
    raise DamagedDataset(
        f"{store.url} has a file that cannot be read: {str(failure).splitlines()[0]}",
        path=store.url,
        hint="remove it, then export the host that it belongs to again",
    ) from failure


def _bound(name: str, seconds: float) -> datetime:
    """Return the first or last moment that the index, which tells times to the millisecond, takes for this one."""
    try:
        told = _EPOCH + timedelta(seconds=to_milliseconds(seconds))
        if name == "since":
            return told - timedelta(microseconds=500 if told.microsecond else 0)
        return told + timedelta(microseconds=999 if told.microsecond == _LAST_MILLISECOND else 499)
    except OverflowError:
        raise InvalidQuestion("--since or --until is out of range", hint="a date such as 2026-07-01") from None


def _answer(
    store: Store, manifests: Sequence[Manifest], question: Question, parameters: dict[str, Parameter]
) -> FleetReport:
    import duckdb

    since, until = (parameters.get(name) for name in ("since", "until"))
    earliest = since if isinstance(since, datetime) else None
    latest = until if isinstance(until, datetime) else None
    files = [
        _File(manifest, part)
        for manifest in manifests
        for part in parts_between(manifest, question.table, earliest, latest)
    ]
    with duckdb.connect(":memory:") as connection:
        if isinstance(store, RemoteStore):
            connection.register_filesystem(store.file_system)
        columns, rows = _ask(_Asking(connection, store, question, parameters), files)
    hosts = tuple(standing(store, manifest, question.table) for manifest in manifests)
    return FleetReport(store.url, question.kind, hosts, columns, tuple(rows))


class _File(NamedTuple):
    manifest: Manifest
    part: PartEntry


def _ask(asking: "_Asking", files: list[_File]) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
    """Read the newest days first, and no more of them than it takes: rows of an earlier day come behind all of those.

    A row without a time of its own lies on the day of its run, and behind all that have one; where there may be such
    rows they are asked for at the end.
    """
    question = asking.question
    if question.select is not None or any(_has_odd_times(file.manifest, question) for file in files):
        return asking.answer(files, None)
    timed = question.timeless_on_a_day and not asking.bounded
    columns, rows = asking.answer([], None)
    for batch in _newest_first(files):
        if len(rows) == asking.limit:
            break
        rows += asking.answer(batch, True if timed else None, already=len(rows))[1]
    if timed and len(rows) < asking.limit:
        rows += asking.answer(files, False, already=len(rows))[1]
    return columns, rows


def _has_odd_times(manifest: Manifest, question: Question) -> bool:
    """Tell whether a host had times that are none: such a row has no time any more, and lies on any day."""
    lost = manifest.tables.get(question.table, {}).get("unrepresentable", {})
    return any(re.search(rf"\b{re.escape(name)}\b", question.time) for name in lost)


def _newest_first(files: list[_File]) -> Iterator[list[_File]]:
    """Return the files of the newest day, then of the two before it, then of four, and so on."""
    by_day: dict[date, list[_File]] = {}
    for file in files:
        by_day.setdefault(file.part.day, []).append(file)
    days = sorted(by_day, reverse=True)
    count = 1
    while days:
        yield [file for day in days[:count] for file in by_day[day]]
        days, count = days[count:], 2 * count


@dataclass(frozen=True)
class _Asking:
    """One question on an open engine."""

    connection: "duckdb.DuckDBPyConnection"
    store: Store
    question: Question
    parameters: Mapping[str, Parameter]

    @property
    def limit(self) -> int:
        """Most rows of the whole answer."""
        return int(str(self.parameters["limit"]))

    @property
    def bounded(self) -> bool:
        """A time is asked for, so a row without one is no answer."""
        return "since" in self.parameters or "until" in self.parameters

    def answer(
        self, files: Sequence[_File], has_time: bool | None, already: int = 0
    ) -> tuple[tuple[str, ...], list[dict[str, Value]]]:
        """Return the columns and rows of some files.

        Args:
            files: to read.
            has_time: only rows with, or without, a time of their own; None for all.
            already: rows that the answer has, which the limit counts.
        """
        filters = [name for name in FILTERS if name in self.parameters]
        listings = {present(file.manifest, self.question.table) for file in files}
        sql = statement(self.question, filters, listings, has_time)
        given = {**self.parameters, "limit": self.limit - already}
        if files:
            given["parts"] = [self.store.locate(file.part.path(file.manifest.host)) for file in files]
        asked = self.connection.execute(sql, given)
        columns = tuple(str(column[0]) for column in asked.description)
        return columns, [dict(zip(columns, map(_value, row), strict=True)) for row in asked.fetchall()]


def statement(
    question: Question, filters: Sequence[str], listings: Set[tuple[str, ...]], has_time: bool | None = None
) -> str:
    """Return the SQL of a question: fixed text, with names from the closed list of fields.

    Args:
        question: what is asked.
        filters: names of those that are given.
        listings: the columns that the files have, one list for each policy; none where there is no file.
        has_time: only rows with, or without, a time of their own; None for all.
    """
    there = {name for listing in listings for name in listing}
    columns = ", ".join(
        name if name in there else f"CAST(NULL AS {_SQL_TYPES[field_type]}) AS {name}"
        for name, field_type in columns_of(question.table)
    )
    # Column by column in every file is slower, and needed only where the hosts' policies differ.
    read = _READ % ("union_by_name = true" if len(listings) > 1 else "union_by_name = false")
    nothing = "FROM (SELECT CAST(NULL AS VARCHAR) AS host, CAST(NULL AS DATE) AS date) WHERE false"
    rows = f"SELECT host, date, {columns} {read if listings else nothing}"
    conditions = [question.condition(name) for name in filters]
    if has_time is not None:
        conditions.append(f"{question.time} IS {'NOT NULL' if has_time else 'NULL'}")
    where = " AND ".join(conditions) or "true"
    answer = ", ".join(("host", *question.columns))
    if question.select is None:
        select = f"SELECT {answer} FROM rows_of_table WHERE {where}"  # noqa: S608 -- names of the list
    else:
        select = f"SELECT * FROM ({question.select}) AS summary WHERE {where}"  # noqa: S608 -- constants
    return f"WITH rows_of_table AS ({rows}) {select} ORDER BY {question.order} LIMIT $limit"


def _value(value: object) -> Value:
    """Return a cell as the index has it: times as ISO 8601 in UTC, money as a number."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, Decimal):
        return float(value)
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"a column of {type(value).__name__}")
