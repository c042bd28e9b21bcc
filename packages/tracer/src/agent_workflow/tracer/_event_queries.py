"""Events of one session in pages, by a cursor that notices when rowids have started again."""

import json
from typing import Any, Final, NamedTuple

from agent_workflow.tracer._cutting import CUT_CHARACTERS, cut_payload, shorten_texts
from agent_workflow.tracer._session_marks import WENT_WELL
from agent_workflow.tracer._source import NoSuchRecord, Row, TraceSource, folded

MAX_EVENTS: Final = 1_000
_PAGE_CHARACTERS: Final = 4_000_000
"""A page ends early once so much payload was read: events of any size fit into bounded memory, and none waits long."""
_CHUNK: Final = 25
_HUGE_CHARACTERS: Final = 262_144


class EventFilter(NamedTuple):
    """Which events of a session; empty lets every one pass.

    Attributes:
        phase: phase id.
        types: event types, unknown ones included.
        text: to be found in the name or the payload, in any case.
    """

    phase: str | None = None
    types: tuple[str, ...] = ()
    text: str | None = None


class Cursor(NamedTuple):
    """Where a reader stands.

    Attributes:
        after: the last rowid it has seen, 0 for none.
        generation: of the database it was read from, empty when the reader does not say.
        anchor: id of the event at ``after``, empty when the reader does not say.
    """

    after: int = 0
    generation: str = ""
    anchor: str = ""


class EventSpan(NamedTuple):
    """Which rows make the next page, found without reading a payload."""

    rowids: list[int]
    cursor: int
    anchor: str
    has_more: bool
    generation: str
    reset: bool


def next_span(source: TraceSource, adw_id: str, cursor: Cursor, wanted: EventFilter, limit: int) -> EventSpan:
    """Find the events behind a cursor, oldest first.

    Args:
        source: the database.
        adw_id: the session; an unknown one has no events.
        cursor: where the reader stands.
        wanted: which events.
        limit: at most so many, 1,000 at most.

    Returns:
        The span; ``reset`` when the cursor belongs to another filling of the database, and it begins anew.
    """
    if not source.columns("events"):
        return EventSpan([], 0, "", False, source.generation(), False)
    generation = source.generation()
    reset = is_void(cursor, generation, event_at(source, cursor.after))
    after, anchor = (0, "") if reset else (cursor.after, cursor.anchor)
    limit = max(1, min(limit, MAX_EVENTS))
    statement = (
        f"SELECT rowid FROM events WHERE adw_id = :session AND rowid > :after{_narrowed(source, wanted)}"  # noqa: S608
        " ORDER BY rowid LIMIT :limit"
    )
    found = source.tuples(statement, _bound(adw_id, wanted) | {"after": after, "limit": limit})
    rowids = [int(row[0]) for row in found]
    if found:
        # Of the one row that needs it: rowids stand in the index, and each row of large events is a page of its own.
        after, anchor = rowids[-1], str(event_at(source, rowids[-1]))
    return EventSpan(rowids, after, anchor, len(found) == limit, generation, reset)


def newest_span(source: TraceSource, adw_id: str, before: int | None, wanted: EventFilter, limit: int) -> EventSpan:
    """Find the last events of a session, or the last before a rowid, still oldest first."""
    if not source.columns("events"):
        return EventSpan([], 0, "", False, source.generation(), False)
    limit = max(1, min(limit, MAX_EVENTS))
    statement = (
        f"SELECT rowid FROM events WHERE adw_id = :session AND rowid < :before{_narrowed(source, wanted)}"  # noqa: S608
        " ORDER BY rowid DESC LIMIT :limit"
    )
    edge = before if before is not None else 2**63 - 1
    found = source.tuples(statement, _bound(adw_id, wanted) | {"before": edge, "limit": limit})
    rowids = [int(row[0]) for row in reversed(found)]
    cursor, anchor = (rowids[-1], str(event_at(source, rowids[-1]))) if rowids else (0, "")
    return EventSpan(rowids, cursor, anchor, len(found) == limit, source.generation(), False)


