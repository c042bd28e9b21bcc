"""Rows of sessions that the original tracer recorded: it wrote events to a file and the rest only to its database."""

import json
from collections.abc import Mapping
from typing import Any, Final

from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._ids import new_envelope_id
from agent_workflow.tracer._json import encode
from agent_workflow.tracer._replay import Row, SessionState
from agent_workflow.tracer._rows import EventRow
from agent_workflow.tracer._session_parts import json_object
from agent_workflow.tracer._usage import Usage, money
from agent_workflow.tracer.agents._pi_stream import PiStream

NOT_IN_FILES: Final = (
    "sessions.adw_name",
    "phases.retries",
    "processes",
    "envelopes that did not parse or were replaced",
    "ids of envelopes and gate results",
)
"""What such a session's files do not hold."""


def derive(files: SessionFiles, state: SessionState) -> None:
    """Fill in the rows that can be told from the events and the files beside them."""
    events = [(_Event(row), json_object(row[6])) for row in state.events]
    _phases(files.adw_id, events, state)
    _gates(events, state)
    _envelopes(files, events, state)
    _agents(files, events, state)
    state.rows["sessions"][(files.adw_id,)] = _session(files, events, state)


class _Event:
    __slots__ = ("ended_at", "name", "phase_id", "started_at", "type")

    def __init__(self, row: EventRow) -> None:
        self.phase_id, self.type, self.name, self.started_at, self.ended_at = row[2], row[4], row[5], row[8], row[9]


_Events = list[tuple[_Event, dict[str, Any]]]


def _phases(adw_id: str, events: _Events, state: SessionState) -> None:
    for event, payload in events:
        if event.type == "phase_start":
            number = event.phase_id.removeprefix(f"{adw_id}_").partition("_")[0]
            state.rows["phases"][(event.phase_id,)] = {
                "phase_id": event.phase_id,
                "adw_id": adw_id,
                "seq": int(number) if number.isdigit() else None,
                "name": event.name,
                "kind": payload.get("kind"),
                "owner": payload.get("owner"),
                "description": payload.get("description"),
                "status": "running",
                "attempt": None if payload.get("kind") == "agent" else 0,
                "started_at": event.started_at,
            }
            continue
        phase = state.rows["phases"].get((event.phase_id,))
        if phase is None:
            continue
        if event.type == "phase_end":
            phase["status"] = payload.get("status")
            phase["ended_at"] = event.started_at
        elif event.type == "error" and event.name != "not_accepted":
            phase["status"] = "fail"
            phase["error"] = payload.get("error")
            phase["ended_at"] = event.started_at
        elif event.type in ("gate_pass", "gate_fail") and isinstance(payload.get("attempt"), int):
            phase["attempt"] = max(phase["attempt"] or 0, payload["attempt"] - 1)


def _gates(events: _Events, state: SessionState) -> None:
    for number, (event, payload) in enumerate(events):
        if event.type in ("gate_pass", "gate_fail"):
            checks = payload.get("checks")
            state.rows["gate_results"][(number,)] = {
                "adw_id": state.events[number][1],
                "phase_id": event.phase_id,
                "attempt": payload.get("attempt"),
                "gate": event.name,
                "passed": int(event.type == "gate_pass"),
                "violations_json": encode(payload.get("violations", [])),
                "checks_json": None if checks is None else encode(checks),
                "created_at": event.started_at,
            }


def _envelopes(files: SessionFiles, events: _Events, state: SessionState) -> None:
    handoffs = {event.name: event for event, _ in events if event.type == "handoff"}
    for agent, event in handoffs.items():
        content = _load(files, f"{agent}/envelope.json")
        if not content:
            continue
        envelope_id = new_envelope_id()
        fields = {key: value for key, value in content.items() if key not in _ENVELOPE_HEAD}
        state.rows["envelopes"][(envelope_id,)] = {
            "envelope_id": envelope_id,
            "adw_id": files.adw_id,
            "phase_id": event.phase_id,
            "agent": agent,
            "output_type": content.get("output_type"),
            "payload_json": json.dumps(fields, indent=2),
            "valid": 1,
            "attempt": content.get("attempt"),
            "created_at": event.started_at,
        }


_ENVELOPE_HEAD: Final = frozenset({"agent_name", "purpose", "output_type", "attempt"})


def _agents(files: SessionFiles, events: _Events, state: SessionState) -> None:
    for agent, entry in _load(files, "agent_map.json").items():
        row: Row = {"adw_id": files.adw_id, "agent": agent}
        if isinstance(entry, dict):
            row.update({key: entry.get(key) for key in ("coding_agent", "model", "session_id")})
        for event, payload in events:
            if event.name != agent:
                continue
            if event.type == "agent_start":
                row.setdefault("created_at", event.started_at)
                row["color"] = payload.get("color")
            elif event.type == "agent_end":
                row.update({key: payload.get(key) for key in ("context_tokens", "context_window")})
                row["last_used_at"] = event.started_at
        state.rows["agent_sessions"][(files.adw_id, agent)] = row


def _session(files: SessionFiles, events: _Events, state: SessionState) -> Row:
    statuses = [phase.get("status") for phase in state.of("phases")]
    refused = any(event.type == "error" for event, _ in events)
    status = "fail" if refused or "fail" in statuses else "running" if "running" in statuses else "success"
    engineer = next((phase["owner"] for phase in state.of("phases") if phase.get("kind") == "engineer"), None)
    usage = _spend(files)
    return {
        "adw_id": files.adw_id,
        "request": _request(events),
        "status": status,
        "engineer": engineer,
        "started_at": events[0][0].started_at,
        "ended_at": None if status == "running" else events[-1][0].ended_at or events[-1][0].started_at,
        "total_tokens": usage.total,
        "total_cost": money(usage.total_cost),
    }


def _request(events: _Events) -> str | None:
    for event, payload in events:
        if event.type == "log" and isinstance(payload.get("input"), str):
            return str(payload["input"])
    return None


def _spend(files: SessionFiles) -> Usage:
    """Count the agents' own streams: calls that failed left no ``agent_end``."""
    total = Usage()
    for stream in sorted(files.directory.glob("*/raw_output.jsonl")):
        reader = PiStream(knows_prices=True)
        with stream.open("rb") as lines:
            for line in lines:
                reader.read(line, "")
        total += reader.outcome(0, "").usage
    return total


def _load(files: SessionFiles, name: str) -> Mapping[str, Any]:
    try:
        value = json.loads((files.directory / name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
