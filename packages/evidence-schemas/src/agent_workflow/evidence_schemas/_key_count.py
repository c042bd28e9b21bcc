"""Counting the JSON keys of a contract, so that a reader can notice a key that was written twice."""

from __future__ import annotations

from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Literal, Union, get_args, get_origin

if TYPE_CHECKING:
    from agent_workflow.evidence_schemas._base import Record, Shape

_SCALARS = (str, int, float, bool, NoneType)


@cache
def fixed_key_count(model: type[Record]) -> int | None:
    """Count the keys that every valid document of a model has, in all its objects together.

    Args:
        model: a model of a contract.

    Returns:
        The count, or ``None`` where it varies: optional fields, other fields allowed, nullable objects, lists of
        objects, free objects.
    """
    return _keys_of_shape(model)


def _keys_of_shape(shape: type[Shape]) -> int | None:
    if shape.model_config.get("extra") != "forbid":
        return None
    total = 0
    for info in shape.model_fields.values():
        inner = _keys_within(info.annotation) if info.is_required() else None
        if inner is None:
            return None
        total += 1 + inner
    return total


def _keys_within(annotation: object) -> int | None:
    """Count the keys inside one value; 0 for a scalar."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _keys_within(get_args(annotation)[0])
    if annotation in _SCALARS or origin is Literal:
        return 0
    if origin in (list, Union, UnionType):
        # Several values, or one of several types: fixed only if none of them can hold an object.
        return 0 if all(_keys_within(part) == 0 for part in get_args(annotation)) else None
    if origin is None and isinstance(annotation, type) and hasattr(annotation, "model_fields"):
        return _keys_of_shape(annotation)
    return None
