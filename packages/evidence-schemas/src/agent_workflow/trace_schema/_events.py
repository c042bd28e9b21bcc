"""The ten event types that a tracer writes; readers accept types they do not know."""

from typing import Final, Literal, get_args

EventType = Literal[
    "phase_start",
    "agent_start",
    "tool_call",
    "handoff",
    "gate_pass",
    "gate_fail",
    "log",
    "agent_end",
    "phase_end",
    "error",
]

EVENT_TYPES: Final[frozenset[str]] = frozenset(get_args(EventType))

SPAN_TYPES: Final[frozenset[str]] = frozenset({"tool_call"})
"""Types that span time and therefore set ``ended_at``; every other type is a point in time."""
