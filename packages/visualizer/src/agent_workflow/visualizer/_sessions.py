"""Sessions as the page shows them: the row, its phases, agents, marks, the shown status and why it failed."""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_workflow.tracer import parse_time
from agent_workflow.tracer.viewing import (
    Mark,
    Marks,
    Row,
    SessionFilter,
    Shown,
    TraceSource,
    agents_of,
    by_session,
    failure,
    list_sessions,
    marks,
    parts_of,
    session_row,
    shorten_texts,
    usage_read_and_written,
)
from agent_workflow.visualizer._database import Database


def session_page(
    database: Database,
    source: TraceSource,
    wanted: SessionFilter,
    shown: Mapping[str, Shown],
    put_away: Mapping[str, bool],
    *,
    sort: str,
    limit: int,
    offset: int,
    most_marks: int,
) -> tuple[list[Row], int]:
    """Return one page of sessions and how many there are in all."""
    page = list_sessions(source, wanted, shown, put_away, sort=sort, limit=limit, offset=offset)
    rows = _dressed(database, source, page.rows, shown, most_marks)
    for row in rows:  # one text of a megabyte must not make every poll of the list as large
        for part in (row, *row["phases"], *row["agents"]):
            shorten_texts(part)
    return rows, page.total


def session_detail(
    database: Database, source: TraceSource, adw_id: str, shown: Mapping[str, Shown], put_away: Mapping[str, bool]
) -> dict[str, Any]:
    """Return one session with everything but its events.

    Raises:
        NoSuchSession: the trace does not hold it.
    """
    row = session_row(source, adw_id, put_away)
    dressed = _dressed(database, source, [row], shown, 0)[0]
    phases, agents = dressed.pop("phases"), dressed.pop("agents")
    usage = usage_read_and_written(source, adw_id)
    return {
        "session": dressed,
        "usage": usage,
        "phases": phases,
        "agents": agents,
        "generation": source.generation(),
    }


def _dressed(
    database: Database, source: TraceSource, rows: Sequence[Row], shown: Mapping[str, Shown], most_marks: int
) -> list[Row]:
    sessions = [str(row["adw_id"]) for row in rows]
    phases = by_session(parts_of(source, "phases", sessions))
    agents = agents_of(source, sessions, phases)
    generation = source.generation()
    dressed = []
    for row in rows:
        adw_id = str(row["adw_id"])
        seen = _marks(database, source, adw_id, generation, dots=most_marks > 0)
        own = phases.get(adw_id, [])
        state = shown.get(adw_id)
        word = state.word if state else row["status"] or "unknown"
        for phase in own:
            phase["shown_status"] = "lost" if word == "lost" and phase["status"] == "running" else phase["status"]
        row |= {
            "shown_status": word,
            "shown_because": state.because if state else "",
            "last_event_at": seen.last_event_at,
            "last_sign_at": state.last_sign_at if state else seen.last_event_at,
            "event_count": seen.event_count,
            "failure": failure(row, own, seen.refusal) if word == row["status"] else None,
            "phases": own,
            "phase_count": len(own),
            "agents": agents.get(adw_id, []),
            "marks": [_dot(row, mark) for mark in _thinned(seen.marks, most_marks)],
            "marks_sampled": seen.sampled or len(seen.marks) > most_marks or (most_marks == 0 and seen.event_count > 0),
        }
        dressed.append(row)
    return dressed


def _marks(database: Database, source: TraceSource, adw_id: str, generation: str, *, dots: bool) -> Marks:
    with database.rowids_lock:
        last = database.rowids.last(source, adw_id)

    def work() -> Marks:
        with database.rowids_lock:
            rowids = database.rowids.of(source, adw_id)
        return marks(source, rowids, dots=dots)

    return database.memory.get(("marks", adw_id, dots), (generation, last), work)


def _thinned(dots: Sequence[Mark], most: int) -> Sequence[Mark]:
    """Leave out dots evenly, but none of what went wrong while there is room, and never the newest."""
    if len(dots) <= most:
        return dots
    if most <= 0:
        return ()
    bad = [dot for dot in dots[:-1] if dot.ok is False][-(most - 1) :] if most > 1 else []
    fine = [dot for dot in dots[:-1] if dot.ok is not False]
    room = most - 1 - len(bad)
    step = len(fine) / room if room > 0 else 0
    kept = {fine[int(number * step)].rowid for number in range(room)} if fine and room > 0 else set()
    kept |= {dot.rowid for dot in bad}
    return [dot for dot in dots[:-1] if dot.rowid in kept] + [dots[-1]]


def _dot(session: Row, mark: Mark) -> list[Any]:
    """Write a dot: milliseconds since the session began, type, phase id, whether it went well."""
    began, at = parse_time(session["started_at"]), parse_time(mark.at)
    offset = round((at - began).total_seconds() * 1000) if began and at else None
    return [offset, mark.type, mark.phase_id, mark.ok]
