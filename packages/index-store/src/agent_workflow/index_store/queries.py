"""The curated questions: a closed list of kinds, each one fixed statement with its filters as parameters.

The statements are the files in ``sql/``. A filter that is not given is NULL and lets every row pass.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import apsw

from agent_workflow.index_store import database
from agent_workflow.index_store.database import locate_index, open_for_reading
from agent_workflow.index_store.errors import InvalidQuestion, MissingDatabase
from agent_workflow.index_store.freshness import measure
from agent_workflow.index_store.reports import QueryReport, Value
from agent_workflow.index_store.state_root import open_state_root

KINDS: Mapping[str, tuple[str, ...]] = {
    "runs": ("session", "state", "category", "executor", "model", "pack", "since", "until"),
    "incidents": ("session", "state", "category", "executor", "model", "pack", "since", "until"),
    "permissions": ("session", "state", "executor", "model", "pack", "since", "until"),
    "performance": ("executor", "model"),
    "workflows": ("session", "state", "pack"),
    "workflow-nodes": ("session", "state", "executor", "model", "pack"),
    "errors": ("session", "category", "since", "until"),
    "repairs": ("session", "since", "until"),
    "events": ("session", "state", "category", "since", "until"),
    "health": ("session", "state", "since", "until"),
    "remediations": ("session", "category", "executor", "model", "pack", "since", "until"),
    "attempts": ("state", "category"),
    "metrics": ("session", "executor", "model", "pack", "since", "until"),
    "processes": ("session", "category", "executor", "model", "pack", "since", "until"),
    "notices": ("session", "category", "since", "until"),
}
"""Every kind of question with the filters it takes, beside ``limit``."""

FILTERS = ("session", "state", "category", "executor", "model", "pack", "since", "until")
DEFAULT_LIMIT = 100
MAXIMUM_LIMIT = 10_000

_AGE = re.compile(r"(\d{1,6})([smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True)
class Filters:
    """What a question is narrowed to; None lets everything pass.

    Attributes:
        session: a session id.
        state: what each kind calls its state, for example the durable status of runs.
        category: what each kind calls its category, for example the failure category of runs.
        executor: name of the agent program.
        model: name of the model.
        pack: id of the prompt pack.
        since: ISO 8601 date or time (UTC where it names no offset), or an age such as ``90m``, ``24h``, ``7d``.
        until: likewise; rows of that very moment are still in.
    """

    session: str | None = None
    state: str | None = None
    category: str | None = None
    executor: str | None = None
    model: str | None = None
    pack: str | None = None
    since: str | None = None
    until: str | None = None


def query(state_root: Path, kind: str, filters: Filters | None = None, *, limit: int = DEFAULT_LIMIT) -> QueryReport:
    """Answer one curated question, newest first.

    Args:
        state_root: the root.
        kind: one of :data:`KINDS`.
        filters: only those that the kind takes.
        limit: most rows to return, 1 to 10,000.

    Returns:
        The rows, with the freshness of the projection at this moment.

    Raises:
        InvalidQuestion: the kind, a filter or the limit is not one of the closed list.
        MissingDatabase: there is no index yet.
        IndexStoreError: the database or the state root is at fault.
    """
    parameters = _parameters(kind, filters or Filters(), limit)
    with open_state_root(state_root) as root:
        if root is None:
            raise _no_state_root(state_root)
        with locate_index(root, create=False) as location:
            if location is None:
                raise _no_state_root(state_root)
            connection = open_for_reading(location)
            try:
                columns, rows = _select(connection, statement(kind), parameters)
                freshness = measure(root, connection)
            except apsw.Error as error:
                raise database.explain(location, error) from error
            finally:
                connection.close()
            return QueryReport(str(location.database), kind, freshness, columns, rows)


def _select(
    connection: apsw.Connection, sql: str, parameters: Mapping[str, Value]
) -> tuple[tuple[str, ...], tuple[dict[str, Value], ...]]:
    """Fetch all rows and let the read transaction go; the columns are named even where no row is found."""
    columns: list[str] = []

    def before_first_row(cursor: apsw.Cursor, _sql: str, _bindings: object) -> bool:
        columns.extend(str(column[0]) for column in cursor.get_description())
        return True

    cursor = connection.cursor()
    cursor.exec_trace = before_first_row
    found = cursor.execute(sql, parameters).fetchall()
    return tuple(columns), tuple(dict(zip(columns, row, strict=True)) for row in found)


def statement(kind: str) -> str:
    """Return the SQL of a kind."""
    return (files(__package__) / "sql" / f"{kind}.sql").read_text(encoding="utf-8")


def _no_state_root(state_root: Path) -> MissingDatabase:
    return MissingDatabase(
        f"there is no index in {state_root} yet", path=str(state_root), hint="agent-workflow index sync"
    )


def _parameters(kind: str, filters: Filters, limit: int) -> dict[str, Value]:
    if kind not in KINDS:
        raise InvalidQuestion(f"there is no kind {kind!r}", hint=f"one of: {', '.join(KINDS)}")
    given = {name: value for name in FILTERS if (value := getattr(filters, name)) is not None}
    for name in given:
        if name not in KINDS[kind]:
            raise InvalidQuestion(
                f"{kind} cannot be filtered by {name}", hint=f"its filters are: {', '.join(KINDS[kind])}, limit"
            )
    if not 1 <= limit <= MAXIMUM_LIMIT:
        raise InvalidQuestion(f"limit {limit} is not between 1 and {MAXIMUM_LIMIT}", hint=f"--limit {MAXIMUM_LIMIT}")
    parameters: dict[str, Value] = {name: given.get(name) for name in KINDS[kind]}
    for name in ("since", "until"):
        if name in given:
            parameters[name] = parse_moment(given[name], name)
    return parameters | {"limit": limit}


def parse_moment(text: str, name: str, now: datetime | None = None) -> float:
    """Return a moment as seconds of the epoch.

    Args:
        text: ISO 8601 date or time, or an age (``30s``, ``90m``, ``24h``, ``7d``, ``2w``).
        name: the filter, for the message.
        now: what an age counts back from; the present by default.

    Raises:
        InvalidQuestion: it is neither.
    """
    age = _AGE.fullmatch(text)
    if age is not None:
        back = timedelta(seconds=int(age.group(1)) * _SECONDS[age.group(2)])
        return ((now or datetime.now(UTC)) - back).timestamp()
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidQuestion(
            f"--{name} {text!r} is no time", hint="an ISO 8601 time such as 2026-07-01T12:00:00Z, or an age such as 24h"
        ) from None
    if name == "until" and len(text) == len("2026-07-01"):
        moment += timedelta(days=1, microseconds=-1000)  # a date means the whole day
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
