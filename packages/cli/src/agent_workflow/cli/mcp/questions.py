"""What the server can be asked, answered as documents; every one says how fresh the index is."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from agent_workflow import index_store
from agent_workflow.cli._failure import CommandFailed, Failure
from agent_workflow.cli.mcp.paging import Place, Row, decode_cursor, question_digest, take_page

Document = dict[str, Any]

if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[tuple(index_store.KINDS)]  # the clients' schema lists what the store has

Summary = Literal["open-incidents", "pending-permissions", "spend", "outcomes-by-day", "outcomes-by-agent"]

_OF_A_RUN = ("incidents", "permissions", "metrics", "errors", "notices")
_MOST_OF_A_RUN = 50
_SYNC = "agent-workflow index sync"


def status(state_root: Path) -> Document:
    """Return ``index-status/v1`` with the next step."""
    document: Document = index_store.status(state_root).to_document()
    return document | {"next_step": next_step(str(document["freshness"]))}


def kinds() -> Document:
    """Return the kinds of questions and the filters of each."""
    return {
        "schema": "agent-workflow/mcp-kinds/v1",
        "kinds": {kind: list(own) for kind, own in index_store.KINDS.items()},
    }


def query(
    state_root: Path,
    kind: str,
    filters: index_store.Filters,
    columns: Sequence[str] | None,
    size: int,
    cursor: str | None,
) -> Document:
    """Answer one page of a curated question: ``index-query/v1`` with ``page`` and ``next_step``.

    Args:
        state_root: the root.
        kind: of the question.
        filters: only those that the kind takes.
        columns: only these of each row; all where ``None``.
        size: most rows of the page.
        cursor: of the page before; everything else must be asked as it was then.

    Raises:
        CommandFailed: the cursor or a column is wrong.
        IndexStoreError: the question, the database or the state root is at fault.
    """
    place = _place(cursor, question_digest(kind, _as_given(filters)), filters.since, filters.until)
    fixed = replace(filters, since=place.bounds[0], until=place.bounds[1])
    with index_store.open_index(state_root) as index:
        known: tuple[str, ...] = ()

        def select(limit: int) -> Sequence[Row]:
            nonlocal known
            known, rows = index.select(kind, fixed, limit)
            return rows

        page = take_page(select, place, size)
        report = index_store.QueryReport(
            index.database, kind, index.freshness(), known, tuple(_cut(page.rows, columns, known))
        )
    return report.to_document() | _page_fields(page.next_cursor, page.complete) | _next(report.freshness)


def summary(state_root: Path, what: Summary, since: str | None, size: int, cursor: str | None) -> Document:
    """Answer one page of a question over all runs.

    Raises:
        CommandFailed: the cursor is wrong, or ``since`` has no meaning.
        IndexStoreError: the question, the database or the state root is at fault.
    """
    if since is not None and what in ("open-incidents", "pending-permissions"):
        raise CommandFailed(Failure("invalid_question", f"{what} takes no since", hint="leave it out"))
    place = _place(cursor, question_digest(what, since), since, None)
    with index_store.open_index(state_root) as index:
        page = take_page(_summing(index, what, place.bounds[0]), place, size)
        freshness = index.freshness()
        database = index.database
    return {
        "schema": "agent-workflow/mcp-summary/v1",
        "database": database,
        "summary": what,
        **_freshness(freshness),
        "rows": [dict(row) for row in page.rows],
        **_page_fields(page.next_cursor, page.complete),
        **_next(freshness),
    }


def run_details(state_root: Path, session_id: str) -> Document:
    """Return what is known of one run, each part cut to its newest 50 rows.

    Raises:
        CommandFailed: the index does not know the run.
        IndexStoreError: the question, the database or the state root is at fault.
    """
    chosen = index_store.Filters(session=session_id)
    with index_store.open_index(state_root) as index:
        runs = index.select("runs", chosen, 1).rows
        freshness = index.freshness()
        if not runs:
            raise CommandFailed(
                Failure(
                    "unknown_run", f"the index does not know the run {session_id[:200]!r}", hint=_unknown_run(freshness)
                )
            )
        parts = {kind: index.select(kind, chosen, _MOST_OF_A_RUN + 1).rows for kind in _OF_A_RUN}
        parts["sources"] = index.sources(session_id).rows
        retries = [row["session_id"] for row in index.retries(session_id).rows]
        database = index.database
    return {
        "schema": "agent-workflow/mcp-run/v1",
        "database": database,
        **_freshness(freshness),
        "run": dict(runs[0]),
        "retried_by": retries[:_MOST_OF_A_RUN],
        **{kind: [dict(row) for row in rows[:_MOST_OF_A_RUN]] for kind, rows in parts.items()},
        "cut_short": sorted(kind for kind, rows in parts.items() if len(rows) > _MOST_OF_A_RUN),
        **_next(freshness),
    }


def workflow_edges(state_root: Path, workflow_id: str, size: int, cursor: str | None) -> Document:
    """Answer one page of which node of a workflow waits for which.

    Raises:
        CommandFailed: the cursor is wrong.
        IndexStoreError: the question, the database or the state root is at fault.
    """
    if any("\ud800" <= letter <= "\udfff" for letter in workflow_id):  # in memory; no JSON brings one here
        raise CommandFailed(Failure("invalid_question", "the workflow's id is not UTF-8", hint="no row has such an id"))
    place = _place(cursor, question_digest("workflow-edges", workflow_id), None, None)
    with index_store.open_index(state_root) as index:
        page = take_page(lambda limit: index.edges(workflow_id).rows[:limit], place, size)
        freshness, database = index.freshness(), index.database
    return {
        "schema": "agent-workflow/mcp-workflow-edges/v1",
        "database": database,
        "workflow_id": workflow_id,
        **_freshness(freshness),
        "rows": [dict(row) for row in page.rows],
        **_page_fields(page.next_cursor, page.complete),
        **_next(freshness),
    }


def next_step(freshness: str) -> str | None:
    """Say what to do about an answer that is not current; ``None`` where there is nothing to do."""
    return {
        "missing": f"there is no index yet; a person runs: {_SYNC}",
        "stale": f"runs changed, came or went since the last sync; for newer rows a person runs: {_SYNC}",
        "incomplete": "some runs or repairs are in error, or the archive was left out; ask for the kind errors",
    }.get(freshness)


def _summing(index: index_store.IndexReader, what: Summary, since: str | None) -> Callable[[int], Sequence[Row]]:
    if what == "open-incidents":
        return lambda limit: index.open_incidents(limit).rows
    if what == "pending-permissions":
        return lambda limit: index.pending_permissions(limit).rows
    if what == "spend":
        return lambda limit: index.spend(since).rows[:limit]
    if what == "outcomes-by-day":
        return lambda limit: index.outcomes_by_day(since).rows[:limit]
    return lambda limit: index.outcomes_by_agent(since).rows[:limit]


def _place(cursor: str | None, question: str, since: str | None, until: str | None) -> Place:
    """Return where to go on; ages are fixed to moments once, so that all pages mean the same time."""
    if cursor is not None:
        return decode_cursor(cursor, question)
    return Place(question, (_fixed(since, "since"), _fixed(until, "until")))


def _fixed(bound: str | None, name: str) -> str | None:
    if bound is None:
        return None
    return datetime.fromtimestamp(index_store.parse_moment(bound, name), UTC).isoformat()


def _as_given(filters: index_store.Filters) -> list[str | None]:
    return [getattr(filters, name) for name in index_store.FILTERS]


def _cut(rows: Sequence[Row], columns: Sequence[str] | None, known: Sequence[str]) -> Sequence[Row]:
    if columns is None:
        return rows
    unknown = [name for name in columns if name not in known]
    if unknown or not columns:
        message = f"there is no column {unknown[0]!r}" if unknown else "no column is named"
        raise CommandFailed(Failure("invalid_question", message, hint=f"one of: {', '.join(known)}"))
    return [{name: row[name] for name in columns} for row in rows]


def _page_fields(next_cursor: str | None, complete: bool) -> Document:
    page: Document = {"next_cursor": next_cursor, "complete": complete}
    if next_cursor is None and not complete:
        page["hint"] = (
            f"these are the first {index_store.MAXIMUM_LIMIT} rows; narrow the question, for example by until"
        )
    return {"page": page}


def _freshness(freshness: index_store.Freshness) -> Document:
    return {
        "freshness": freshness.word,
        "current_run_count": freshness.current_runs,
        "stale_run_count": freshness.stale_runs,
        "error_count": freshness.error_runs,
    }


def _next(freshness: index_store.Freshness) -> Document:
    return {"next_step": next_step(freshness.word)}


def _unknown_run(freshness: index_store.Freshness) -> str:
    if freshness.word == "stale":
        return f"the index is stale; a person runs: {_SYNC}"
    return "ask for the kind runs to see which there are"
