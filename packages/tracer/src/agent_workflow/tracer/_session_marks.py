"""What a list shows of a session's events: sampled marks on a time axis, the newest moment, and why it failed."""

import json
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from agent_workflow.tracer._session_parts import json_object
from agent_workflow.tracer._source import Row, TraceSource

MAX_MARKS: Final = 120
MARK_TYPES: Final = ("agent_start", "tool_call", "handoff", "agent_end", "gate_pass", "gate_fail", "error")
_TAIL: Final = 40
_REASON_CHARACTERS: Final = 2_000
_LARGE: Final = 65_536


class Mark(NamedTuple):
    """One dot.

    Attributes:
        rowid: of the event.
        at: when it began.
        type: of the event.
        phase_id: it belongs to.
        ok: false for what went wrong, ``None`` where nothing was recorded.
    """

    rowid: int
    at: str | None
    type: str
    phase_id: str | None
    ok: bool | None


class Marks(NamedTuple):
    """Dots of a session; ``sampled`` when it has more events than are shown."""

    marks: list[Mark]
    sampled: bool
    event_count: int
    last_event_at: str | None
    refusal: Row | None


_WENT_WELL: Final = (
    "CASE WHEN type IN ('gate_fail', 'error') THEN 0"
    " WHEN type <> 'tool_call' THEN NULL"
    # Parsing a huge payload for one flag would cost more than the rest of the page; inside a JSON string the quotes
    # around a key are escaped, so the text can only be found where it is a key. Some writers put a blank behind it.
    # Its size in bytes is known; its characters would be counted.
    f" WHEN length(CAST(payload_json AS BLOB)) > {_LARGE} THEN CASE"
    " WHEN instr(payload_json, '\"ok\": false') OR instr(payload_json, '\"ok\":false') THEN 0"
    " WHEN instr(payload_json, '\"ok\": true') OR instr(payload_json, '\"ok\":true') THEN 1 END"
    " ELSE json_extract(payload_json, '$.ok') END"
)
WENT_WELL: Final = _WENT_WELL.replace(" ELSE ", " WHEN json_valid(payload_json) THEN ")
"""Whether an event went well, as SQL over a row of ``events``; ``None`` where its payload is no JSON."""
WENT_WELL_IF_JSON: Final = _WENT_WELL
"""The same in half the time; fails where any payload is no JSON."""


def marks(source: TraceSource, rowids: Sequence[int], *, dots: bool = True) -> Marks:
    """Read the marks of one session.

    Args:
        source: the database.
        rowids: of all its events, ascending.
        dots: without them nothing of a large payload is read: SQLite keeps the times of an event behind its payload.
    """
    if not rowids:
        return Marks([], False, 0, None, None)
    chosen = _sample(rowids)
    found = _dots(source, chosen) if dots else []
    return Marks(found, len(rowids) > len(chosen), len(rowids), _newest(source, chosen[-1]), _refusal(source, chosen))


def _dots(source: TraceSource, chosen: Sequence[int]) -> list[Mark]:
    statement = (
        f"SELECT rowid, started_at, type, phase_id, {WENT_WELL} FROM events"  # noqa: S608
        " WHERE rowid IN (SELECT value FROM json_each(:rowids)) AND type IN (SELECT value FROM json_each(:types))"
        " ORDER BY rowid"
    )
    found = source.tuples(statement, {"rowids": json.dumps(chosen), "types": json.dumps(MARK_TYPES)})
    return [
        Mark(rowid, at, kind, phase_id, None if went_well is None else bool(went_well))
        for rowid, at, kind, phase_id, went_well in found[-MAX_MARKS:]
    ]


def _newest(source: TraceSource, rowid: int) -> str | None:
    ended = source.expression("events", "ended_at")
    found = source.tuples(f"SELECT {ended}, started_at FROM events WHERE rowid = ?", (rowid,))  # noqa: S608
    return (found[0][0] or found[0][1]) if found else None


def _refusal(source: TraceSource, chosen: Sequence[int]) -> Row | None:
    """Find the last event among some that says that the run was not accepted, and why."""
    statement = (
        "SELECT started_at, phase_id, event_id, payload_json FROM events"
        " WHERE rowid IN (SELECT value FROM json_each(?)) AND type = 'error' AND name = 'not_accepted'"
        " ORDER BY rowid DESC LIMIT 1"
    )
    for at, phase_id, event_id, text in source.tuples(statement, (json.dumps(chosen),)):
        payload = json_object(text)
        reason = str(payload.get("reason") or payload.get("error") or "no reason was recorded")[:_REASON_CHARACTERS]
        return {"at": at, "phase_id": phase_id, "event_id": event_id, "reason": reason}
    return None


def failure(session: Row, phases: Sequence[Row], refusal: Row | None) -> dict[str, Any] | None:
    """Say in one line why a session failed.

    Args:
        session: its row.
        phases: its phases.
        refusal: the event that says it was not accepted, if there is one.

    Returns:
        ``kind`` (``phase``, ``not_accepted``, ``unknown``), ``text``, ``phase_id``, ``phase_name``, ``event_id``;
        ``None`` where it did not fail.
    """
    if session["status"] != "fail":
        return None
    failed = [phase for phase in phases if phase["status"] == "fail"]
    if failed and not (refusal and str(refusal["at"]) > str(failed[-1]["ended_at"])):
        phase = failed[-1]
        text = str(phase["error"] or "the phase failed; no reason was recorded")[:_REASON_CHARACTERS]
        kept = {"phase_id": phase["phase_id"], "phase_name": phase["name"]}
        return {"kind": "phase", "text": text, **kept, "event_id": None}
    if refusal:
        kept = {"phase_id": refusal["phase_id"], "phase_name": None, "event_id": refusal["event_id"]}
        return {"kind": "not_accepted", "text": f"not accepted: {refusal['reason']}", **kept}
    text = "stored as failed; every phase that was recorded is fine and no reason was recorded"
    return {"kind": "unknown", "text": text, "phase_id": None, "phase_name": None, "event_id": None}


def _sample(rowids: Sequence[int]) -> list[int]:
    """Choose rows evenly, and the newest ones, where a refusal stands."""
    if len(rowids) <= 4 * MAX_MARKS:
        return list(rowids)
    step = len(rowids) / MAX_MARKS
    even = {rowids[int(number * step)] for number in range(MAX_MARKS)}
    return sorted(even | set(rowids[-_TAIL:]))
