"""What a session's files say about one run of it: numbers, names and outcomes, and nothing that anybody wrote."""

import contextlib
import hashlib
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import records
from agent_workflow.tracer._json import as_int, decode_record
from agent_workflow.tracer._kill_request import KILL
from agent_workflow.tracer._replay import Row, SessionState, replay_state
from agent_workflow.tracer.evidence._publications import Publication

CLOSINGS: Final = ("workflow", "lost", "killed")
"""Names of the error events that end a session which did not end itself by ``finish``."""

_NEEDLES: Final = (
    b'"type": "agent_start"',
    b'"type": "agent_end"',
    b'"type": "error"',
    b'"asked_again"',
    b'"asked_to_end"',
)


@dataclass(slots=True)
class Call:
    """One agent call; the payload of its ``agent_end`` is missing as long as there is none."""

    agent: str
    began_at: str
    ended_at: str | None = None
    payload: Mapping[str, Any] | None = None


class Command(NamedTuple):
    """How a command ended that was recorded by ``run``; its exit code is ``None`` where a signal ended it."""

    exit_code: int | None
    signal: int | None
    stdout_bytes: int
    stderr_bytes: int


@dataclass(frozen=True, slots=True)
class Facts:
    """One run of a session, as its files have it.

    Attributes:
        session: its row.
        phases, gates, agents: rows that were written during the run.
        calls: of agents, in the order in which they began.
        asked_again: how often each agent was.
        was_refused: its workflow did not accept it.
        was_asked_to_end: by ``trace kill``, which did not give up.
        closing: name and reason of the event that ended it from outside of the workflow's code.
        last_sign_at: when it was last seen at work: its last event before that closing.
        stdout_bytes, stderr_bytes: what its agents have printed in the whole session.
        command: the end of the command that the session is about, where ``run`` saw it.
    """

    session: Row
    phases: list[Row] = field(default_factory=list)
    gates: list[Row] = field(default_factory=list)
    agents: list[Row] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    asked_again: dict[str, int] = field(default_factory=dict)
    was_refused: bool = False
    was_asked_to_end: bool = False
    closing: tuple[str, str] | None = None
    last_sign_at: str | None = None
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    command: Command | None = None

    @property
    def prompt_sha256(self) -> str:
        """The digest of the request as the trace keeps it, of nothing where there is none."""
        return digest_of(str(self.session.get("request") or ""))

    @property
    def first_output_at(self) -> str | None:
        """When an agent first printed something."""
        moments = [str((call.payload or {}).get("first_output_at") or "") for call in self.calls]
        return min((moment for moment in moments if moment), default=None)


def digest_of(request: str) -> str:
    """Return the SHA-256 of a request."""
    return hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()


def gather(files: SessionFiles, publication: Publication) -> Facts:
    """Read one run of a session.

    Args:
        files: the session.
        publication: says from where on the session's journals belong to the run.

    Raises:
        OSError: they cannot be read.
    """
    whole = replay_state(files)
    touched = _touched(files, publication.state_from) if publication.state_from else whole
    events, last_sign_at = _events(files.events, publication.events_from)
    facts = Facts(
        session=dict(whole.session()),
        phases=_rows(whole, touched, "phases"),
        gates=_rows(whole, touched, "gate_results"),
        agents=_rows(whole, touched, "agent_sessions"),
        last_sign_at=last_sign_at,
        stdout_bytes=_sizes(files, "raw_output.jsonl"),
        stderr_bytes=_sizes(files, "stderr.log"),
    )
    return _with_events(facts, events)


def _touched(files: SessionFiles, offset: int) -> SessionState:
    state = SessionState()
    for record in records(files.state, offset):
        if record.value is not None:
            state.apply(record.value)
    return state


def _rows(whole: SessionState, touched: SessionState, table: str) -> list[Row]:
    return [row for key, row in whole.rows[table].items() if key in touched.rows[table]]


def _events(path: Path, offset: int) -> tuple[list[dict[str, Any]], str | None]:
    """Read the few events that matter here, since most of a long run are tool calls, and when the run was last at work.

    Returns:
        The events, and the time of the last one before that which closed the session from outside of its code.
    """
    found: list[dict[str, Any]] = []
    last = b""
    is_closed = False
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        stream.seek(offset)
        for line in stream:
            if not line.endswith(b"\n"):
                break
            if any(needle in line for needle in _NEEDLES) and (record := _decoded(line)) is not None:
                found.append(record)
                is_closed = is_closed or (record.get("type") == "error" and record.get("name") in CLOSINGS)
            last = last if is_closed else line
    told = _decoded(last)
    return found, None if told is None else str(told.get("ts"))


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        return decode_record(line)
    except ValueError:
        return None  # reported by rebuild, with its line


def _with_events(facts: Facts, events: list[dict[str, Any]]) -> Facts:
    calls: dict[str, Call] = {}
    asked_again: dict[str, int] = {}
    command: Command | None = None
    was_refused, was_asked_to_end, closing = False, False, None
    for event in events:
        kind, name = event.get("type"), str(event.get("name"))
        payload = event["payload"] if isinstance(event.get("payload"), dict) else {}
        if kind == "agent_start":
            # A command runs before anybody can write that it does.
            calls[str(event.get("event_id"))] = Call(name, str(event.get("started_at") or event.get("ts")))
        elif kind == "agent_end":
            call = calls.setdefault(str(event.get("parent_id")), Call(name, str(event.get("ts"))))
            call.ended_at, call.payload = str(event.get("ts")), payload
            command = _command(payload) or command
        elif kind == "log" and name == "asked_again":
            agent = str(payload.get("agent"))
            asked_again[agent] = asked_again.get(agent, 0) + 1
        elif kind == "log" and name == KILL:
            was_asked_to_end = payload.get("asked_to_end") is True
        elif kind == "error" and name == "not_accepted":
            was_refused = True
        elif kind == "error" and name in CLOSINGS:
            closing = (name, str(payload.get("error") or ""))
    return replace(
        facts,
        calls=list(calls.values()),
        asked_again=asked_again,
        was_refused=was_refused,
        was_asked_to_end=was_asked_to_end,
        closing=closing,
        command=command,
    )


def _command(payload: Mapping[str, Any]) -> Command | None:
    """Read the end of a recorded command; other agents' calls have none at this place."""
    code, name = as_int(payload.get("exit_code")), payload.get("signal")
    out, err = as_int(payload.get("stdout_bytes")) or 0, as_int(payload.get("stderr_bytes")) or 0
    if isinstance(name, str):
        known = signal.Signals.__members__.get(name)
        number = int(known) if known else as_int(name.removeprefix("signal "))
        return None if number is None else Command(None, number, out, err)
    return None if code is None else Command(code, None, out, err)


def _sizes(files: SessionFiles, name: str) -> int:
    total = 0
    for path in files.directory.glob(f"*/{name}"):
        try:
            total += path.lstat().st_size
        except OSError:
            continue
    return total
