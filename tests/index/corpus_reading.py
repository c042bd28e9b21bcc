"""What the tests on genuine evidence share: what is expected of it, and comparing rows."""

from typing import Any

from .index_reading import Row

Expected = dict[str, dict[str, Any]]


def alike(rows: list[Row], columns: set[str]) -> list[tuple[str, ...]]:
    """Return rows in an order of their own, cut to some columns, so that 1 and 1.0 are one number."""
    return sorted(tuple(f"{name}={_plain(row[name])}" for name in sorted(columns)) for row in rows)


def _plain(value: object) -> str:
    return repr(float(value)) if isinstance(value, (int, float)) else repr(value)
