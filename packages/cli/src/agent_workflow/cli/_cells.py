"""A value of a column as the text of a table's cell."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from agent_workflow.cli._terminal_text import printable

Value = str | int | float | None

UNKNOWN = "-"
"""Shown where a value is NULL: unknown, which is not zero."""

_BYTE_UNITS = "BKMGT"


def whole(value: Value) -> str:
    """Write a value as it is."""
    return UNKNOWN if value is None else printable(str(value))


def minute(value: Value) -> str:
    """Write an ISO 8601 time as a minute of UTC; what is no time stays what it is."""
    text = whole(value)
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            return moment.strftime("%Y-%m-%d %H:%M")
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")
    except (ValueError, OverflowError):
        return text


def number(value: Value) -> str:
    """Write a number, a fraction with two decimals unless that would hide it or add nothing."""
    if not isinstance(value, float):
        return whole(value)
    if abs(value) >= 1000 or value.is_integer():
        return f"{value:.0f}"
    return f"{value:.1g}" if 0 < abs(value) < 0.005 else f"{value:.2f}"


def counted(amount: int, noun: str) -> str:
    """Write how many there are, with the noun in its number: ``1 run``, ``2 runs``, ``10,000 rows``."""
    return f"{amount:,} {plural(amount, noun)}"


def plural(amount: int, noun: str) -> str:
    """Return the noun in its number."""
    return noun if amount == 1 else f"{noun}s"


def size(value: Value) -> str:
    """Write a number of bytes with three digits and its unit, for example ``15.3M``."""
    if not isinstance(value, int) or value < 1000:
        return whole(value)
    amount, unit = float(value), 0
    while amount >= 1000 and unit < len(_BYTE_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.3g}{_BYTE_UNITS[unit]}" if amount < 100 else f"{amount:.0f}{_BYTE_UNITS[unit]}"


def flag(value: Value) -> str:
    """Write a truth value."""
    return UNKNOWN if value is None else "yes" if value else "no"


@dataclass(frozen=True)
class Form:
    """How the values of a column are written and shortened.

    Attributes:
        write: a value as text without control characters.
        comfort: columns in which it reads well; a less important column is left out before a value gets less.
        floor: columns that shortening keeps; None where nothing may be cut off.
        right: stands at the right edge.
        keeps_end: shortening leaves out of the middle.
        coloured: the word says how good a state is.
    """

    write: Callable[[Value], str] = whole
    comfort: int | None = None
    floor: int | None = None
    right: bool = False
    keeps_end: bool = False
    coloured: bool = False


ID = Form(comfort=36, floor=24, keeps_end=True)
NAME = Form(comfort=16, floor=10)
TEXT = Form(comfort=18, floor=14)
PROSE = Form(comfort=16, floor=14)
PATH = Form(comfort=24, floor=15, keeps_end=True)
STATE = Form(comfort=12, floor=9, coloured=True)
TIME = Form(minute, comfort=17, floor=17)
NUMBER = Form(number, right=True)
BYTES = Form(size, right=True)
FLAG = Form(flag)
