"""A page of events as bytes; what the documented route and the short way of a plain poll have in common."""

from typing import Any, NamedTuple

from fastapi import Response

from agent_workflow.tracer.viewing import (
    Cursor,
    EventFilter,
    EventSpan,
    Row,
    TraceSource,
    newest_span,
    next_span,
    read_span,
)
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._replies import knows, reply, tag, unchanged


class PageRequest(NamedTuple):
    """Which events are asked for.

    Attributes:
        adw_id: the session.
        cursor: where the reader stands.
        wanted: which events of it.
        limit: at most so many.
        newest: the last ones instead of the first.
        before: only those before a rowid, with ``newest``.
        known: the ETags that the reader has.
    """

    adw_id: str
    cursor: Cursor = Cursor()
    wanted: EventFilter = EventFilter()
    limit: int = 500
    newest: bool = False
    before: int | None = None
    known: str | None = None


def event_page(database: Database, asked: PageRequest) -> Response:
    """Answer with a page of events; 304 before a payload is read when the reader has this page.

    Raises:
        TraceReadError: the database cannot be read now.
    """
    is_from_end = asked.newest or asked.before is not None

    def ask(source: TraceSource) -> tuple[str, list[Row] | None, EventSpan]:
        if is_from_end:
            span = newest_span(source, asked.adw_id, asked.before, asked.wanted, asked.limit)
        else:
            span = next_span(source, asked.adw_id, asked.cursor, asked.wanted, asked.limit)
        etag = tag(
            "events",
            asked.adw_id,
            span.generation,
            span.cursor,
            span.anchor,
            len(span.rowids),
            span.reset,
            span.has_more,
        )
        if knows(asked.known, etag):
            return etag, None, span
        rows, span = read_span(source, span, newest=is_from_end)
        return etag, rows, span

    etag, rows, span = database.read(ask)
    return unchanged(etag) if rows is None else reply(_body(rows, span), etag)


def _body(rows: list[Row], span: EventSpan) -> dict[str, Any]:
    return {
        "events": rows,
        "cursor": span.cursor,
        "has_more": span.has_more,
        "generation": span.generation,
        "anchor": span.anchor,
        "reset": span.reset,
    }
