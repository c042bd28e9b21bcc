"""A question put to a dataset with DuckDB: the files that the manifests name, and no others."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal

from agent_workflow.index_store.errors import InvalidQuestion
from agent_workflow.index_store.export.errors import DamagedDataset
from agent_workflow.index_store.export.fields import FieldType
from agent_workflow.index_store.export.manifest import Manifest
from agent_workflow.index_store.export.store import RemoteStore, Store, open_store
from agent_workflow.index_store.fleet.hosts import parts_between, present, read_hosts, standing
from agent_workflow.index_store.fleet.questions import QUESTIONS, Question, columns_of
from agent_workflow.index_store.fleet.report import FleetReport
from agent_workflow.index_store.queries import DEFAULT_LIMIT, FILTERS, Filters, checked_parameters
from agent_workflow.index_store.reports import Value

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
            parameters[name] = _moment(value) if isinstance(value, float) else str(value)
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
        hint="export the host that it belongs to again",
    ) from failure


def _moment(seconds: float) -> datetime:
    try:
        return _EPOCH + timedelta(seconds=seconds)
    except OverflowError:
        raise InvalidQuestion("--since or --until is out of range", hint="a date such as 2026-07-01") from None


def _answer(
    store: Store, manifests: Sequence[Manifest], question: Question, parameters: dict[str, Parameter]
) -> FleetReport:
    import duckdb

    since, until = (parameters.get(name) for name in ("since", "until"))
    parts = [
        store.locate(part.path(manifest.host))
        for manifest in manifests
        for part in parts_between(
            manifest,
            question.table,
            since if isinstance(since, datetime) else None,
            until if isinstance(until, datetime) else None,
        )
    ]
    with duckdb.connect(":memory:") as connection:
        if isinstance(store, RemoteStore):
            connection.register_filesystem(store.file_system)
        sql = statement(question, [name for name in FILTERS if name in parameters], manifests, has_parts=bool(parts))
        asked = connection.execute(sql, parameters | ({"parts": parts} if parts else {}))
        columns = tuple(str(column[0]) for column in asked.description)
        rows = tuple(dict(zip(columns, map(_value, row), strict=True)) for row in asked.fetchall())
    hosts = tuple(standing(store, manifest, question.table) for manifest in manifests)
    return FleetReport(store.url, question.kind, hosts, columns, rows)


def statement(question: Question, filters: Sequence[str], manifests: Sequence[Manifest], *, has_parts: bool) -> str:
    """Return the SQL of a question: fixed text, with names from the closed list of fields.

    Args:
        question: what is asked.
        filters: names of those that are given.
        manifests: every host's, which tell the columns that there are.
        has_parts: there is a file to read.
    """
    listings = {present(manifest, question.table) for manifest in manifests}
    there = set().union(*listings) if has_parts else set()
    columns = ", ".join(
        name if name in there else f"CAST(NULL AS {_SQL_TYPES[field_type]}) AS {name}"
        for name, field_type in columns_of(question.table)
    )
    # Column by column in every file is slower, and needed only where the hosts' policies differ.
    read = _READ % ("union_by_name = true" if len(listings) > 1 else "union_by_name = false")
    nothing = "FROM (SELECT CAST(NULL AS VARCHAR) AS host, CAST(NULL AS DATE) AS date) WHERE false"
    rows = f"SELECT host, date, {columns} {read if has_parts else nothing}"
    where = " AND ".join(map(question.condition, filters)) or "true"
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
