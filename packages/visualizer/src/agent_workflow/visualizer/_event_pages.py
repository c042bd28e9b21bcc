"""A page of events as bytes; what the documented route and the short way of a plain poll have in common."""

import json
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
from agent_workflow.visualizer._at_once import NotAtOnce
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._replies import knows, reply, tag, unchanged

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
    """

    adw_id: str
    cursor: Cursor = Cursor()
    wanted: EventFilter = EventFilter()
    limit: int = 500
    newest: bool = False
    before: int | None = None


class EventReply(NamedTuple):
    """A page of events, written.

    Attributes:
        etag: its name.
        body: JSON.
        headers: as ASGI sends them.
    """

    etag: str
    body: bytes
    headers: list[tuple[bytes, bytes]]


def event_page(database: Database, asked: PageRequest, known: str | None) -> Response:
    """Answer with a page of events; 304 before a payload is read when the reader has this page.

    Args:
        database: the trace.
        asked: which events.
        known: the ETags that the reader has.

    Raises:
        TraceReadError: the database cannot be read now.
    """
    etag, rows, span = database.read(lambda source: _ask(source, asked, known))
    return unchanged(etag) if rows is None else reply(_body(rows, span), etag)


def event_page_at_once(database: Database, asked: PageRequest) -> EventReply:
    """Answer a poll at the end of a session without waiting and without much work.

    Raises:
        NotAtOnce: there is much to read, or something to wait for.
    """

    def ask(source: TraceSource) -> tuple[EventReply, int]:
        # Without an index the poll would read everything that other sessions wrote since.
        if not source.has_index("events", "adw_id"):
            raise NotAtOnce
        found = next_texts(source, asked.adw_id, asked.cursor, max(1, min(asked.limit, _FEW + 1)))
        if found is None or len(found.texts) > _FEW:
            raise NotAtOnce
        written = _written(asked, found)
        return written, len(written.body)

    return database.at_once.read(asked, ask)


def _written(asked: PageRequest, found: EventTexts) -> EventReply:
    span = found.span
    etag = _tag(asked, span)
    # By hand, as `_body` is encoded: this is done for every new poll of every open page.
    text = (
        f'{{"events":[{",".join(found.texts)}],"cursor":{span.cursor},"has_more":{_JSON[span.has_more]},'
        f'"generation":{_quoted(span.generation)},"anchor":{_quoted(span.anchor)},"reset":{_JSON[span.reset]}}}'
    )
    body = text.encode("utf-8", "replace")
    headers = [
        (b"etag", etag.encode("ascii")),
        (b"content-length", b"%d" % len(body)),
        (b"content-type", b"application/json"),
    ]
    return EventReply(etag, body, headers)


_JSON: Final = ("false", "true")
_quoted: Final = json.encoder.encode_basestring


Found = tuple[str, list[Row] | None, EventSpan]


def _tag(asked: PageRequest, span: EventSpan) -> str:
    return tag("events", asked.adw_id, *span[1:], len(span.rowids))


def _ask(source: TraceSource, asked: PageRequest, known: str | None) -> Found:
    is_from_end = asked.newest or asked.before is not None
    if is_from_end:
        span = newest_span(source, asked.adw_id, asked.before, asked.wanted, asked.limit)
    else:
        span = next_span(source, asked.adw_id, asked.cursor, asked.wanted, asked.limit)
    etag = _tag(asked, span)
    if knows(known, etag):
        return etag, None, span
    rows, span = read_span(source, span, newest=is_from_end)
    return etag, rows, span


def _body(rows: list[Row], span: EventSpan) -> dict[str, Any]:
    return {
        "events": rows,
        "cursor": span.cursor,
        "has_more": span.has_more,
        "generation": span.generation,
        "anchor": span.anchor,
        "reset": span.reset,
    }
