"""Answers compared cell by cell, whatever notation an engine has for a value."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from three_hosts import moment

from agent_workflow.index_store.export import TABLES, FieldClass, FieldType

TABLE_OF_KIND = {"workflow-nodes": "workflow_nodes"}
SUMMARIES = {
    "attempts": (
        *("attempt_classification", "executor_result", "completion_result", "policy_result", "score_verdict"),
        *("evaluation_state", "run_count", "acceptance_eligible_count"),
    ),
    "performance": (
        *("executor", "model", "stage", "sample_count", "avg_elapsed_seconds", "avg_first_output_latency_seconds"),
        *("avg_input_tokens", "avg_output_tokens", "provider_billed_sample_count", "avg_provider_billed_cost"),
        *("provider_billed_currency", "local_estimated_sample_count", "avg_local_estimated_cost"),
        "local_estimated_currency",
    ),
}
MONEY_DIGITS = 12


def view_of(kind: str) -> str:
    """Return the name of a kind's view."""
    return TABLE_OF_KIND.get(kind, kind)


def columns_of(kind: str) -> tuple[str, ...]:
    """Return the columns of a kind that can leave a host, so that an engine must have them as the index does."""
    if kind in SUMMARIES:
        return ("host", *SUMMARIES[kind])
    ours = {"source_digest"} | (set() if kind == "metrics" else {"run_at"})
    fields = TABLES[view_of(kind)]
    return ("host", *(f.name for f in fields if f.field_class is not FieldClass.INDEX and f.name not in ours))


def _types(kind: str) -> dict[str, FieldType]:
    return {} if kind in SUMMARIES else {f.name: f.field_type for f in TABLES[view_of(kind)]}


def cells(kind: str, rows: Iterable[Mapping[str, Any]]) -> list[tuple[object, ...]]:
    """Return the rows of an answer as tuples of comparable cells, in an order of their own."""
    types, columns = _types(kind), columns_of(kind)
    found = [tuple(_cell(row.get(column), types.get(column)) for column in columns) for row in rows]
    return sorted(found, key=repr)


def _cell(value: object, field_type: FieldType | None) -> object:
    if value is None:
        return None
    if field_type is FieldType.TIME:
        at = moment(value)
        return None if at is None else at.timestamp()
    if field_type is FieldType.MONEY:
        return round(float(value), MONEY_DIGITS)  # type: ignore[arg-type]  # ClickHouse writes a decimal as text or number
    if isinstance(value, float) or field_type is FieldType.REAL:
        number = float(value)  # type: ignore[arg-type]  # it is a number
        # Engines add up an average in another order: the last digits of a binary fraction are not evidence.
        return float(f"{number:.12g}") if math.isfinite(number) else str(number)
    return value
