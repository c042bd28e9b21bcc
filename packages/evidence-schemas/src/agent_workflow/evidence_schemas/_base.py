"""The two base models and the markers that make pydantic as strict as JSON Schema."""

from collections.abc import Iterable
from typing import Annotated, Any, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

STRICT = ConfigDict(
    strict=True,
    frozen=True,
    allow_inf_nan=False,
    extra="allow",
    protected_namespaces=(),  # contracts have fields such as `model_policy`
    serialize_by_alias=True,
    defer_build=True,  # a validator is built at its first use, so that an import costs little
)


class Shape(BaseModel):
    """A JSON object inside a record. A contract that says "no other fields" is a class with ``extra="forbid"``."""

    model_config = STRICT


class Record(Shape):
    """One whole JSON document or one line of a journal; its field ``schema`` (here ``schema_``) names the contract."""

    def to_document(self) -> dict[str, Any]:
        """Return the JSON object of this record, without the optional fields that were never given."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)


class _WhenPresent:
    """Takes the ``| None`` of an optional field out of what is validated: absent is fine, ``null`` is not."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema = handler(source)
        if schema["type"] != "nullable":
            raise TypeError(f"expected an optional type, got {source!r}")
        inner: CoreSchema = schema["schema"]
        return inner


T = TypeVar("T")

WhenPresent = Annotated[T | None, _WhenPresent()]
"""An optional field that is not nullable: ``None`` on the model means that the key is absent."""


class Exactly:
    """Makes ``Literal[1]`` or ``Literal[True]`` strict: to Python ``True``, ``1`` and ``1.0`` are equal."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        (value,) = get_args(source)
        kind = core_schema.bool_schema() if isinstance(value, bool) else core_schema.int_schema()
        return core_schema.chain_schema([kind, handler(source)])

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the constant; pydantic would describe only the first link of the chain."""
        if schema["type"] != "chain":
            return handler(schema)
        return handler(schema["steps"][-1])


class Unique:
    """JSON Schema's ``uniqueItems`` for a list of strings or of frozen shapes."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(_refuse_repeats, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the keyword that pydantic has no constraint for."""
        return {**handler(schema), "uniqueItems": True}


Items = TypeVar("Items", bound=Iterable[Any])


def _refuse_repeats(items: Items) -> Items:
    seen = list(items)
    if len(set(seen)) != len(seen):
        raise PydanticCustomError("repeated_item", "items that differ from each other")
    return items
