"""What a session file of any coding agent comes down to: turns, model calls and tool calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from agent_workflow.tracer._usage import Usage

Verdict = Literal["answered", "cut_off", "provider_error", "aborted", "incomplete"]
"""How a turn ended, as far as its record tells; the exit code of the agent is in no record."""

CostBasis = Literal["billed", "estimated", "subscription", "unknown"]
"""Where money comes from: the agent told it; a price list; a price list for what a subscription covers; nowhere."""

Purpose = Literal["turn", "compaction", "tool"]
"""What a model was called for: the conversation itself, shortening it, or a tool of its own accord."""

Happening = Literal["denied", "retried", "compacted"]
"""What a note is of: a tool was not allowed, the agent tried again by itself, the conversation was shortened."""

MAIN: Final = ""
"""The lane of the conversation itself; any other is a sub-agent's id."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and how the work on it ended; the last one told for a key is the true one.

    Attributes:
        key: the same wherever this prompt was copied to.
        at, ended_at: when it was given, and the newest sign of work on it.
        is_copy: the record says itself that it was copied from another session.
        error: the provider's or the agent's message.
    """

    key: str
    lane: str
    at: str
    text: str
    ended_at: str
    verdict: Verdict
    error: str = ""
    stop_reason: str = ""
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One answer of a model.

    Attributes:
        key: the same wherever this answer was copied to.
        turn: key of the turn that it belongs to.
        usage: the last that was told.
        provider: whose price list holds, empty when nobody knows.
        long_cache_write: tokens of ``usage.cache_write`` that are kept for an hour, which costs more.
        is_subscription: the agent says that a subscription covers it.
        lines: how often the usage stands in the file.
        raw: tokens by component of all these lines, as somebody would count who does not look for repetitions.
        purpose: only calls for a turn say how full the window is.
    """

    key: str
    turn: str
    lane: str
    at: str
    model: str
    usage: Usage
    provider: str = ""
    long_cache_write: int = 0
    is_subscription: bool = False
    is_copy: bool = False
    lines: int = 1
    raw: tuple[int, int, int, int] = (0, 0, 0, 0)
    purpose: Purpose = "turn"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call; ``interrupted`` as long as nothing has come back."""

    key: str
    turn: str
    lane: str
    tool: str
    call_id: str
    args: object
    result: str
    ok: bool
    duration_ms: float | None
    started_at: str
    ended_at: str
    interrupted: bool = False
    is_copy: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened beside the calls.

    Attributes:
        details: of a denial its ``tool``, ``tool_call_id`` and ``reason``; of a retry the agent's ``name`` for it and
            what it said; of a compaction whatever the agent tells.
    """

    happening: Happening
    key: str
    turn: str
    lane: str
    at: str
    details: Mapping[str, Any] = field(default_factory=dict)
    is_copy: bool = False


Item = Turn | ModelCall | ToolCall | Note


@dataclass(slots=True)
class SessionFacts:
    """What a source says of the session it belongs to.

    Attributes:
        agent: the kind of coding agent.
        session_id: what the agent calls the conversation.
        lane: of the whole file when it is a sub-agent's, else ``MAIN``.
        labels: name of each sub-agent by its lane.
        parent_calls: the tool call that started each sub-agent, by its lane.
        cwd, branch, version: where it worked and with what, empty when not told.
        window: the model's ceiling in tokens.
        forked_from: the session whose history the file begins with.
    """

    agent: str
    session_id: str = ""
    lane: str = MAIN
    labels: dict[str, str] = field(default_factory=dict)
    parent_calls: dict[str, str] = field(default_factory=dict)
    cwd: str = ""
    branch: str = ""
    version: str = ""
    window: int | None = None
    forked_from: str = ""
