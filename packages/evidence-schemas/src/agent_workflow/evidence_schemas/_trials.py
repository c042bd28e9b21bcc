"""Trials: runs of one fixture that are compared with each other."""

from typing import Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from agent_workflow.evidence_schemas._base import Record
from agent_workflow.evidence_schemas._scalars import FreeArray, FreeObject, Natural, NullableNumber, Sha256, Text
from agent_workflow.evidence_schemas._status import Verdict


class TrialEvidence(Record):
    """``trials.json``: one contract with two shapes. Validating gives a ``Trial`` or a ``TrialCollection``."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Choose the shape by the key that only a collection has."""
        if cls is not TrialEvidence:
            return handler(source)
        shapes = {"trial": handler.generate_schema(Trial), "collection": handler.generate_schema(TrialCollection)}
        return core_schema.tagged_union_schema(shapes, discriminator=_shape_of)


def _shape_of(document: object) -> str:
    keys = document if isinstance(document, dict) else getattr(document, "__dict__", {})
    return "collection" if "trials" in keys else "trial"


class Trial(TrialEvidence, extra="forbid"):
    """One trial."""

    schema_: Literal["agent-workflow/trial-evidence/v2"] = Field(alias="schema")
    trial_id: Text
    run_path: Text
    final_receipt_sha256: Sha256
    provider_evidence_sha256: Sha256
    raw_events_sha256: Sha256
    verdict: Verdict
    provider: str | None = None
    fixture_revision: Any
    task_id: Any
    base_revision: Any
    prompt_sha256: Any
    oracle_sha256: Any
    acceptance_commands_sha256: Any
    scope_policy_sha256: Any
    scorer_versions_sha256: Any
    sandbox: Any
    budget_sha256: Any
    repetition: Any
    duration_seconds: NullableNumber
    input_tokens: NullableNumber
    cached_input_tokens: NullableNumber
    cache_write_input_tokens: NullableNumber
    output_tokens: NullableNumber
    reasoning_output_tokens: NullableNumber
    provider_total_tokens: NullableNumber
    tokens: NullableNumber
    provider_billed_cost: NullableNumber
    local_estimated_cost: NullableNumber
    currency: str | None
    price_catalog_id: str | None
    retry_of_run_id: str | None
    retry_count: Natural | None
    errors: FreeArray
    steer_count: Natural | None
    steer_acknowledged_count: Natural | None
    source_artifacts: FreeObject
    source_revision: str | None = None
    pack_manifest_sha256: Sha256 | None = None
    model: str | None = None
    executor: str | None = None
    executor_version: str | None = None
    fixture_sha256: Sha256 | None = None
    reference_sha256: Sha256 | None = None


class TrialCollection(TrialEvidence, extra="forbid"):
    """Trials that were collected together."""

    schema_: Literal["agent-workflow/trial-evidence/v2"] = Field(alias="schema")
    collected_at: str
    trials: list[Trial]
