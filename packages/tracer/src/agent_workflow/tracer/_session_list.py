"""The list of sessions: filtered, searched and paged in the database, with the shown status of the running ones."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

from agent_workflow.tracer._errors import NoSuchSession
from agent_workflow.tracer._liveness import LIVE_WORDS, Shown
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer._source import Row, TraceSource, folded

Archived = Literal["no", "only", "all"]

SORTS: Final[Mapping[str, str]] = {
    "newest": "started_at DESC, sessions.rowid DESC",
    "oldest": "started_at, sessions.rowid",
    "cost": "total_cost DESC, started_at DESC",
    "tokens": "total_tokens DESC, started_at DESC",
    "duration": "julianday(ended_at) - julianday(started_at) DESC, started_at DESC",
}
_MAX_RUNNING: Final = 5_000


@dataclass(frozen=True, slots=True)
class SessionFilter:
    """Which sessions; empty lets every one pass.

    Attributes:
        status: shown or stored words, any of them.
        workflow: one of the names in ``adw_name``.
        agent: an agent that took part.
        model: a model that took part.
        since, until: bounds of ``started_at``, UTC ISO 8601.
        text: to be found in the id, the workflow, the request, the engineer or a phase's error.
        archived: without, with only, or with all those that were put away.
    """

    status: tuple[str, ...] = ()
    workflow: str | None = None
    agent: str | None = None
    model: str | None = None
    since: str | None = None
    until: str | None = None
    text: str | None = None
    archived: Archived = "no"


class SessionPage(NamedTuple):
    """Some sessions, and how many there are."""

    rows: list[Row]
    total: int


def running_rows(source: TraceSource) -> list[Row]:
    """Return the sessions that are stored as running, newest first."""
    if "status" not in source.columns("sessions"):
        return []
    statement = (
        f"SELECT rowid AS rowid, {source.listed('sessions')} FROM sessions WHERE status = ?"  # noqa: S608
        f" ORDER BY {_sort(source, 'newest')} LIMIT ?"
    )
    return source.rows(statement, (RUNNING, _MAX_RUNNING))


def session_row(source: TraceSource, adw_id: str, put_away: Mapping[str, bool]) -> Row:
    """Return one session.

    Raises:
        NoSuchSession: the trace does not hold it.
    """
    statement = f"SELECT rowid AS rowid, {source.listed('sessions')} FROM sessions WHERE adw_id = ?"  # noqa: S608
    rows = source.rows(statement, (adw_id,))
    if not rows:
        raise NoSuchSession(f"no session {adw_id}", path=source.path)
    return _with_archived(source, rows, put_away)[0]


def list_sessions(
    source: TraceSource,
    wanted: SessionFilter,
    shown: Mapping[str, Shown],
    put_away: Mapping[str, bool],
    *,
    sort: str = "newest",
    limit: int = 200,
    offset: int = 0,
) -> SessionPage:
    """Return one page of the sessions that pass a filter.

    Args:
        source: the database.
        wanted: the filter.
        shown: what is shown for each session where that is not simply what is stored.
        put_away: archive flags kept out of the database, for those without the column.
        sort: one of ``SORTS``.
        limit: at most so many.
        offset: how many to leave out at the beginning.
    """
    where = _where(source, wanted)
    bound = _bound(wanted, shown, put_away)
    total = int(source.value(f"SELECT count(*) FROM sessions WHERE {where}", bound) or 0)  # noqa: S608
    statement = (
        f"SELECT rowid AS rowid, {source.listed('sessions')} FROM sessions WHERE {where}"  # noqa: S608
        f" ORDER BY {_sort(source, sort)} LIMIT :limit OFFSET :offset"
    )
    rows = source.rows(statement, bound | {"limit": limit, "offset": offset})
    return SessionPage(_with_archived(source, rows, put_away), total)


class Facets(NamedTuple):
    """What the sessions can be narrowed to, each word with the number of sessions that have it."""

    statuses: dict[str, int]
    workflows: dict[str, int]
    agents: dict[str, int]
    models: dict[str, int]
    total: int
    archived: int


def facets(source: TraceSource, shown: Mapping[str, Shown], put_away: Mapping[str, bool]) -> Facets:
    """Count the words that a list can be narrowed to; statuses without the archived sessions."""
    bound = _bound(SessionFilter(), shown, put_away)
    flag = _archived(source)
    status = source.expression("sessions", "status")
    name = source.expression("sessions", "adw_name")
    visible = f"FROM sessions WHERE NOT {flag}"
    statuses = {
        str(word or "unknown"): int(count)
        for word, count in source.tuples(f"SELECT {status}, count(*) {visible} GROUP BY 1", bound)
    }
    judged = f"({status} = 'running' OR sessions.adw_id IN (SELECT value FROM json_each(:shown)))"  # noqa: S608
    for adw_id, stored in source.tuples(f"SELECT adw_id, {status} {visible} AND {judged}", bound):
        statuses[str(stored or "unknown")] -= 1
        word = shown[adw_id].word if adw_id in shown else RUNNING
        statuses[word] = statuses.get(word, 0) + 1
    statuses = {word: count for word, count in statuses.items() if count}
    workflows: dict[str, int] = {}
    for names, count in source.tuples(f"SELECT {name}, count(*) {visible} GROUP BY 1", bound):
        for one in dict.fromkeys(str(names or "").split(" + ")):
            workflows[one] = workflows.get(one, 0) + int(count)
    workflows.pop("", None)
    total, archived = source.tuples(f"SELECT count(*), coalesce(sum({flag}), 0) FROM sessions", bound)[0]  # noqa: S608
    agents, models = _words(source, "agent"), _words(source, "model")
    return Facets(statuses, workflows, agents, models, int(total), int(archived))


def _words(source: TraceSource, column: str) -> dict[str, int]:
    if column not in source.columns("agent_sessions"):
        return {}
    statement = f"SELECT {column}, count(DISTINCT adw_id) FROM agent_sessions GROUP BY 1 ORDER BY 2 DESC LIMIT 500"  # noqa: S608
    return {str(word): int(count) for word, count in source.tuples(statement) if word}


def _sort(source: TraceSource, sort: str) -> str:
    order = SORTS.get(sort, SORTS["newest"])
    present = source.columns("sessions")
    absent = [name for name in ("started_at", "ended_at", "total_cost", "total_tokens") if name not in present]
    return "sessions.rowid DESC" if any(name in order for name in absent) else order


def _archived(source: TraceSource) -> str:
    if "archived" in source.columns("sessions"):
        return "(coalesce(sessions.archived, 0) IS NOT 0)"
    return "(sessions.adw_id IN (SELECT value FROM json_each(:put_away)))"


def _where(source: TraceSource, wanted: SessionFilter) -> str:
    status = source.expression("sessions", "status")
    started = source.expression("sessions", "started_at")
    parts = ["1 = 1"]
    if wanted.archived != "all":
        parts.append(_archived(source) if wanted.archived == "only" else f"NOT {_archived(source)}")
    if wanted.status:
        parts.append(
            f"(({status} IS NOT 'running' AND coalesce({status}, 'unknown') IN (SELECT value FROM json_each(:words))"  # noqa: S608
            " AND sessions.adw_id NOT IN (SELECT value FROM json_each(:shown)))"
            " OR sessions.adw_id IN (SELECT value FROM json_each(:live)))"
        )
    if wanted.workflow is not None:
        names = source.expression("sessions", "adw_name")
        parts.append(f"instr(' + ' || {names} || ' + ', ' + ' || :workflow || ' + ') > 0")
    for column, value in (("agent", wanted.agent), ("model", wanted.model)):
        if value is not None:
            has = column in source.columns("agent_sessions")
            inside = f"SELECT adw_id FROM agent_sessions WHERE {column} = :{column}" if has else "SELECT NULL"  # noqa: S608
            parts.append(f"sessions.adw_id IN ({inside})")
    if wanted.since is not None:
        parts.append(f"{started} >= :since")
    if wanted.until is not None:
        parts.append(f"{started} <= :until")
    if wanted.text:
        parts.append(_search(source))
    return " AND ".join(parts)


def _search(source: TraceSource) -> str:
    names = ("adw_id", "adw_name", "request", "engineer")
    found = [f"instr(folded({source.expression('sessions', name)}), :text)" for name in names]
    if "error" in source.columns("phases"):
        found.append("sessions.adw_id IN (SELECT adw_id FROM phases WHERE instr(folded(error), :text))")
    return f"({' OR '.join(found)})"


def _bound(wanted: SessionFilter, shown: Mapping[str, Shown], put_away: Mapping[str, bool]) -> dict[str, Any]:
    live = [adw_id for adw_id, state in shown.items() if state.word in wanted.status]
    words = [word for word in wanted.status if word not in LIVE_WORDS or word == "waiting"]
    return {
        "words": json.dumps(words),
        "live": json.dumps(live),
        "shown": json.dumps(list(shown)),
        "put_away": json.dumps([adw_id for adw_id, flag in put_away.items() if flag]),
        "workflow": wanted.workflow,
        "agent": wanted.agent,
        "model": wanted.model,
        "since": wanted.since,
        "until": wanted.until,
        "text": folded(wanted.text),
    }


def _with_archived(source: TraceSource, rows: Iterable[Row], put_away: Mapping[str, bool]) -> list[Row]:
    has_column = "archived" in source.columns("sessions")
    listed = list(rows)
    for row in listed:
        flag = row["archived"] if has_column else put_away.get(str(row["adw_id"]), False)
        row["archived"] = 1 if flag else 0
    return listed
