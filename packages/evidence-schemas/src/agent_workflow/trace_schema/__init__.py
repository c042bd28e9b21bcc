"""The trace database ``sssf.db``: its tables, its event types and its additive migrations."""

from typing import TYPE_CHECKING, Any

from agent_workflow.trace_schema._events import EVENT_TYPES, SPAN_TYPES, EventType
from agent_workflow.trace_schema._migrations import (
    SCHEMA_VERSION,
    NewerTraceSchema,
    generation,
    migrate,
    renew_generation,
)
from agent_workflow.trace_schema._tables import INSERT_EVENT, LATE_COLUMNS, TABLES, Table

if TYPE_CHECKING:
    from agent_workflow.trace_schema._payloads import PAYLOADS, Check, UsagePayload

__all__ = [
    "EVENT_TYPES",
    "INSERT_EVENT",
    "LATE_COLUMNS",
    "PAYLOADS",
    "SCHEMA_VERSION",
    "SPAN_TYPES",
    "TABLES",
    "Check",
    "EventType",
    "NewerTraceSchema",
    "Table",
    "UsagePayload",
    "generation",
    "migrate",
    "renew_generation",
]

_MODELS = frozenset({"PAYLOADS", "Check", "UsagePayload"})


def __getattr__(name: str) -> Any:  # noqa: ANN401 - a module attribute may be of any type
    # Pydantic takes longer to import than a short workflow takes to run; only readers of payloads pay for it.
    if name in _MODELS:
        from agent_workflow.trace_schema import _payloads

        return getattr(_payloads, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