def read_span(source: TraceSource, span: EventSpan, *, newest: bool = False) -> tuple[list[Row], EventSpan]:
    """Read the rows of a span, large payloads cut.

    Args:
        source: the database.
        span: what to read.
        newest: read from its end, so that a page that ends early keeps the newest.

    Returns:
        The rows, oldest first, with ``payload_size`` and ``payload_cut``, and the span as far as it was read. Beside a
        payload that was cut, ``ok`` says whether the event went well: 1, 0 or ``None``.
    """
    rows: list[Row] = []
    read = 0
    wanted = span.rowids[::-1] if newest else span.rowids
    for start in range(0, len(wanted), _CHUNK):
        part = _read_rows(source, wanted[start : start + _CHUNK])
        read += sum(min(row["payload_size"], _HUGE_CHARACTERS) for row in part)
        rows += part
        if read > _PAGE_CHARACTERS and start + _CHUNK < len(wanted):
            span = span._replace(has_more=True)
            break
    rows.sort(key=lambda row: int(row["rowid"]))
    if rows:
        span = span._replace(cursor=int(rows[-1]["rowid"]), anchor=str(rows[-1]["event_id"]))
    return rows, span


def _read_rows(source: TraceSource, rowids: list[int]) -> list[Row]:
    payload = source.expression("events", "payload_json")
    # Of a huge payload only the beginning is fetched, as text: taking it apart would cost more memory than it tells.
    statement = (
        f"SELECT rowid AS rowid, {source.listed('events', without=('payload_json',))},"  # noqa: S608
        f" CASE WHEN length({payload}) > {_HUGE_CHARACTERS} THEN substr({payload}, 1, {2 * CUT_CHARACTERS})"
        f" ELSE {payload} END AS payload_json, length({payload}) AS whole,"
        f" CASE WHEN length({payload}) > {CUT_CHARACTERS} THEN {WENT_WELL} END AS went_well FROM events"
        " WHERE rowid IN (SELECT value FROM json_each(?))"
    )
    rows = source.rows(statement, (json.dumps(rowids),))
    for row in rows:
        shorten_texts(row, without=("payload_json",))
        whole, went_well = row.pop("whole") or 0, row.pop("went_well")
        cut_payload(row, "payload_json", CUT_CHARACTERS)
        row["payload_size"] = max(row["payload_size"], whole)
        if row["payload_cut"]:
            row["ok"] = None if went_well is None else int(bool(went_well))
    return rows


def one_event(source: TraceSource, adw_id: str, event_id: str) -> Row:
    """Read one event whole.

    Raises:
        NoSuchRecord: the session has none of this id.
    """
    if source.columns("events"):
        statement = f"SELECT rowid AS rowid, {source.listed('events')} FROM events WHERE event_id = ? AND adw_id = ?"  # noqa: S608
        for row in source.rows(statement, (event_id, adw_id)):
            cut_payload(row, "payload_json", None)
            return row
    raise NoSuchRecord(f"no event {event_id} in session {adw_id}", path=source.path)


def is_void(cursor: Cursor, generation: str, seen: object) -> bool:
    """Tell whether a cursor was made for other rowids than those of now.

    Args:
        cursor: where the reader stands.
        generation: of the database.
        seen: id of the event that is at the cursor now, ``None`` for none.
    """
    if cursor.generation and cursor.generation != generation:
        return True
    # VACUUM and merges of other tools renumber rows inside one file and one generation.
    return bool(cursor.anchor) and cursor.after > 0 and (seen is None or str(seen) != cursor.anchor)


def event_at(source: TraceSource, rowid: int) -> str | None:
    """Read the id of one event, ``None`` where there is none."""
    found = source.value("SELECT event_id FROM events WHERE rowid = ?", (rowid,))
    return None if found is None else str(found)


def _narrowed(source: TraceSource, wanted: EventFilter) -> str:
    parts = []
    if wanted.phase is not None:
        parts.append(" AND phase_id = :phase")
    if wanted.types:
        parts.append(" AND type IN (SELECT value FROM json_each(:types))")
    if wanted.text:
        payload = source.expression("events", "payload_json")
        parts.append(f" AND (instr(folded(name), :text) OR instr(folded({payload}), :text))")
    return "".join(parts)


def _bound(adw_id: str, wanted: EventFilter) -> dict[str, Any]:
    return {
        "session": adw_id,
        "phase": wanted.phase,
        "types": json.dumps(wanted.types),
        "text": folded(wanted.text),
    }
