"""Usage, money and time of a run, per stage and as an aggregate."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record, Shape
from agent_workflow.evidence_schemas._scalars import Identifier, Natural, NullableNumber


class TokenUsage(Shape, extra="forbid"):
    """Tokens and money of a span of provider events; ``None`` is unknown, which is not zero."""

    input_tokens: NullableNumber
    cached_input_tokens: NullableNumber
    cache_write_input_tokens: NullableNumber
    output_tokens: NullableNumber
    reasoning_output_tokens: NullableNumber
    provider_total_tokens: NullableNumber
    provider_billed_cost: NullableNumber
    local_estimated_cost: NullableNumber
    currency: str | None
    price_catalog_id: str | None


class StageError(Shape, extra="forbid"):
    """An error that a stage met."""

    category: str | None
    detail: str | None


class StageMetrics(Shape, extra="forbid"):
    """One stage: the orchestrator, the verification, a child, or the total of them all."""

    stage: Annotated[str, Field(pattern=r"^(orchestrator|verification|total|child:[A-Za-z0-9][A-Za-z0-9_.-]{0,127})$")]
    input_tokens: NullableNumber
    cached_input_tokens: NullableNumber
    output_tokens: NullableNumber
    provider_total_tokens: NullableNumber
    cost: NullableNumber
    currency: str | None
    elapsed_seconds: NullableNumber
    first_output_latency_seconds: NullableNumber
    retry_count: Natural
    errors: list[StageError]
    steer_count: Natural
    steer_acknowledged_count: Natural
    steer_pending_count: Natural
    cache_write_input_tokens: NullableNumber
    reasoning_output_tokens: NullableNumber
    provider_billed_cost: NullableNumber
    local_estimated_cost: NullableNumber
    price_catalog_id: str | None


class ExecutionMetrics(Record, extra="forbid"):
    """``execution-metrics.json``."""

    schema_: Literal["agent-workflow/execution-metrics/v1"] = Field(alias="schema")
    session_id: Identifier
    stages: Annotated[list[StageMetrics], Field(min_length=1)]
