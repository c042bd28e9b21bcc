"""What the summing routes answer with."""

from typing import Literal

from agent_workflow.visualizer._trace_models import Number, Strict, Text

Verdict = Literal["adds_up", "differs", "unknown"]
Count = int | None


class Timeline(Strict):
    """Events column by column; ``type`` and ``phase`` are indexes into ``types`` and ``phases`` (-1: no phase)."""

    origin: Text
    types: list[str]
    phases: list[str]
    rowid: list[int]
    type: list[int]
    phase: list[int]
    at: list[int | None]
    span: list[int | None]
    ok: list[Literal[0, 1] | None]
    cursor: int
    anchor: str
    generation: str
    has_more: bool
    reset: bool


class UsageReply(Strict):
    """Tokens and dollars of one line; reasoning is inside output."""

    input_tokens: Count
    output_tokens: Count
    cache_read_tokens: Count
    cache_write_tokens: Count
    reasoning_tokens: Count
    total_tokens: Count
    input_cost: Number
    output_cost: Number
    cache_read_cost: Number
    cache_write_cost: Number
    total_cost: Number
    unattributed_tokens: Count
    unattributed_cost: Number
    tokens_verdict: Verdict
    cost_verdict: Verdict


class CostLine(Strict):
    """A part of what a call cost."""

    kind: Literal["conversation", "compaction", "tools"]
    usage: UsageReply


class DenialLine(Strict):
    """A tool that was not allowed to run."""

    tool: Text
    tool_call_id: Text
    reason: Text


class SendLine(Strict):
    """One send of a call; ``subagent_usage`` is inside ``usage``, ``retries`` null where the agent never tells."""

    number: int
    verdict: Text
    stop_reason: Text
    error: Text
    usage_known: Text
    cost_basis: Text
    model: Text
    session_id: Text
    turns: Count
    usage: UsageReply | None
    subagent_usage: UsageReply | None
    retries: Count
    denials: list[DenialLine]


class CallSum(Strict):
    """One call of an agent: its lines sum to it, its sends to the conversation."""

    event_id: str
    agent: Text
    tokens: Count
    cost: Number
    tokens_verdict: Verdict
    cost_verdict: Verdict
    sends_verdict: Verdict
    cost_basis: Text
    estimated_cost: Number
    price_catalogue: Text
    lines: list[CostLine]
    sends: list[SendLine]


class PhaseSum(Strict):
    """What a phase cost; null where it made no call."""

    phase_id: str
    name: Text
    owner: Text
    tokens: Count
    cost: Number
    calls: list[CallSum]


class SessionSum(Strict):
    """The stored totals against the sum of the phases."""

    stored_tokens: Count
    stored_cost: Number
    tokens: Count
    cost: Number
    unattributed_tokens: Count
    unattributed_cost: Number
    tokens_verdict: Verdict
    cost_verdict: Verdict


class Reconciliation(Strict):
    """Whether the numbers of a session add up."""

    session: SessionSum
    phases: list[PhaseSum]
