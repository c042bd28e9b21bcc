"""The parts of sessions: phases, agents, envelopes, gates, processes, for many sessions in one statement each."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from agent_workflow.tracer._cutting import CUT_CHARACTERS, cut_json, cut_payload
from agent_workflow.tracer._identity import RecordedProcess
from agent_workflow.tracer._source import NoSuchRecord, Row, TraceSource

_OF_SESSIONS: Final = "adw_id IN (SELECT value FROM json_each(:sessions))"

_OF_AGENTS: Final = "type IN ('agent_start', 'agent_end')"
"""Said beside the one type that is wanted: only then does SQLite use the small index that holds just these."""
_GATE_CHARACTERS: Final = 65_536

_ORDER: Final = {
    "phases": "adw_id, seq, started_at, rowid",
    "agent_sessions": "adw_id, created_at, agent",
    "envelopes": "created_at, rowid",
    "gate_results": "id",
    "processes": "id",
}


def parts_of(source: TraceSource, table: str, sessions: Sequence[str], more: str = "") -> list[Row]:
    """Read the rows of a table that belong to some sessions, in order."""
    if not source.columns(table) or not sessions:
        return []
    order = ", ".join(name for name in _ORDER[table].split(", ") if name == "rowid" or name in source.columns(table))
    statement = f"SELECT {source.listed(table)} FROM {table} WHERE {_OF_SESSIONS}{more} ORDER BY {order}"  # noqa: S608
    return source.rows(statement, {"sessions": json.dumps(list(sessions))})


def by_session(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Sort rows into their sessions."""
    sorted_rows: dict[str, list[Row]] = {}
    for row in rows:
        sorted_rows.setdefault(str(row["adw_id"]), []).append(row)
    return sorted_rows


def agents_of(source: TraceSource, sessions: Sequence[str], phases: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Return the agents of each session; one that is running for the first time is known by its ``agent_start``.

    Args:
        source: the database.
        sessions: their ids.
        phases: of each session.
    """
    agents = by_session(parts_of(source, "agent_sessions", sessions))
    missing: dict[str, Row] = {}
    for session in sessions:
        known = {row["agent"] for row in agents.get(session, [])}
        for phase in phases.get(session, []):
            if phase["kind"] == "agent" and phase["owner"] not in known:
                known.add(phase["owner"])
                missing[str(phase["phase_id"])] = phase
    for phase_id, payload in _started(source, sorted({str(row["adw_id"]) for row in missing.values()})):
        if phase_id in missing:
            phase = missing.pop(phase_id)
            agents.setdefault(str(phase["adw_id"]), []).append(_synthetic(phase, payload))
    return agents


def _started(source: TraceSource, sessions: Sequence[str]) -> list[tuple[str, dict[str, Any]]]:
    if not sessions or not source.columns("events"):
        return []
    statement = (
        f"SELECT phase_id, payload_json FROM events WHERE {_OF_SESSIONS} AND {_OF_AGENTS} AND type = 'agent_start'"  # noqa: S608
    )
    found = source.tuples(statement, {"sessions": json.dumps(list(sessions))})
    return [(str(phase_id), json_object(payload)) for phase_id, payload in found]


def _synthetic(phase: Row, payload: dict[str, Any]) -> Row:
    taken = {name: payload.get(name) for name in ("coding_agent", "model", "color", "session_id")}
    moment = phase["started_at"]
    row: Row = {"adw_id": phase["adw_id"], "agent": phase["owner"], **taken}
    return row | {"context_tokens": None, "context_window": None, "created_at": moment, "last_used_at": moment}


def envelopes(source: TraceSource, adw_id: str, phase: str | None = None) -> list[Row]:
    """Return what the agents of a session handed over, oldest first, large payloads cut."""
    rows = _of_phase(parts_of(source, "envelopes", [adw_id]), phase)
    for row in rows:
        cut_payload(row, "payload_json", CUT_CHARACTERS)
    return rows


def one_envelope(source: TraceSource, adw_id: str, envelope_id: str) -> Row:
    """Read one envelope whole.

    Raises:
        NoSuchRecord: the session has none of this id.
    """
    for row in parts_of(source, "envelopes", [adw_id]):
        if row["envelope_id"] == envelope_id:
            cut_payload(row, "payload_json", None)
            return row
    raise NoSuchRecord(f"no envelope {envelope_id} in session {adw_id}", path=source.path)


def gate_results(source: TraceSource, adw_id: str, phase: str | None = None, *, whole: bool = False) -> list[Row]:
    """Return what the gates of a session found, oldest first, each with what its evidence is.

    Returns:
        Rows with ``outcome`` (``passed``, ``failed``, ``not_observed``) and ``evidence`` (``items``;
        ``inspected_nothing``: an empty list; ``not_recorded``: an older writer kept none); evidence beyond 64 K
        characters is cut unless ``whole``.
    """
    rows = _of_phase(parts_of(source, "gate_results", [adw_id]), phase)
    for row in rows:
        passed, checks = row["passed"], row["checks_json"]
        row["outcome"] = "not_observed" if passed is None else "passed" if passed else "failed"
        row["evidence"] = "not_recorded" if checks is None else "items" if json_list(checks) else "inspected_nothing"
        row["checks_size"] = len(str(checks or ""))
        row["checks_cut"] = False
        if not whole and max(row["checks_size"], len(str(row["violations_json"] or ""))) > _GATE_CHARACTERS:
            row["checks_cut"] = True
            for name in ("checks_json", "violations_json"):
                row[name] = None if row[name] is None else cut_json(str(row[name]))
    return rows


def one_gate_result(source: TraceSource, adw_id: str, gate_id: int) -> Row:
    """Read one gate result with all of its evidence.

    Raises:
        NoSuchRecord: the session has none of this id.
    """
    for row in gate_results(source, adw_id, whole=True):
        if row["id"] == gate_id:
            return row
    raise NoSuchRecord(f"no gate result {gate_id} in session {adw_id}", path=source.path)


def processes(source: TraceSource, sessions: Sequence[str], *, only_open: bool = False) -> list[RecordedProcess]:
    """Return the recorded processes of sessions."""
    open_ones = " AND ended_at IS NULL" if only_open and "ended_at" in source.columns("processes") else ""
    return [RecordedProcess.from_row(row) for row in parts_of(source, "processes", sessions, open_ones)]


def usage_read_and_written(source: TraceSource, adw_id: str) -> dict[str, int]:
    """Sum up a session's ``agent_end`` events: what was read for the first time, and what was written."""
    read = written = 0
    if source.columns("events"):
        statement = f"SELECT payload_json FROM events WHERE adw_id = ? AND {_OF_AGENTS} AND type = 'agent_end'"  # noqa: S608
        for (payload,) in source.tuples(statement, (adw_id,)):
            usage = json_object(payload).get("usage")
            if isinstance(usage, dict):
                read += _count(usage.get("input_tokens")) + _count(usage.get("cache_write_tokens"))
                written += _count(usage.get("output_tokens"))
    return {"read": read, "written": written}


def json_object(text: object) -> dict[str, Any]:
    """Read a cell as a JSON object, empty for anything else."""
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def json_list(text: object) -> list[Any]:
    """Read a cell as a JSON list, empty for anything else."""
    try:
        value = json.loads(text) if isinstance(text, str | bytes) else None
    except (ValueError, RecursionError):
        return []
    return value if isinstance(value, list) else []


def _count(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _of_phase(rows: list[Row], phase: str | None) -> list[Row]:
    return rows if phase is None else [row for row in rows if row["phase_id"] == phase]
