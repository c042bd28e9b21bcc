"""Contracts that nobody writes any more. A run that holds one is kept and excluded from current evidence."""

from typing import Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Record


class RetiredExecutionMetrics(Record):
    """``execution-metrics.json`` of the first format."""

    schema_: Literal["agent-workflow/execution-metrics/retired-v1"] = Field(alias="schema")


class CommandCollectionSet(Record):
    """``command-collection.json``, before completions were collected."""

    schema_: Literal["agent-workflow/command-collection-set/v1"] = Field(alias="schema")
