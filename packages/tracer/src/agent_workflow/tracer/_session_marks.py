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
    # around a key are escaped, so the text can only be found where it is a key.
    f" WHEN length(payload_json) > {_LARGE} THEN instr(payload_json, '\"ok\": false') = 0"
    " ELSE json_extract(payload_json, '$.ok') END"
)
WENT_WELL: Final = _WENT_WELL.replace(" ELSE ", " WHEN json_valid(payload_json) THEN ")
"""Whether an event went well, as SQL over a row of ``events``; ``None`` where its payload is no JSON."""
WENT_WELL_IF_JSON: Final = _WENT_WELL
"""The same in half the time; fails where any payload is no JSON."""


def marks(source: TraceSource, rowids: Sequence[int]) -> Marks:
    """Read the marks of one session.

    Args:
        source: the database.
        rowids: of all its events, ascending.
    """
    if not rowids:
        return Marks([], False, 0, None, None)
    chosen = _sample(rowids)
    ended = source.expression("events", "ended_at")
    statement = (
        f"SELECT rowid, started_at, {ended}, type, phase_id, name, {WENT_WELL},"  # noqa: S608
        " CASE WHEN name = 'not_accepted' AND type = 'error' THEN payload_json END, event_id FROM events"
        " WHERE rowid IN (SELECT value FROM json_each(?)) ORDER BY rowid"
    )
    found = source.tuples(statement, (json.dumps(chosen),))
    dots = [
        Mark(row[0], row[1], row[3], row[4], None if row[6] is None else bool(row[6]))
        for row in found
        if row[3] in MARK_TYPES
    ]
    newest = (found[-1][2] or found[-1][1]) if found else None
    refused = next((row for row in reversed(found) if row[7] is not None), None)
    refusal = None if refused is None else _refusal(refused)
    return Marks(dots[-MAX_MARKS:], len(rowids) > len(chosen), len(rowids), newest, refusal)


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


def _refusal(row: tuple[Any, ...]) -> Row:
    payload = json_object(row[7])
    reason = str(payload.get("reason") or payload.get("error") or "no reason was recorded")[:_REASON_CHARACTERS]
    return {"at": row[1], "phase_id": row[4], "event_id": row[8], "reason": reason}
