"""Pages of an answer. A cursor names the last row that was handed over, so that rows that came since shift nothing."""

import base64
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from agent_workflow import index_store
from agent_workflow.cli._failure import CommandFailed, Failure

Cell = str | int | float | None
Row = Mapping[str, Cell]

DEFAULT_PAGE: Final = 50
LARGEST_PAGE: Final = 500
_VERSION: Final = 1
_LONGEST_CURSOR: Final = 2_000
_AGAIN: Final = "ask the same question again without a cursor"


@dataclass(frozen=True)
class Place:
    """Behind which row to go on.

    Attributes:
        question: digest of what was asked, so that a cursor serves no other question.
        bounds: the moments that ``since`` and ``until`` meant when the first page was asked for.
        offset: rows that were handed over.
        row: digest of the last of them.
        copy: which one it is of several equal rows, from 1.
    """

    question: str
    bounds: tuple[str | None, str | None]
    offset: int = 0
    row: str = ""
    copy: int = 0


class Page(NamedTuple):
    """Some rows, the cursor of the next page (``None`` at the end), and whether the end is all that there is."""

    rows: tuple[Row, ...]
    next_cursor: str | None
    complete: bool


def question_digest(*parts: object) -> str:
    """Name a question: its kind and filters as they were given."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def encode_cursor(place: Place) -> str:
    """Write a place as an opaque word."""
    fields = [_VERSION, place.question, *place.bounds, place.offset, place.row, place.copy]
    return base64.urlsafe_b64encode(json.dumps(fields, separators=(",", ":")).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, question: str) -> Place:
    """Read a cursor.

    Raises:
        CommandFailed: it is none, or belongs to another question.
    """
    try:
        if len(cursor) > _LONGEST_CURSOR:
            raise ValueError("too long")
        padded = cursor + "=" * (-len(cursor) % 4)
        fields = json.loads(base64.b64decode(padded.encode("ascii"), altchars=b"-_", validate=True))
        version, asked, since, until, offset, row, copy = fields
        texts_fit = isinstance(asked, str) and isinstance(row, str) and all(_is_bound(b) for b in (since, until))
        if version != _VERSION or not texts_fit or not _is_count(offset) or not _is_count(copy):
            raise ValueError("not ours")
    except (ValueError, TypeError, RecursionError) as error:
        raise _refused("invalid_cursor", "the cursor is none of this server") from error
    if asked != question:
        raise _refused("cursor_mismatch", "the cursor belongs to another question")
    return Place(asked, (since, until), offset, row, copy)


def take_page(select: Callable[[int], Sequence[Row]], place: Place, size: int) -> Page:
    """Return the page behind a place.

    Args:
        select: answers the question with at most so many rows.
        place: where to go on.
        size: of the page.

    Raises:
        CommandFailed: the row that was last handed over is there no more.
    """
    most = index_store.MAXIMUM_LIMIT
    rows = select(min(most, place.offset + size + 1))
    start = place.offset
    if start and not _ends_with(rows[:start], place):
        rows = select(most)
        start = _behind(rows, place)
    page = tuple(rows[start : start + size])
    end = start + len(page)
    if end < len(rows):
        copy = sum(_is_same(row, page[-1]) for row in rows[:end])
        following = Place(place.question, place.bounds, end, row_digest(page[-1]), copy)
        return Page(page, encode_cursor(following), complete=False)
    return Page(page, None, complete=end < most)


def row_digest(row: Row) -> str:
    """Name a row by all that it says of the evidence: a sync or a rebuild in between changes no row."""
    return hashlib.sha256(json.dumps(_evidence(row)).encode()).hexdigest()[:16]


_OF_THE_INDEX: Final = frozenset({"indexed_at", "detected_at"})
"""Columns that say when the index was written."""


def _evidence(row: Row) -> list[tuple[str, Cell]]:
    return [(name, value) for name, value in row.items() if name not in _OF_THE_INDEX]


def _is_same(row: Row, other: Row) -> bool:
    return all(value == other[name] for name, value in row.items() if name not in _OF_THE_INDEX)


def _ends_with(rows: Sequence[Row], place: Place) -> bool:
    """Tell whether nothing has shifted; of equal rows, the number of the copy tells them apart."""
    if len(rows) < place.offset or row_digest(rows[-1]) != place.row:
        return False
    return sum(_is_same(row, rows[-1]) for row in rows) == place.copy


def _behind(rows: Sequence[Row], place: Place) -> int:
    copies = 0
    for number, row in enumerate(rows, start=1):
        copies += row_digest(row) == place.row
        if copies == place.copy:
            return number
    raise _refused("cursor_expired", "the row that the last page ended with has changed since")


def _is_bound(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= index_store.MAXIMUM_LIMIT


def _refused(code: str, message: str) -> CommandFailed:
    return CommandFailed(Failure(code, message, hint=_AGAIN))
