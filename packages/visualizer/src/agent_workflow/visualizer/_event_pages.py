"""A page of events as bytes; what the documented route and the short way of a plain poll have in common."""

from typing import Any, Final, NamedTuple

from fastapi import Response

from agent_workflow.tracer.viewing import (
    Cursor,
    EventFilter,
    EventSpan,
    EventTexts,
    Row,
    TraceSource,
    newest_span,
    next_span,
    next_texts,
    read_span,
)
from agent_workflow.visualizer._database import Database, NotAtOnce
from agent_workflow.visualizer._replies import json_bytes, knows, reply, tag, unchanged

_FEW: Final = 60


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
    return _answer(database.read(lambda source: _ask(source, asked)))


def event_page_at_once(database: Database, asked: PageRequest) -> Response:
    """Answer a poll at the end of a session without waiting and without much work.

    Raises:
        NotAtOnce: there is much to read, or something to wait for.
    """

    def ask(source: TraceSource) -> tuple[EventTexts, bool]:
        # Without an index the poll would read everything that other sessions wrote since.
        if not source.has_index("events", "adw_id"):
            raise NotAtOnce
        found = next_texts(source, asked.adw_id, asked.cursor, max(1, min(asked.limit, _FEW + 1)))
        if found is None or len(found.texts) > _FEW:
            raise NotAtOnce
        return found, not found.texts

    texts, span = database.read_at_once(asked, ask)
    etag = _tag(asked, span)
    if knows(asked.known, etag):
        return unchanged(etag)
    rest = json_bytes(_body([], span)).removeprefix(b'{"events":[')
    data = ",".join(texts).encode("utf-8", "replace")
    return Response(b'{"events":[' + data + rest, 200, {"etag": etag}, media_type="application/json")


Found = tuple[str, list[Row] | None, EventSpan]


def _tag(asked: PageRequest, span: EventSpan) -> str:
    return tag("events", asked.adw_id, *span[1:], len(span.rowids))


def _ask(source: TraceSource, asked: PageRequest) -> Found:
    is_from_end = asked.newest or asked.before is not None
    if is_from_end:
        span = newest_span(source, asked.adw_id, asked.before, asked.wanted, asked.limit)
    else:
        span = next_span(source, asked.adw_id, asked.cursor, asked.wanted, asked.limit)
    etag = _tag(asked, span)
    if knows(asked.known, etag):
        return etag, None, span
    rows, span = read_span(source, span, newest=is_from_end)
    return etag, rows, span


def _answer(found: Found) -> Response:
    etag, rows, span = found
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
