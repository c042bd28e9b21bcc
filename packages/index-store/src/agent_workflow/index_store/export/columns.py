"""Values of the index as Arrow columns. ``pyarrow`` is imported by the functions: it is an extra."""

import re
from array import array
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_EVEN, Context, Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, cast

from agent_workflow.index_store.export.fields import FieldType
from agent_workflow.index_store.values import Value

if TYPE_CHECKING:
    import pyarrow as pa

MONEY_DIGITS, MONEY_SCALE = 38, 12
_MONEY_STEP = Decimal(1).scaleb(-MONEY_SCALE)
_MONEY_LIMIT = Decimal(10) ** (MONEY_DIGITS - MONEY_SCALE)
_INTEGER_LIMIT = 2**63
_MACHINE_TYPES = {FieldType.INTEGER: "q", FieldType.REAL: "d"}
_FIRST_MICROSECOND, _LAST_MICROSECOND = -62_135_596_800_000_000, 253_402_300_799_999_999
"""Of the years 1 to 9999: beyond them Arrow still counts, and nobody can read what it says."""

_TOO_FINE = re.compile(r"(\.\d{6})\d+")


class Column(NamedTuple):
    """One column, and how many of its values could not be told in its type and became null."""

    values: "pa.Array"
    unrepresentable: int


@cache
def arrow_type(field_type: FieldType) -> "pa.DataType":
    """Return the Arrow type of a field."""
    import pyarrow as pa

    return {
        FieldType.TEXT: pa.string(),
        FieldType.INTEGER: pa.int64(),
        FieldType.REAL: pa.float64(),
        FieldType.TIME: pa.timestamp("us", "UTC"),
        FieldType.MONEY: pa.decimal128(MONEY_DIGITS, MONEY_SCALE),
    }[field_type]


def to_column(values: Sequence[Value], field_type: FieldType) -> Column:
    """Turn values of one column into Arrow; times that are all text stay text, for :func:`to_times`.

    A value that its type cannot hold, such as a time that is none, becomes null and is counted: evidence is anybody's,
    and one odd word in it must not keep a whole host from being exported.
    """
    import pyarrow as pa

    if field_type is not FieldType.MONEY:
        try:
            if field_type in _MACHINE_TYPES:
                return Column(_numbers(values, field_type), 0)
            return Column(pa.array(values, pa.string()), 0)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            pass  # some value is odd: each is looked at by itself
    return _one_by_one(values, field_type)


def to_times(column: "pa.Array") -> Column:
    """Turn times that are text into times; no work of Python unless one of them is odd."""
    import pyarrow as pa
    import pyarrow.compute as pc

    target = arrow_type(FieldType.TIME)
    if column.type == target:
        return Column(column, 0)
    try:
        times = column.cast(target)
        bounds = pc.min_max(times.cast(pa.int64())).as_py()
        if bounds["min"] is None or _FIRST_MICROSECOND <= bounds["min"] <= bounds["max"] <= _LAST_MICROSECOND:
            return Column(times, 0)
    except pa.ArrowInvalid:
        pass
    return _one_by_one(column.to_pylist(), FieldType.TIME)


def _numbers(values: Sequence[Value], field_type: FieldType) -> "pa.Array":
    """Turn numbers into Arrow, where none is missing by way of an array of the machine's, which takes half as long."""
    import pyarrow as pa

    target = arrow_type(field_type)
    try:
        numbers = cast("Sequence[float]", values)  # what is none is refused
        machine = pa.py_buffer(array(_MACHINE_TYPES[field_type], numbers))
        return pa.Array.from_buffers(target, len(values), [None, machine])
    except (TypeError, OverflowError):  # something is missing, or no such number
        return pa.array(values, target)


def _one_by_one(values: Sequence[Value], field_type: FieldType) -> Column:
    import pyarrow as pa

    convert = _CONVERTERS[field_type]
    converted = [None if value is None else convert(value) for value in values]
    lost = sum(new is None and old is not None for old, new in zip(values, converted, strict=True))
    return Column(pa.array(converted, arrow_type(field_type)), lost)


def parse_time(value: Value) -> datetime | None:
    """Return the moment that a text names, UTC where it names no offset; None where it names none."""
    if not isinstance(value, str):
        return None
    try:
        # Digits beyond microseconds are cut off by Python, and by SQLite before it.
        moment = datetime.fromisoformat(_TOO_FINE.sub(r"\1", value.strip()))
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) else str(value)


def _integer(value: Value) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -_INTEGER_LIMIT <= value < _INTEGER_LIMIT else None


def _real(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _money(value: Value) -> Decimal | None:
    if not isinstance(value, int | float):
        return None
    try:
        exact = Decimal(repr(value))
        # The context of a thread has 28 digits, fewer than a large amount has.
        return None if abs(exact) >= _MONEY_LIMIT else exact.quantize(_MONEY_STEP, context=_WIDE)
    except InvalidOperation:
        return None


_WIDE = Context(prec=MONEY_DIGITS, rounding=ROUND_HALF_EVEN)
_CONVERTERS: dict[FieldType, Callable[[Value], object]] = {
    FieldType.TEXT: _text,
    FieldType.INTEGER: _integer,
    FieldType.REAL: _real,
    FieldType.TIME: parse_time,
    FieldType.MONEY: _money,
}
