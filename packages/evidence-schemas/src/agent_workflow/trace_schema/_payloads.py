"""What the payload of each event type holds. Unknown keys are kept: other writers add their own."""

from types import MappingProxyType
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=0, lt=2**63)]
Money = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Payload(BaseModel):
    """Base of all payloads."""

    model_config = ConfigDict(extra="allow", defer_build=True)


class Check(Payload):
    """One thing that a gate looked at."""

    item: str
    ok: bool
    note: str = ""


class PhaseStart(Payload):
    """A phase was entered."""

    kind: Literal["engineer", "agent", "code"] | str
    owner: str
    description: str


class PhaseEnd(Payload):
    """A phase was left."""

    status: str


class AgentStart(Payload):
    """A coding agent is about to be asked; ``tools`` null means all of them."""

    model: str
    thinking: str | None = None
    color: str | None = None
    session_id: str | None = None
    coding_agent: str | None = None
    purpose: str | None = None
    tools: list[str] | None = None
    harness_engineering: list[str] | None = None


class UsagePayload(Payload):
    """Tokens, and money in US dollars; the four components sum to the total, reasoning is inside output."""

    input_tokens: Count
    output_tokens: Count
    cache_read_tokens: Count
    cache_write_tokens: Count
    reasoning_tokens: Count | None = None
    total_tokens: Count
    input_cost: Money | None = None
    output_cost: Money | None = None
    cache_read_cost: Money | None = None
    cache_write_cost: Money | None = None
    total_cost: Money | None = None


class AgentEnd(Payload):
    """The agent's call is over; a cost that is not known is null."""

    cost: Money | None
    usage: UsagePayload | None = None
    context_tokens: Count | None = None
    context_window: Count | None = None


class ToolCall(Payload):
    """A tool returned, or was cut off."""

    tool: str
    tool_call_id: str | None = None
    args: Any = None
    result_snippet: str | None = None
    ok: bool | None = None
    duration_ms: float | None = None
    agent: str | None = None


class Handoff(Payload):
    """An envelope goes to the next agent."""

    artifacts: list[str] = []
    summary: str = ""


class GateResult(Payload):
    """A gate looked at its checks; violations are the failed ones."""

    attempt: Count
    checks: list[Check] | None = None
    violations: list[str] = []


class Log(Payload):
    """Anything a workflow logs; ``input`` in the request phase is the session's request."""


class ErrorPayload(Payload):
    """Something was raised, or a run was not accepted."""

    error: str | None = None
    reason: str | None = None


PAYLOADS: Final[MappingProxyType[str, type[Payload]]] = MappingProxyType(
    {
        "phase_start": PhaseStart,
        "phase_end": PhaseEnd,
        "agent_start": AgentStart,
        "agent_end": AgentEnd,
        "tool_call": ToolCall,
        "handoff": Handoff,
        "gate_pass": GateResult,
        "gate_fail": GateResult,
        "log": Log,
        "error": ErrorPayload,
    }
)
