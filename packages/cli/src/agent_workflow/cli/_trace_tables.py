"""Showing rows of a trace in a terminal."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

_GAP = "  "
_NARROWEST = 8


def table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, wide: bool, flexible: str = "") -> str:
    """Lay rows out in columns that fit the terminal.

    Args:
        rows: what to show; missing and unknown values read as a dash.
        columns: names and order.
        wide: show all of every value, however long the lines get.
        flexible: the column that is shortened first.

    Returns:
        A heading and one line for each row.
    """
    cells = [[_cell(row.get(column)) for column in columns] for row in rows]
    widths = [max([len(name), *(len(line[i]) for line in cells)]) for i, name in enumerate(columns)]
    if not wide:
        _shrink(widths, columns, flexible)
    lines = [[name.upper() for name in columns], *cells]
    return "\n".join(
        _GAP.join(_fit(cell, width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def duration(seconds: float | None) -> str:
    """Write a time span for a person: 0.42s, 12.3s, 2m 05s, 1h 07m, 3d 4h."""
    if seconds is None:
        return "—"
    if seconds < 10:
        return f"{seconds:.2f}s"
    if seconds < 59.95:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m" if hours < 24 else f"{hours // 24}d {hours % 24}h"


def dollars(amount: float | None, estimated: float | None = None) -> str:
    """Write money for a person; an estimate is marked as one, and what is not known is said to be unknown."""
    if amount is None:
        return "unknown" if estimated is None else f"~{dollars(estimated)}"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"


def _shrink(widths: list[int], columns: Sequence[str], flexible: str) -> None:
    room = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() or "COLUMNS" in os.environ else 120
    over = sum(widths) + len(_GAP) * (len(widths) - 1) - room
    order = sorted(range(len(widths)), key=lambda i: (columns[i] != flexible, -widths[i]))
    for i in order:
        if over <= 0:
            return
        given = min(over, max(0, widths[i] - _NARROWEST))
        widths[i] -= given
        over -= given


def _cell(value: object) -> str:
    if value is None or value == "":
        return "—"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}" if abs(value) < 10**12 else str(value)
    # Control characters of an agent's output must not reach the terminal.
    return "".join(c if c.isprintable() else " " for c in str(value))


def _fit(text: str, width: int) -> str:
    return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
