"""What the tracer asks of a coding agent's adapter, and what an adapter sees in a stream."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agent_workflow.tracer._usage import Usage

SendVerdict = Literal["answered", "cut_off", "provider_error", "aborted", "failed", "incomplete"]
"""How a send ended: with a whole reply; with one cut at the output limit; with the provider's refusal; aborted;
with a bad exit; or with a stream that stops before its end."""


@dataclass(frozen=True, slots=True)
class Send:
    """One prompt to be sent.

    Attributes:
        prompt, system: texts; the same are in ``prompt_file`` and ``system_file``.
        session_id: conversation to begin or continue.
        session_dir: where the agent keeps its own record of it.
        root: folder to work in.
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


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start the agent for one send: its arguments and what to add to the environment."""

    argv: list[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool came back, or was cut off with the agent.

    Attributes:
        ok: whether it worked.
        duration_ms: the agent's own number, ``None`` when it gave none.
        interrupted: it never came back.
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


@dataclass(frozen=True, slots=True)
class Waited:
    """The agent waits or tries again by itself: ``name`` says which, ``details`` what is known."""

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
        usage: of the conversation's turns.
        compaction, tools: of compaction and of tools that called a model; ``None`` when there was none.
        context_tokens: how full the window is now, ``None`` when not known.
        interrupted: tool calls that never came back.
        unknown: how many events of each type the adapter does not know.
        damaged: how many lines were no valid record.
    """

    verdict: SendVerdict
    text: str
    error: str
    stop_reason: str
    usage: Usage
    compaction: Usage | None
    tools: Usage | None
    context_tokens: int | None
    turns: int
    interrupted: list[ToolReturned]
    unknown: Mapping[str, int]
    damaged: int


class StreamReader(Protocol):
    """Understands the stream of one send; keeps no file and starts nothing."""

    def read(self, line: bytes, at: str) -> Iterable[Seen]:
        """Take in one line and return what is to be recorded at once.

        Args:
            line: without its newline.
            at: when it came, as the trace writes times.
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
        """Say how to start the agent for a send."""
        ...

    def reader(self, model: str) -> StreamReader:
        """Return a fresh reader for the stream of one send to a model."""
        ...

    def context_window(self, model: str) -> int | None:
        """Return the ceiling of a model's context in tokens, ``None`` when not known."""
        ...
