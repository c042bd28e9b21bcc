"""A session of the ledger as the rows and events of a trace: always the same for the same content."""

import heapq
from collections.abc import Iterator
from typing import Any, Final

from agent_workflow.tracer._account import told_denials
from agent_workflow.tracer._sending import tool_label
from agent_workflow.tracer._usage import money
from agent_workflow.tracer.agents import Denial
from agent_workflow.tracer.importing._items import MAIN
from agent_workflow.tracer.importing._ledger import Ledger
from agent_workflow.tracer.importing._session_turns import ToldTurn, read_turns, sum_up
from agent_workflow.tracer.importing._trace_event import Event, content_id
from agent_workflow.tracer.importing._turn_spend import TurnSpend, basis_of
from agent_workflow.tracer.pricing import Prices

ENGINEER: Final = "engineer"
_MOST_SOURCES: Final = 100
_WITHIN: Final = 3  # between the start of a turn and its end
_TELL_RETRIES: Final = frozenset(["pi"])  # of the others some are in no record, so that none told is not none


class ImportedSession:
    """Puts one session together; the turns are kept in memory, the tool calls pass through."""

    def __init__(self, ledger: Ledger, adw_id: str, prices: Prices | None) -> None:
        """Read its turns and model calls."""
        self.adw_id = adw_id
        self._items = ledger.items_of(adw_id)
        self._sources = ledger.sources_of(adw_id)
        self._facts = self._sources[0].facts if self._sources else {}
        self.agent = str(self._facts.get("agent", ""))
        self._labels = {lane: label for source in self._sources for lane, label in source.facts["labels"].items()}
        self._parents = {lane: call for source in self._sources for lane, call in source.facts["parent_calls"].items()}
        self._catalogue = prices.catalogue if prices else ""
        self._turns = read_turns(self._items, prices)
        self._request_id = f"{adw_id}_01_request"
        self._phase_id = f"{adw_id}_02_conversation"
        for turn in self._turns.values():
            turn.start_id = self._id("agent_start", turn.data["lane"], turn.data["key"])

    @property
    def is_empty(self) -> bool:
        """Whether nothing in its files is worth a session."""
        return not self._turns

    def rows(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the rows of all tables but the events."""
        turns = list(self._turns.values())
        main = [turn for turn in turns if turn.data["lane"] == MAIN] or turns
        first, last = main[0].data, main[-1].data
        started = min(turn.data["at"] for turn in turns)
        ended = max(turn.data["ended_at"] for turn in turns)
        totals = sum_up(turns)
        status = "success" if last["verdict"] == "answered" else "fail"
        yield (
            "sessions",
            {
                "adw_name": f"{self.agent} session",
                "request": first["text"],
                "status": status,
                "engineer": ENGINEER,
                "started_at": started,
                "ended_at": ended,
                "total_tokens": totals.usage.total,
                "total_cost": money(totals.usage.total_cost),
                "archived": 0,
                "estimated_cost": money(totals.estimated) if totals.is_estimated else None,
                "price_catalogue": self._catalogue if totals.estimated is not None else None,
                "cost_basis": basis_of(totals.bases),
            },
        )
        yield "phases", self._phase(1, "request", ENGINEER, "What was asked for first", "success", started, started)
        conversation = self._phase(2, "conversation", self.agent, self._described(), status, started, ended)
        yield "phases", {**conversation, "error": None if status == "success" else _error(last)}
        yield from self._agents(turns)

    def _phase(
        self, seq: int, name: str, owner: str, description: str, status: str, started: str, ended: str
    ) -> dict[str, Any]:
        return {
            "phase_id": f"{self.adw_id}_{seq:02d}_{name}",
            "seq": seq,
            "name": name,
            "kind": "engineer" if seq == 1 else "agent",
            "owner": owner,
            "description": description,
            "status": status,
            "attempt": 0,
            "retries": 0,
            "error": None,
            "started_at": started,
            "ended_at": ended,
        }

    def _described(self) -> str:
        cwd = self._facts["cwd"]
        return f"Imported from the agent's own record{f', in {cwd}' if cwd else ''}"

    def _agents(self, turns: list[ToldTurn]) -> Iterator[tuple[str, dict[str, Any]]]:
        lanes: dict[str, list[ToldTurn]] = {}
        for turn in turns:
            lanes.setdefault(turn.data["lane"], []).append(turn)
        for lane, own in lanes.items():
            yield (
                "agent_sessions",
                {
                    "agent": self.name_of(lane),
                    "coding_agent": self.agent,
                    "model": _newest(own, "model") or None,
                    "color": None,
                    "session_id": self._facts["session_id"],
                    "context_tokens": _context(own),
                    "context_window": self._facts["window"] if lane == MAIN else None,
                    "created_at": own[0].data["at"],
                    "last_used_at": max(turn.data["ended_at"] for turn in own),
                },
            )

    def name_of(self, lane: str) -> str:
        """Return the name under which a lane's agent is shown."""
        return self.agent if lane == MAIN else f"{self._labels.get(lane, 'agent')} {lane[:12]}"

    def events(self) -> Iterator[Event]:
        """Yield all events by time."""
        framing = sorted(self._framing(), key=lambda one: one[0])
        calls = (((event.at, _WITHIN), event) for event in self._tool_calls())
        for _, event in heapq.merge(framing, calls, key=lambda one: one[0]):
            yield event

    def _framing(self) -> Iterator[tuple[tuple[str, int], Event]]:
        rows = list(self.rows())
        phases = [row for table, row in rows if table == "phases"]
        asked = {"input": rows[0][1]["request"], "imported_from": self._told_sources()}
        for phase in phases:
            shown = {name: phase[name] for name in ("kind", "owner", "description")}
            begun, over = phase["started_at"], phase["ended_at"]
            order = 5 if phase["seq"] == 2 else 1
            yield (begun, order - 4 if order == 5 else 0), self._event("phase_start", phase, begun, shown)
            yield (over, order), self._event("phase_end", phase, over, {"status": phase["status"]})
        started = rows[0][1]["started_at"]
        yield (started, 0), Event(self._id("request"), started, self._request_id, "log", "request", asked)
        for turn in self._turns.values():
            yield (turn.data["at"], 2), self._start(turn)
            yield (turn.data["ended_at"], 4), self._end(turn)
            for note in turn.notes:
                if note["happening"] != "denied":  # which the end of the turn tells
                    yield (note["at"], _WITHIN), self._noted(turn, note)

    def _noted(self, turn: ToldTurn, note: dict[str, Any]) -> Event:
        """Tell of a retry or a compaction as the recorder does."""
        details = dict(note["details"])
        name = str(details.pop("name", "")) if note["happening"] == "retried" else "compaction"
        payload = {**details, "agent": self.name_of(note["lane"])}
        identity = self._id("note", note["lane"], note["key"])
        return Event(identity, note["at"], self._phase_id, "log", name, payload, turn.start_id)

    def _event(self, kind: str, phase: dict[str, Any], at: str, payload: dict[str, Any]) -> Event:
        return Event(self._id(kind, phase["phase_id"]), at, phase["phase_id"], kind, phase["name"], payload)

    def _told_sources(self) -> list[dict[str, Any]]:
        return [
            {"path": source.path, "bytes": source.offset, "version": source.facts["version"], "damaged": source.damaged}
            for source in self._sources[:_MOST_SOURCES]
        ]

    def _start(self, turn: ToldTurn) -> Event:
        lane = turn.data["lane"]
        payload = {
            "model": turn.spend.model,
            "session_id": self._facts["session_id"],
            "coding_agent": self.agent,
            "prompt": turn.data["text"],
            "cwd": self._facts["cwd"],
            "branch": self._facts["branch"],
            "imported": True,
        }
        at = turn.data["at"]
        return Event(
            turn.start_id, at, self._phase_id, "agent_start", self.name_of(lane), payload, self._parent_of(lane, at)
        )

    def _parent_of(self, lane: str, at: str) -> str:
        """Return what a sub-agent is nested in: the call that started it, else the turn that ran then."""
        if lane == MAIN:
            return ""
        called = self._items.call_key(self._parents.get(lane, ""))
        if called:
            return self._id("tool_call", *called)
        running = [turn for turn in self._turns.values() if turn.data["lane"] == MAIN and turn.data["at"] <= at]
        return running[-1].start_id if running else ""

    def _end(self, turn: ToldTurn) -> Event:
        data, spend = turn.data, turn.spend
        everything, parts = spend.everything, _spent(spend)
        payload = {
            "cost": money(everything.total_cost),
            "tokens": everything.total,
            **parts,
            "sends": [{**self._send(turn), **parts}],
            "context_tokens": spend.context,
            "context_window": self._facts["window"] if data["lane"] == MAIN else None,
            "session_id": self._facts["session_id"],
            "agent": self.name_of(data["lane"]),
            "imported": True,
            **spend.payload(self._catalogue),
        }
        identity = self._id("agent_end", data["lane"], data["key"])
        name = self.name_of(data["lane"])
        tokens = everything.total
        return Event(identity, data["ended_at"], self._phase_id, "agent_end", name, payload, turn.start_id, tokens)

    def _send(self, turn: ToldTurn) -> dict[str, Any]:
        data, spend = turn.data, turn.spend
        retries = len(turn.noted("retried"))
        return {
            "verdict": data["verdict"],
            "stop_reason": data["stop_reason"],
            "error": data["error"] or None,
            "turns": spend.turns,
            # What was under way when the record stops is not in it.
            "usage_known": "partial" if data["verdict"] == "incomplete" else "whole",
            "subagent_usage": None,
            "cost_basis": "none" if spend.usage.total_cost is None else "agent_reported",
            "model": spend.model or None,
            "session_id": self._facts["session_id"],
            "retries": retries if retries or self.agent in _TELL_RETRIES else None,
            "denials": told_denials([Denial(**note["details"]) for note in turn.noted("denied")]),
        }

    def _tool_calls(self) -> Iterator[Event]:
        fallback = next(iter(self._turns.values())).start_id
        for call in self._items.tool_calls():
            turn = self._turns.get((call["lane"], call["turn"]))
            agent = self.name_of(call["lane"])
            payload: dict[str, Any] = {
                "tool": call["tool"],
                "tool_call_id": call["call_id"],
                "args": call["args"],
                "ok": call["ok"],
                "result_snippet": call["result"],
                "duration_ms": call["duration_ms"],
                "agent": agent,
            }
            if call["interrupted"]:
                payload["interrupted"] = True
            identity = self._id("tool_call", call["lane"], call["key"])
            name = tool_label(call["tool"], call["args"])
            parent = turn.start_id if turn else fallback
            event = Event(identity, call["ended_at"], self._phase_id, "tool_call", name, payload, parent)
            event.started_at, event.ended_at = call["started_at"], call["ended_at"]
            yield event

    def _id(self, *parts: str) -> str:
        return content_id(self.adw_id, *parts)


def _spent(spend: TurnSpend) -> dict[str, Any]:
    return {
        "usage": spend.usage.payload(),
        "compaction_usage": spend.compaction.payload() if spend.compaction else None,
        "tool_usage": spend.tools.payload() if spend.tools else None,
    }


def _newest(turns: list[ToldTurn], name: str) -> Any:  # noqa: ANN401 - of any field
    return next((value for turn in reversed(turns) if (value := getattr(turn.spend, name))), None)


def _context(turns: list[ToldTurn]) -> int | None:
    """Return how full the window was last, ``None`` where it was compacted since."""
    return next((turn.spend.context for turn in reversed(turns) if turn.spend.context_at), None)


def _error(turn: dict[str, Any]) -> str:
    return str(turn["error"]) or f"the last turn is {turn['verdict']}: its record stops before an answer"
