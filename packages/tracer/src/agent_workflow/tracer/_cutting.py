"""Cutting large payloads for lists: what is left is still JSON, and says how large the whole is."""

import json
from collections.abc import Sequence
from typing import Any, Final

from agent_workflow.tracer._source import Row

CUT_CHARACTERS: Final = 4_096
_STRING_CHARACTERS: Final = 1_000
_ITEMS: Final = 50
_DEPTH: Final = 6


def cut_payload(row: Row, column: str, limit: int | None) -> None:
    """Cut one JSON column of a row in place, and add ``payload_size`` (characters) and ``payload_cut``.

    Args:
        row: with the column.
        column: its name.
        limit: what is longer is cut; ``None`` for nothing.
    """
    text = row[column]
    if text is not None and not isinstance(text, str):
        text = row[column] = str(text)
    size = len(text or "")
    row["payload_size"] = size
    row["payload_cut"] = limit is not None and size > limit
    if row["payload_cut"] and text is not None:
        row[column] = cut_json(text)


def shorten_texts(row: Row, *, without: Sequence[str] = ()) -> None:
    """Shorten every long text of a row in place, each with a mark of what is missing.

    Args:
        row: any row.
        without: columns to leave alone.
    """
    for name, value in row.items():
        if type(value) is str and len(value) > CUT_CHARACTERS and name not in without:
            row[name] = value[:_STRING_CHARACTERS] + _mark(len(value) - _STRING_CHARACTERS)


def cut_json(text: str) -> str:
    """Shorten a JSON text to some thousand characters that are JSON again.

    Args:
        text: the whole; where it is no JSON, its beginning is returned as a JSON string.

    Returns:
        The same object with long strings, long lists and deep parts shortened, each with a mark of what is missing.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    for string_limit in (_STRING_CHARACTERS, 200, 40):
        cut = json.dumps(shortened(value, string_limit), ensure_ascii=False)
        if len(cut) <= 4 * CUT_CHARACTERS:
            return cut
    return json.dumps(text[:_STRING_CHARACTERS] + _mark(len(text) - _STRING_CHARACTERS), ensure_ascii=False)


def shortened(value: Any, string_limit: int = _STRING_CHARACTERS, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value with its long parts shortened."""
    if isinstance(value, str) and len(value) > string_limit:
        return value[:string_limit] + _mark(len(value) - string_limit)
    if depth >= _DEPTH and isinstance(value, dict | list) and value:
        return f"[{len(value)} more inside]"
    if isinstance(value, dict):
        kept = {
            str(key)[:200]: shortened(item, string_limit, depth + 1) for key, item in list(value.items())[: 2 * _ITEMS]
        }
        if len(value) > 2 * _ITEMS:
            kept["…"] = f"[{len(value) - 2 * _ITEMS:,} more entries]"
        return kept
    if isinstance(value, list):
        items = [shortened(item, string_limit, depth + 1) for item in value[:_ITEMS]]
        return items if len(value) <= _ITEMS else [*items, f"[{len(value) - _ITEMS:,} more items]"]
    return value


def _mark(missing: int) -> str:
    return f"… [{missing:,} more characters]"
