"""A whole run for drawing, column by column: when what happened and whether it went well; no names, no payloads."""

from functools import lru_cache
from typing import Any, Final

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._errors import TraceReadError
from agent_workflow.tracer._event_queries import Cursor, event_at, is_void
from agent_workflow.tracer._session_marks import WENT_WELL, WENT_WELL_IF_JSON
from agent_workflow.tracer._source import TraceSource

MAX_TIMELINE: Final = 50_000


def timeline(source: TraceSource, adw_id: str, cursor: Cursor, limit: int = MAX_TIMELINE) -> dict[str, Any]:
    """Read the events of a session behind a cursor.

    Args:
        source: the database.
        adw_id: the session; an unknown one has no events.
        cursor: where the reader stands, as for pages of events.
        limit: at most so many.

    Returns:
        ``origin`` (the first time of this reply), ``types`` and ``phases`` (what the indexes mean), the columns
        ``rowid``, ``type``, ``phase``, ``at`` and ``span`` (milliseconds), ``ok`` (1, 0, ``None``), and the fields of
        the cursor contract.
    """
    generation = source.generation()
    has_events = bool(source.columns("events"))
    reset = has_events and is_void(cursor, generation, event_at(source, cursor.after))
    after, anchor = (0, "") if reset else (cursor.after, cursor.anchor)
    found = _rows(source, adw_id, after, limit) if has_events else []
    if found:
        after, anchor = int(found[-1][0]), str(found[-1][1])
    columns = _columns(found)
    place = {"generation": generation, "cursor": after, "anchor": anchor, "has_more": len(found) == limit}
    return columns | place | {"reset": reset}


def _rows(source: TraceSource, adw_id: str, after: int, limit: int) -> list[tuple[Any, ...]]:
    ended = source.expression("events", "ended_at")
    bound = (adw_id, after, max(1, min(limit, MAX_TIMELINE)))
    statement = (
        f"SELECT rowid, event_id, type, phase_id, started_at, {ended}, {{well}} FROM events"  # noqa: S608
        " WHERE adw_id = ? AND rowid > ? ORDER BY rowid LIMIT ?"
    )
    try:
        return source.tuples(statement.format(well=WENT_WELL_IF_JSON), bound)
    except TraceReadError as error:
        if "malformed JSON" not in str(error):
            raise
    return source.tuples(statement.format(well=WENT_WELL), bound)


def _columns(found: list[tuple[Any, ...]]) -> dict[str, Any]:
    times = [_milliseconds(row[4]) for row in found]
    origin = next((time for time in times if time is not None), None)
    types: dict[str, int] = {}
    phases: dict[str, int] = {}
    spans = [None if row[5] is None else _milliseconds(row[5]) for row in found]
    return {
        "origin": next((row[4] for row, time in zip(found, times, strict=True) if time is not None), None),
        "rowid": [row[0] for row in found],
        "type": [types.setdefault(str(row[2]), len(types)) for row in found],
        "phase": [phases.setdefault(str(row[3]), len(phases)) if row[3] else -1 for row in found],
        "at": [_between(origin, time) for time in times],
        "span": [_between(begin, end) for begin, end in zip(times, spans, strict=True)],
        "ok": [None if row[6] is None else int(bool(row[6])) for row in found],
        "types": list(types),
        "phases": list(phases),
    }


def _milliseconds(text: object) -> int | None:
    if not isinstance(text, str):
        return None
    if len(text) == 29 and text.endswith("+00:00") and text[19] == "." and text[20:23].isdigit():
        second = _second(text[:19])  # thousands of events share their seconds
        return None if second is None else second + int(text[20:23])
    moment = parse_time(text)
    return None if moment is None else round(moment.timestamp() * 1000)


@lru_cache(4096)
def _second(text: str) -> int | None:
    moment = parse_time(text)
    return None if moment is None else round(moment.timestamp() * 1000)


def _between(begin: int | None, end: int | None) -> int | None:
    return None if begin is None or end is None else end - begin
