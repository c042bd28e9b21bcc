"""What the tracer asks of a coding agent's adapter, and what an adapter sees in a stream."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_workflow.tracer._usage import Usage

SendVerdict = Literal["answered", "cut_off", "provider_error", "aborted", "failed", "incomplete"]
"""How a send ended: with a whole reply; with one cut at the output limit; with the provider's refusal; aborted;
with a bad exit; or with a stream that stops before its end."""

UsageKnown = Literal["whole", "partial", "unknown"]
"""How much of a send's spend is known: all of it; some, so that the numbers are a lower bound; or nothing."""

CostBasis = Literal["agent_reported", "none"]
"""Where money comes from: the agent named it, or nobody did."""


@dataclass(frozen=True, slots=True)
class Send:
    """One prompt to be sent.

    Attributes:
        prompt, system: texts; ``prompt_file`` and ``system_file`` have them without secrets.
        session_id: conversation to begin or continue.
        continues: the conversation exists, and ``session_id`` is what the agent itself calls it.
        counted: tokens by component that the agent had counted for the conversation before, where it counts on.
        session_dir: where the agent keeps its own record of it, if it lets others choose.
        root: folder to work in.
        stderr_file: gets what the agent prints as errors, ``None`` where nobody keeps that.
    """

    prompt: str
    system: str
    prompt_file: Path
    system_file: Path
    model: str
    thinking: str | None
    session_id: str
    session_dir: Path
    tools: tuple[str, ...] | None
    harness_engineering: tuple[str, ...]
    root: Path
    continues: bool = False
    counted: Mapping[str, int] = field(default_factory=dict)
    stderr_file: Path | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start the agent for one send.

    Attributes:
        environment: what to add to it.
        stdin: what the agent reads there, ``None`` for nothing.
    """

    argv: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes | None = None


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool came back, or was cut off with the agent.

    Attributes:
        ok: whether it worked.
        duration_ms: the agent's own number, ``None`` when it gave none.
        interrupted: it never came back.
        parent_call_id: the call whose sub-agent made this one, empty for the agent's own.
    """

    tool: str
    tool_call_id: str
    args: object
    result: str
    ok: bool
    duration_ms: float | None
    started_at: str
    ended_at: str
    interrupted: bool = False
    parent_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Denial:
    """A tool that was not allowed to run; ``reason`` is what the agent said of it, empty when it gave none."""

    tool: str
    tool_call_id: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Waited:
    """The agent waits, tries again by itself or warns: ``name`` says which, ``details`` what is known."""

    name: str
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compacted:
    """The agent shortened its conversation; the model call for that costs ``usage``."""

    details: Mapping[str, Any]
    usage: Usage | None


Seen = ToolReturned | Waited | Compacted


@dataclass(frozen=True, slots=True)
class SendOutcome:
    """What one send came to.

    Attributes:
        verdict: how it ended.
        text: the reply.
        error: the provider's or the agent's message, empty when all is well.
        stop_reason: the agent's own word, empty when it gave none.
        usage: of the conversation's turns and of its sub-agents.
        compaction, tools: of compaction and of tools that called a model; ``None`` when there was none.
        context_tokens: how full the window is now, ``None`` when not known.
        turns: model calls of the conversation, ``None`` when not known.
        interrupted: tool calls that never came back.
        unknown: how many events of each type the adapter does not know.
        damaged: how many lines were no valid record.
        session_id: what the agent calls the conversation, empty when it did not say.
        resumable: the agent can go on with it.
        model: that answered, in the agent's words, empty when it did not say.
        context_window: the model's ceiling as the agent told it, in tokens.
        usage_known: how much of ``usage`` is known.
        subagents: tokens of sub-agents, which are part of ``usage``; ``None`` when there was none.
        per_call: usage of each turn, where the agent tells it.
        counted: tokens by component that the agent counts on from, when the conversation goes on.
        retries: how often the agent tried again by itself, ``None`` when its stream never tells.
        denials: tools that were not allowed to run.
        own_record: the agent's own file that completed what the stream lacks.
    """

    verdict: SendVerdict
    text: str
    error: str
    stop_reason: str
    usage: Usage
    compaction: Usage | None
    tools: Usage | None
    context_tokens: int | None
    turns: int | None
    interrupted: list[ToolReturned]
    unknown: Mapping[str, int]
    damaged: int
    session_id: str = ""
    resumable: bool = False
    model: str = ""
    context_window: int | None = None
    usage_known: UsageKnown = "whole"
    subagents: Usage | None = None
    per_call: tuple[Usage, ...] = ()
    counted: Mapping[str, int] = field(default_factory=dict)
    retries: int | None = None
    denials: tuple[Denial, ...] = ()
    own_record: Path | None = None

    @property
    def cost_basis(self) -> CostBasis:
        """Tell where the money of ``usage`` comes from."""
        return "none" if self.usage.total_cost is None else "agent_reported"


class StreamReader(Protocol):
    """Understands the stream of one send; starts nothing and writes nothing."""

    def read(self, line: bytes, at: str) -> Iterable[Seen]:
        """Take in one line and return what is to be recorded at once.

        Args:
            line: without its newline.
            at: when it came, as the trace writes times.
        """
        ...

    def complete(self) -> Iterable[Seen]:
        """Take what the stream lacks from the agent's own record, if that is there, once the stream has ended.

        Returns:
            What the stream had not shown.
        """
        ...

    def outcome(self, exit_code: int, at: str) -> SendOutcome:
        """Sum up after the stream has ended.

        Args:
            exit_code: of the process, negative for a signal.
            at: when it ended.
        """
        ...


class CodingAgent(Protocol):
    """One kind of coding agent."""

    name: str

    def launch(self, send: Send) -> Launch:
        """Say how to start the agent for a send.

        Raises:
            ConfigError: the agent cannot be held to what its configuration asks for.
        """
        ...

    def reader(self, send: Send) -> StreamReader:
        """Return a fresh reader for the stream of a send that is about to begin."""
        ...

    def context_window(self, model: str) -> int | None:
        """Return the ceiling of a model's context in tokens, ``None`` when not known before the agent has told it."""
        ...
