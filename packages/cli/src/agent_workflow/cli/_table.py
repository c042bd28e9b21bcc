"""Tables that fit: less important columns go first, then long values are shortened."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from agent_workflow.cli._cells import UNKNOWN, Form, Value, whole
from agent_workflow.cli._output import Palette
from agent_workflow.cli._terminal_text import pad, shorten, width_of

Row = Mapping[str, Value]

GAP = 2


class Column(NamedTuple):
    """One column of a table.

    Attributes:
        heading: what it is called.
        source: the field of a row, or how to make the value of one.
        form: how its values are written.
        rank: how much it matters; 0 is kept to the last.
    """

    heading: str
    source: str | Callable[[Row], Value]
    form: Form
    rank: int

    def value(self, row: Row) -> Value:
        """Return the value for a row."""
        return row[self.source] if isinstance(self.source, str) else self.source(row)


class Demand(NamedTuple):
    """What a column would like and what it can do with.

    Attributes:
        natural: columns in which nothing is shortened.
        comfort: columns in which its values read well.
        floor: columns without which it is left out.
        rank: how much it matters; 0 is kept to the last.
        idle: it has nothing to tell.
    """

    natural: int
    comfort: int
    floor: int
    rank: int
    idle: bool = False


def allot(demands: Sequence[Demand], width: int) -> list[int]:
    """Share the columns of a terminal out.

    Args:
        demands: of every column of the table, in the order of display.
        width: columns of the terminal.

    Returns:
        The width of each; 0 where it is left out. What matters most gets what it would like first.
    """
    order = sorted(range(len(demands)), key=lambda index: (demands[index].idle, demands[index].rank))
    if _sum([demand.natural for demand in demands]) > width:
        order = [index for index in order if not demands[index].idle] or order[:1]
    chosen: list[int] = []
    for index in order:
        if len(chosen) < _KEPT or _sum([demands[i].comfort for i in (*chosen, index)]) <= width:
            chosen.append(index)
    while len(chosen) > 1 and _sum([demands[index].floor for index in chosen]) > width:
        chosen.pop()
    return _grown(demands, chosen, width)


_KEPT = 2
"""So many columns are rather shortened than left out."""


def _grown(demands: Sequence[Demand], order: Sequence[int], width: int) -> list[int]:
    """Give every column its floor, then the room that is left in order of importance."""
    widths = [0] * len(demands)
    for index in order:
        widths[index] = min(demands[index].floor, width)
    room = width - _sum([widths[index] for index in order])
    for aim in ("comfort", "natural"):
        for index in order:
            more = max(0, min(room, getattr(demands[index], aim) - widths[index]))
            widths[index] += more
            room -= more
    return widths


def _sum(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


def table(rows: Sequence[Row], columns: Sequence[Column], width: int, palette: Palette, mark: str = "…") -> list[str]:
    """Lay rows out under their headings.

    Args:
        rows: at least one.
        columns: in the order of display.
        width: no line is wider.
        palette: colours for headings and states.
        mark: stands for what was left out of a value.
    """
    cells = [[column.form.write(column.value(row)) for row in rows] for column in columns]
    demands = [_demand(column, texts) for column, texts in zip(columns, cells, strict=True)]
    widths = allot(demands, width)
    shown = [index for index, allotted in enumerate(widths) if allotted]
    lines = [_heading([columns[i] for i in shown], [widths[i] for i in shown], palette, mark)]
    for number in range(len(rows)):
        parts = [_painted(cells[i][number], columns[i], widths[i], palette, mark) for i in shown]
        lines.append((" " * GAP).join(parts).rstrip())
    return lines


def _demand(column: Column, texts: Sequence[str]) -> Demand:
    heading = len(column.heading)
    natural = max(heading, *map(width_of, texts))
    comfort, floor = (
        natural if wanted is None else min(natural, max(heading, wanted))
        for wanted in (column.form.comfort, column.form.floor)
    )
    return Demand(natural, comfort, floor, column.rank, all(text in (UNKNOWN, "") for text in texts))


def _heading(columns: Sequence[Column], widths: Sequence[int], palette: Palette, mark: str) -> str:
    parts = [
        pad(shorten(column.heading.upper(), width, mark), width, right=column.form.right)
        for column, width in zip(columns, widths, strict=True)
    ]
    return palette.paint((" " * GAP).join(parts).rstrip(), "bold")


def _painted(text: str, column: Column, width: int, palette: Palette, mark: str) -> str:
    short = shorten(text, width, mark, keep_end=column.form.keeps_end)
    colour = state_colour(text) if column.form.coloured else None
    return pad(short, width, right=column.form.right).replace(short, palette.paint(short, colour), 1)


_COLOURS = {
    "green": (
        "completed",
        "success",
        "current",
        "valid",
        "verified",
        "ok",
        "applied",
        "resolved",
        "cleared",
        "pass",
        "reviewed",
    ),
    "yellow": ("stale", "incomplete", "missing", "pending", "interrupted", "interruption_requested", "warn", "blocked"),
    "red": ("error", "failed", "killed", "open", "denied", "invalid", "bad", "fail", "lost", "mismatch", "damaged"),
}
_COLOUR_OF = {word: colour for colour, words in _COLOURS.items() for word in words}


def state_colour(word: str) -> str | None:
    """Return the colour for a word of state, None for a word that asks for no attention."""
    return _COLOUR_OF.get(word)


def wide_table(rows: Sequence[Row], names: Sequence[str], palette: Palette) -> list[str]:
    """Lay rows out with every field, unshortened and under its own name."""
    cells = [[whole(row[name]) for row in rows] for name in names]
    numeric = [all(isinstance(row[name], int | float | None) for row in rows) for name in names]
    numeric = [
        number and any(row[name] is not None for row in rows) for number, name in zip(numeric, names, strict=True)
    ]
    widths = [max(len(name), *map(width_of, texts)) for name, texts in zip(names, cells, strict=True)]
    gap = " " * GAP

    def line(texts: Sequence[str]) -> str:
        return gap.join(pad(t, w, right=r) for t, w, r in zip(texts, widths, numeric, strict=True)).rstrip()

    return [palette.paint(line(names), "bold"), *(line(texts) for texts in zip(*cells, strict=True))]
