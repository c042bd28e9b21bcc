"""One recorded session, whole, as the reader of traces gives it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from agent_workflow.tracer import TraceReader, parse_time

_PAGE = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Event:
    """A row of ``events``; times are nanoseconds since 1970, ``None`` where none can be read."""

    id: str
    phase_id: str
    parent_id: str
    type: str
    name: str
    payload: Mapping[str, Any]
    start: int | None
    end: int | None

    @property
    def moment(self) -> int | None:
        """When it was over, as far as is known."""
        return self.start if self.end is None else self.end


@dataclass(frozen=True)
class RecordedSession:
    """A session with its phases and events in the order in which they were recorded.

    Attributes:
        row: columns of ``sessions``, with ``shown_status``.
        process: the columns of the workflow's own process, ``None`` where it is not recorded.
    """

    row: Mapping[str, Any]
    phases: tuple[Mapping[str, Any], ...]
    events: tuple[Event, ...]
    process: Mapping[str, Any] | None


def read_session(reader: TraceReader, adw_id: str) -> RecordedSession:
    """Read one session.

    Raises:
        NoSuchSession: the trace does not hold it.
        TraceReadError: the database cannot be read.
    """
    row = reader.session(adw_id)
    processes = [found.recorded for found in reader.processes(adw_id) if found.recorded.kind != "agent"]
    return RecordedSession(
        row=row,
        phases=tuple(reader.phases(adw_id)),
        events=tuple(_events(reader, adw_id)),
        process=processes[0].row() if processes else None,
    )


def _events(reader: TraceReader, adw_id: str) -> list[Event]:
    """Read all pages of one filling of the database; a rebuild in between lets rowids start again."""
    found: list[Event] = []
    page = reader.events(adw_id, limit=_PAGE)
    generation = page.generation
    while True:
        found += [_event(row) for row in page.events]
        if not page.has_more:
            return found
        page = reader.events(adw_id, after=page.cursor, limit=_PAGE)
        if page.generation != generation:
            found, page = [], reader.events(adw_id, limit=_PAGE)
            generation = page.generation


def _event(row: Mapping[str, Any]) -> Event:
    return Event(
        id=str(row["event_id"]),
        phase_id=str(row["phase_id"] or ""),
        parent_id=str(row["parent_id"] or ""),
        type=str(row["type"] or ""),
        name=str(row["name"] or ""),
        payload=_payload(row["payload_json"]),
        start=nanoseconds(row["started_at"]),
        end=nanoseconds(row["ended_at"]),
    )


def _payload(text: object) -> Mapping[str, Any]:
    """Read a payload; one that is no JSON object says nothing."""
    try:
        payload = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return {}
    return payload if isinstance(payload, dict) else {}


def json_text(value: object) -> str:
    """Write part of a payload as JSON, for content; what is nested too deeply to be written is told as such."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return '"(cannot be written)"'


def nanoseconds(text: object) -> int | None:
    """Read a time as nanoseconds since 1970; ``None`` for one that cannot be read or lies before."""
    moment = parse_time(text) if isinstance(text, str) else None
    if moment is None:
        return None
    try:
        since = (moment - _EPOCH) // _MICROSECOND * 1000
    except OverflowError:
        return None
    return since if 0 <= since < 2**63 else None
