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

    Outside of a snapshot a rebuild may come between the generation and the rows: then the next poll notices.

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
    generation, reset = _place(source, cursor)
    after, anchor = (0, "") if reset else (cursor.after, cursor.anchor)
    try:
        found = source.tuples(_STATEMENT, (adw_id, after, limit))
    except TraceReadError as error:
        if "BLOB" in str(error):
            return None
        raise
    doubtful = [row[0] for row in found if len(row[2]) > CUT_CHARACTERS or "\\u0000" in row[2]]
    if doubtful and _is_written_otherwise(source, doubtful, max(len(row[2]) for row in found)):
        return None
    if found:
        after, anchor = int(found[-1][0]), str(found[-1][1])
    span = EventSpan([row[0] for row in found], after, anchor, len(found) == limit, generation, reset)
    return EventTexts([row[2] for row in found], span)


def _place(source: TraceSource, cursor: Cursor) -> tuple[str, bool]:
    """Name the generation and tell whether the cursor is void; of a trace of ours with one question."""
    if source.columns("trace_meta"):
        generation, anchor = source.tuples(_PLACE, (cursor.after,))[0]
        if generation:
            is_other = bool(cursor.generation) and cursor.generation != generation
            return str(generation), is_other or bool(cursor.anchor and cursor.after > 0 and anchor != cursor.anchor)
    generation = source.generation()
    return generation, is_void(source, cursor, generation)


def _is_written_otherwise(source: TraceSource, rowids: list[int], longest: int) -> bool:
    """Tell whether a payload must be cut, or its size is not what SQLite says of a text with a NUL in it."""
    return longest > 3 * CUT_CHARACTERS or bool(source.value(_OTHERWISE, (CUT_CHARACTERS, json.dumps(rowids))))


def _object() -> str:
    # An infinite number is no JSON; every other cell is text.
    cells = {name: "CASE WHEN abs(tokens) < 1e300 THEN tokens END" if name == "tokens" else name for name in _COLUMNS}
    cells = {"rowid": "rowid", **cells, "payload_size": "coalesce(length(payload_json), 0)"}
    listed = ", ".join(f"'{name}', {cell}" for name, cell in cells.items())
    return f"json_object({listed}, 'payload_cut', json('false'))"


_STATEMENT: Final = (
    f"SELECT rowid, event_id, {_object()} FROM events"  # noqa: S608
    " WHERE adw_id = ? AND rowid > ? ORDER BY rowid LIMIT ?"
)
_OTHERWISE: Final = (
    "SELECT count(*) FROM events WHERE (length(CAST(payload_json AS BLOB)) > ? OR instr(payload_json, char(0)))"
    " AND rowid IN (SELECT value FROM json_each(?))"
)
_PLACE: Final = (
    "SELECT (SELECT value FROM trace_meta WHERE key = 'generation'), (SELECT event_id FROM events WHERE rowid = ?)"
)
