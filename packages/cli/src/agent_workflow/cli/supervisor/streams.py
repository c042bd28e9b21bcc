"""What agents print, read from where it was left, and what its end says: prompts, waits, open tool calls."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from agent_workflow.cli.supervisor.channels import RAW_OUTPUT, STDERR, agent_directories
from agent_workflow.cli.supervisor.documents import file_state, last_records, read_bytes, text
from agent_workflow.cli.supervisor.open_tools import is_known, open_tool_calls
from agent_workflow.cli.supervisor.permissions import Observation, observe
from agent_workflow.cli.supervisor.provider_wait import ProviderWait
from agent_workflow.cli.supervisor.provider_wait import observe as observe_wait
from agent_workflow.cli.supervisor.runs import Run

Kind = Literal["terminal", "stderr", "stream"]

_MOST_NEW_BYTES = 8 * 1024 * 1024
_TERMINAL_LINE_BYTES = 448 * 1024  # 64 KiB of text, most of it escaped
_NAME = 100  # the contract of a permission event has 128 characters for its source
_TERMINAL = "terminal-events.jsonl"


@dataclass(frozen=True, slots=True)
class Source:
    """A file into which an agent prints.

    Attributes:
        agent: the trace's name for it; None in a run without a trace.
        name: what permission events call it; of a traced run it names the agent.
        program: whose stream it is, None where that is not known.
    """

    name: str
    kind: Kind
    path: Path
    program: str | None
    agent: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the end of one source says.

    Attributes:
        observations: prompts and denials; their positions count from the beginning of the file.
        wait: an open wait for the provider.
        open_tools: calls that did not come back yet.
        is_structured: its agent's stream is known, so that ``open_tools`` can be trusted.
    """

    source: Source
    observations: tuple[Observation, ...] = ()
    wait: ProviderWait | None = None
    open_tools: frozenset[str] = frozenset()
    is_structured: bool = False


@dataclass(slots=True)
class _Left:
    """Where a source was left, and what it said then."""

    inode: int
    size: int
    changed_ns: int
    reading: Reading


@dataclass(slots=True)
class StreamMemory:
    """Where every source was left: one that did not change is not read again."""

    left: dict[Path, _Left] = field(default_factory=dict)

    def read(self, source: Source, tail_bytes: int) -> Reading | None:
        """Read what is new in a source, and enough before it to understand its end.

        Args:
            source: the file.
            tail_bytes: how much of its end is read at least.

        Returns:
            None where there is no such file.

        Raises:
            BadEvidence: it cannot be read.
        """
        state = file_state(source.path)
        if state is None:
            self.left.pop(source.path, None)
            return None
        before = self.left.get(source.path)
        if before is not None and (before.inode, before.size, before.changed_ns) == (
            state.inode,
            state.size,
            state.changed_ns,
        ):
            return before.reading
        start = max(0, state.size - tail_bytes)
        if before is not None and before.inode == state.inode and before.size < start:
            start = max(before.size, state.size - _MOST_NEW_BYTES)
        reading = _understand(source, start, state.size)
        self.left[source.path] = _Left(state.inode, state.size, state.changed_ns, reading)
        return reading

    def forget_all_but(self, sessions: frozenset[Path]) -> None:
        """Forget the sources of runs that are no longer looked at.

        Args:
            sessions: directories that hold sources still.
        """
        self.left = {
            path: left for path, left in self.left.items() if path.parent in sessions or path.parent.parent in sessions
        }


def of_the_dead(reading: Reading) -> Reading:
    """Return what is left to tell of a source whose agent has ended: what was denied. Nothing of it waits or works."""
    denied = tuple(seen for seen in reading.observations if seen.state == "denied")
    return Reading(reading.source, denied)


def sources_of(run: Run) -> Iterator[Source]:
    """Name the files into which the agents of a run print."""
    if run.trace is None:
        yield Source("terminal", "terminal", run.directory / _TERMINAL, run.program)
        yield Source("executor_stderr", "stderr", run.directory / "executor-stderr.log", run.program)
        yield Source("executor_events", "stream", run.directory / "executor-events.jsonl", run.program)
        return
    for agent in agent_directories(run.trace.session):
        program = run.trace.programs.get(agent) or None
        directory = run.trace.session / agent
        yield Source(f"{agent[:_NAME]}/stderr", "stderr", directory / STDERR, program, agent)
        yield Source(f"{agent[:_NAME]}/stream", "stream", directory / RAW_OUTPUT, program, agent)


def _understand(source: Source, start: int, end: int) -> Reading:
    if source.kind == "terminal":
        # Each record is a picture of the pane: only the newest says what stands there.
        newest = last_records(source.path, 1, _TERMINAL_LINE_BYTES).records
        shown = text(newest[-1].get("content")) if newest else None
        return Reading(source, tuple(observe("terminal", source.program, (shown or "").encode())))
    data = read_bytes(source.path, start, end - start) or b""
    if start:
        cut = data.find(b"\n") + 1  # the line that we came into the middle of
        start, data = start + cut, data[cut:]
    seen = observe(source.kind, source.program, data)
    # Positions count from the beginning of the file, so that one denial has one name however it is read.
    observations = tuple(_moved(observation, start) for observation in seen)
    if source.kind != "stream":
        return Reading(source, observations)
    return Reading(
        source,
        observations,
        observe_wait(source.program, data),
        open_tool_calls(source.program, data),
        is_known(source.program),
    )


def _moved(observation: Observation, start: int) -> Observation:
    from dataclasses import replace

    return replace(observation, position=observation.position + start)
