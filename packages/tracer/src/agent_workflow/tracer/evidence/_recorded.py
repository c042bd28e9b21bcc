"""What runs of a state root have recorded while it went on: imported later, the same is no evidence again."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent_workflow.tracer import _clock
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._json import as_int
from agent_workflow.tracer._replay import Row, replay_state
from agent_workflow.tracer.evidence._errors import NotTraced
from agent_workflow.tracer.evidence._facts import Call, Facts, gather
from agent_workflow.tracer.evidence._launch import read_launch
from agent_workflow.tracer.evidence._publications import Publication
from agent_workflow.tracer.evidence._state_root import ARCHIVE, RUNS

Conversation = tuple[str, str]
"""A kind of coding agent, and what it calls the conversation."""

_SLACK_SECONDS: Final = 86_400.0  # clocks of two machines, or of one before and after it was set


class Recorded:
    """The conversations that recorded runs are of; a run is looked at when the first is asked for."""

    def __init__(self, root: Path, since: str) -> None:
        """Look at nothing yet.

        Args:
            root: the state root.
            since: runs that were over by then are of no interest, as the trace writes times; empty for all.
        """
        told = _clock.parse_time(since)
        self._since = 0.0 if told is None else told.timestamp() - _SLACK_SECONDS
        self._root = root
        self._sessions: dict[Conversation, list[SessionFiles]] | None = None
        self._turns: dict[Path, list[Call]] = {}

    def without_recorded(self, facts: Facts, conversation: Conversation) -> Facts:
        """Leave out the turns of an imported session that somebody has recorded.

        Args:
            facts: of the session.
            conversation: that it is of.
        """
        spans = list(self._spans(conversation))
        if not spans:
            return facts
        return replace(facts, calls=[call for call in facts.calls if not _is_within(call, spans)])

    def _spans(self, conversation: Conversation) -> Iterator[tuple[str, str]]:
        if self._sessions is None:
            self._sessions = self._find()
        for files in self._sessions.get(conversation, []):
            if files.directory not in self._turns:
                self._turns[files.directory] = _calls(files)
            for call in self._turns[files.directory]:
                if call.ended_at and _was_told(call) and conversation[1] in _conversations(call):
                    yield call.began_at, call.ended_at

    def _find(self) -> dict[Conversation, list[SessionFiles]]:
        found: dict[Conversation, list[SessionFiles]] = {}
        for folder in sorted(set(self._session_folders())):
            files = SessionFiles(folder)
            for row in _agents(files):
                holders = found.setdefault((str(row.get("coding_agent")), str(row.get("session_id"))), [])
                if files not in holders:
                    holders.append(files)
        return found

    def _session_folders(self) -> Iterator[Path]:
        for place in (RUNS, ARCHIVE):
            try:
                entries = list(os.scandir(self._root / place))
            except FileNotFoundError:
                continue
            for entry in entries:
                try:
                    # A run's directory has the time of its seal.
                    if entry.stat(follow_symlinks=False).st_mtime >= self._since:
                        yield Path(read_launch(Path(entry.path))["trace"]["session_directory"])
                except (NotTraced, OSError):
                    continue  # imported, of another writer, or just moved into the archive


def _agents(files: SessionFiles) -> list[Row]:
    try:
        return replay_state(files).of("agent_sessions")
    except OSError:
        return []  # what cannot be read says nothing; the other runs do


def _calls(files: SessionFiles) -> list[Call]:
    try:
        return gather(files, Publication("", "", "", "")).calls
    except OSError:
        return []  # as above


def _was_told(call: Call) -> bool:
    """Tell whether the recorder knows what a call has spent; else the imported turn knows more."""
    payload = call.payload or {}
    return payload.get("imported") is not True and (as_int(payload.get("tokens")) or 0) > 0


def _conversations(call: Call) -> set[object]:
    payload = call.payload or {}
    sends = payload.get("sends")
    listed = [send for send in sends if isinstance(send, dict)] if isinstance(sends, list) else []
    return {payload.get("session_id"), *(send.get("session_id") for send in listed)}


def _is_within(call: Call, spans: list[tuple[str, str]]) -> bool:
    return any(began <= (call.ended_at or call.began_at) and call.began_at <= ended for began, ended in spans)
