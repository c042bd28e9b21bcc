"""Sessions that are stored as ended and go on all the same.

Another workflow may have taken a session up without saying so in its row, and writers exist that store ``fail`` first
and the truth at the end. What is stored stays as it is; what is shown follows the events.
"""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._liveness import WORKING, Shown
from agent_workflow.tracer._source import TraceSource

_NEWEST: Final = 200
_RECENT: Final = timedelta(seconds=60)
_AFTER: Final = timedelta(seconds=1)
"""What a writer adds within a second of the end belongs to the end."""


def resumed(source: TraceSource, running: Collection[str], now: datetime | None = None) -> dict[str, Shown]:
    """Find sessions that are not stored as running, among those of the newest events, and have a new event.

    Args:
        source: the database.
        running: ids of the sessions that are stored as running; they are judged by their processes.
        now: of this moment by default.

    Returns:
        What to show for each: ``working``, for a minute after its newest event.
    """
    if not {"status", "adw_id"} <= set(source.columns("sessions")) or not source.columns("events"):
        return {}
    newest = source.tuples(
        "SELECT adw_id, max(rowid) FROM (SELECT adw_id, rowid FROM events ORDER BY rowid DESC LIMIT ?) GROUP BY adw_id",
        (_NEWEST,),
    )
    rowids = [rowid for adw_id, rowid in newest if adw_id not in running]
    return _shown(source, rowids, now or datetime.now(UTC)) if rowids else {}


def _shown(source: TraceSource, rowids: list[int], now: datetime) -> dict[str, Shown]:
    at = f"coalesce({source.expression('events', 'ended_at')}, {source.expression('events', 'started_at')})"
    ended = source.expression("sessions", "ended_at")
    found = source.tuples(
        f"SELECT sessions.adw_id, sessions.status, {ended}, {at} FROM events"  # noqa: S608
        " JOIN sessions ON sessions.adw_id = events.adw_id"
        " WHERE events.rowid IN (SELECT value FROM json_each(?)) AND sessions.status IS NOT 'running'",
        (json.dumps(rowids),),
    )
    shown = {}
    for adw_id, status, ended_at, event_at in found:
        sign, end = (parse_time(cell) if isinstance(cell, str) else None for cell in (event_at, ended_at))
        if sign is None or abs(now - sign) > _RECENT or (end is not None and sign <= end + _AFTER):
            continue
        because = f"stored as {status or 'unknown'}, but events have come {'since it ended' if end else 'a moment ago'}"
        shown[str(adw_id)] = Shown(WORKING, because, sign.isoformat(timespec="milliseconds"))
    return shown
