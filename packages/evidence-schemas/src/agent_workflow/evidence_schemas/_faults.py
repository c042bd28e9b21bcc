"""Turning a validation error into one line that quotes nothing of the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_NAME_LIMIT = 64

# Keyed by pydantic's error type. Only these words and the contract's own bounds get out: pydantic's messages may
# quote the input, and evidence text must never reach an error text.
_EXPECTATIONS = {
    "missing": "is required",
    "extra_forbidden": "is not a field of this contract",
    "string_type": "expected a string",
    "string_unicode": "expected valid Unicode",
    "string_too_short": "expected at least {min_length} characters",
    "string_too_long": "expected at most {max_length} characters",
    "string_pattern_mismatch": "expected a match of {pattern}",
    "int_type": "expected an integer",
    "int_from_float": "expected an integer",
    "int_parsing_size": "expected a smaller integer",
    "float_type": "expected a number",
    "finite_number": "expected a finite number",
    "bool_type": "expected true or false",
    "greater_than_equal": "expected at least {ge}",
    "greater_than": "expected more than {gt}",
    "less_than_equal": "expected at most {le}",
    "less_than": "expected less than {lt}",
    "literal_error": "expected {expected}",
    "none_required": "expected null",
    "list_type": "expected an array",
    "dict_type": "expected an object",
    "model_type": "expected an object",
    "model_attributes_type": "expected an object",
    "too_short": "expected at least {min_length} items",
    "too_long": "expected at most {max_length} items",
    "json_invalid": "is not JSON",
    "json_type": "is not JSON",
    "repeated_item": "expected items that differ from each other",
    "contradiction": "contradicts another field",
}


def describe_faults(error: ValidationError, limit: int = 3) -> str:
    """Describe what a validation found, in one line and without any value of the record.

    Args:
        error: what pydantic raised.
        limit: how many faults to describe; the others are counted.

    Returns:
        ``field.path: what is expected; …``. Names that the contract does not know are cut to 64 characters, with
        control characters escaped.
    """
    faults = error.errors(include_url=False, include_input=False)
    words = [f"{_path(fault['loc'])}: {_expectation(fault['type'], fault.get('ctx', {}))}" for fault in faults[:limit]]
    if len(faults) > limit:
        words.append(f"and {len(faults) - limit} more")
    return "; ".join(words)


def _path(location: tuple[int | str, ...]) -> str:
    return ".".join(_name(part) for part in location) or "record"


def _name(part: int | str) -> str:
    if isinstance(part, int):
        return str(part)
    shown = part if len(part) <= _NAME_LIMIT else part[: _NAME_LIMIT - 1] + "…"
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in shown)


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


def _expectation(kind: str, context: Mapping[str, Any]) -> str:
    words = _EXPECTATIONS.get(kind)
    return f"is not valid ({kind})" if words is None else words.format_map(context)
