"""JSON Schema (draft 2020-12) of a contract, made from its model."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

from agent_workflow.evidence_schemas._registry import NAMESPACE, Contract


class _ContractSchema(GenerateJsonSchema):
    """Leaves out what is no part of a contract: titles made from field names, and the ``None`` of an absent field."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - pydantic calls it
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> JsonSchemaValue:
        return {"$schema": self.schema_dialect, **super().generate(schema, mode)}


def json_schema(contract: Contract) -> dict[str, Any]:
    """Return the JSON Schema of a contract's records.

    Args:
        contract: a known or retired contract.

    Raises:
        LookupError: the contract is unknown.
    """
    model = contract.model
    if model is None:
        raise LookupError(f"no contract {contract.id!r}")
    return {"$id": contract.id, **model.model_json_schema(schema_generator=_ContractSchema)}


def file_name(contract: Contract) -> str:
    """Return the name of a file for a contract's schema, such as ``completion.v1.schema.json``."""
    return contract.id.removeprefix(NAMESPACE).replace("/", ".") + ".schema.json"
