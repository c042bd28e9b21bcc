"""Where a run shows that its work moves on: how long its channels are and when they last grew.

A heartbeat, the status, the lifecycle journal and what a supervisor writes are no channels: they grow without any work.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_workflow.cli.supervisor.documents import FileState, file_state

Channel = Literal["output", "stderr", "executor_event", "terminal_event", "message", "completion"]

_FILES: Mapping[Channel, str] = {
    "output": "output.log",
    "stderr": "executor-stderr.log",
    "executor_event": "executor-events.jsonl",
    "terminal_event": "terminal-events.jsonl",
    "message": "messages.jsonl",
    "completion": "completion.json",
}
MEASURED: tuple[Channel, ...] = ("output", "stderr", "executor_event", "terminal_event")
"""Channels whose sizes stand in a health sample."""

RAW_OUTPUT = "raw_output.jsonl"
STDERR = "stderr.log"


@dataclass(frozen=True, slots=True)
class ChannelState:
    """A channel's bytes, over all of its files, and the POSIX time of its last change; None without any bytes."""

    size: int
    changed: float | None


@dataclass(frozen=True, slots=True)
class Channels:
    """The channels that a run has, by name; a missing one has no file."""

    states: Mapping[Channel, ChannelState] = field(default_factory=dict)

    def size(self, channel: Channel) -> int | None:
        """Return a channel's bytes, None where the run has no such channel."""
        state = self.states.get(channel)
        return None if state is None else state.size


def channels_of_run(directory: Path) -> Channels:
    """Measure the channels of a run that another system recorded.

    Args:
        directory: of the run.
    """
    base = str(directory)
    found = {channel: file_state(f"{base}/{name}") for channel, name in _FILES.items()}
    return Channels({channel: _state_of([state]) for channel, state in found.items() if state is not None})


def channels_of_session(session: Path) -> Channels:
    """Measure the channels of a traced run.

    Args:
        session: its session directory, where agents' raw files are.
    """
    files: dict[Channel, list[FileState]] = {}
    for channel, path in _session_files(session):
        if (state := file_state(path)) is not None:
            files.setdefault(channel, []).append(state)
    return Channels({channel: _state_of(states) for channel, states in files.items()})


def agent_directories(session: Path) -> list[str]:
    """List the directories of a session that may hold an agent's raw files, by name; none where it is gone."""
    try:
        with os.scandir(session) as entries:
            return sorted(
                entry.name
                for entry in entries
                if not entry.name.startswith(".")
                and entry.name != "context_handoff"
                and entry.is_dir(follow_symlinks=False)
            )
    except OSError:
        return []


def _session_files(session: Path) -> Iterator[tuple[Channel, str]]:
    yield "executor_event", f"{session}/events.jsonl"
    for agent in agent_directories(session):
        yield "output", f"{session}/{agent}/{RAW_OUTPUT}"
        yield "stderr", f"{session}/{agent}/{STDERR}"


def _state_of(states: list[FileState]) -> ChannelState:
    changes = [state.changed for state in states if state.size]
    return ChannelState(sum(state.size for state in states), max(changes, default=None))
