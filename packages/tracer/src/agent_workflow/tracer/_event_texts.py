"""The few events that a poll at the end of a session finds, written as JSON by SQLite itself.

It does in microseconds what rows, dictionaries and an encoder do in some more; a page that is open asks twice a second.
What it cannot write exactly as :func:`read_span` does is left to that.
"""

import json
from typing import Final, NamedTuple

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._cutting import CUT_CHARACTERS
from agent_workflow.tracer._errors import TraceReadError
from agent_workflow.tracer._event_queries import Cursor, EventSpan, is_void
from agent_workflow.tracer._source import TraceSource


class EventTexts(NamedTuple):
    """Events as JSON objects, and where to read on."""

    texts: list[str]
    span: EventSpan


_COLUMNS: Final = tuple(TABLES["events"].columns)


def next_texts(source: TraceSource, adw_id: str, cursor: Cursor, limit: int) -> EventTexts | None:
    """Find and write the events behind a cursor, oldest first.

    The generation and the rows come with one statement, so from one state of the database. Where there is no row, or
    the cursor is void, there are two: then a rebuild may come between them, and the next poll notices.

    Args:
        source: the database.
        adw_id: the session.
        cursor: where the reader stands.
        limit: at most so many.

    Returns:
        ``None`` where a payload may have to be cut, a cell is no text or number, or the table is not the contract's.

    Raises:
        TraceReadError: the database cannot be read.
    """
    if source.columns("events") != _COLUMNS:
        return None
    is_ours = bool(source.columns("trace_meta"))
    after, anchor = cursor.after, cursor.anchor
    try:
        found = source.tuples(_TEXTS[is_ours], (after, adw_id, limit))
        named, seen = found[0][3:] if found else source.tuples(_PLACE[is_ours], (after,))[0]
        generation = str(named or source.generation())
        reset = is_void(cursor, generation, seen)
        if reset:
            after, anchor = 0, ""
            found = source.tuples(_TEXTS[is_ours], (after, adw_id, limit))
    except TraceReadError as error:
        if "BLOB" in str(error):
            return None
        raise
    if not found:
        return EventTexts([], EventSpan([], after, anchor, False, generation, reset))
    rowids, ids, texts, *_ = map(list, zip(*found, strict=True))
    doubtful = [row[0] for row in found if len(row[2]) > CUT_CHARACTERS or "\\u0000" in row[2]]
    if doubtful and _is_written_otherwise(source, doubtful, max(map(len, texts))):
        return None
    return EventTexts(texts, EventSpan(rowids, rowids[-1], str(ids[-1]), len(found) == limit, generation, reset))


def _is_written_otherwise(source: TraceSource, rowids: list[int], longest: int) -> bool:
    """Tell whether a payload must be cut, or its size is not what SQLite says of a text with a NUL in it."""
    return longest > 3 * CUT_CHARACTERS or bool(source.value(_OTHERWISE, (CUT_CHARACTERS, json.dumps(rowids))))


def _object() -> str:
    # An infinite number is no JSON; every other cell is text.
    cells = {name: "CASE WHEN abs(tokens) < 1e300 THEN tokens END" if name == "tokens" else name for name in _COLUMNS}
    cells = {"rowid": "rowid", **cells, "payload_size": "coalesce(length(payload_json), 0)"}
    listed = ", ".join(f"'{name}', {cell}" for name, cell in cells.items())
    return f"json_object({listed}, 'payload_cut', json('false'))"


_GENERATION: Final = ("NULL", "(SELECT value FROM trace_meta WHERE key = 'generation')")
"""In a database of another writer, and in one of ours."""
_SEEN: Final = "(SELECT event_id FROM events WHERE rowid = ?1)"
_TEXTS: Final = tuple(
    f"SELECT rowid, event_id, {_object()}, {generation}, {_SEEN} FROM events"  # noqa: S608
    " WHERE adw_id = ?2 AND rowid > ?1 ORDER BY rowid LIMIT ?3"
    for generation in _GENERATION
)
_PLACE: Final = tuple(f"SELECT {generation}, {_SEEN}" for generation in _GENERATION)
_OTHERWISE: Final = (
    "SELECT count(*) FROM events WHERE (length(CAST(payload_json AS BLOB)) > ? OR instr(payload_json, char(0)))"
    " AND rowid IN (SELECT value FROM json_each(?))"
)
