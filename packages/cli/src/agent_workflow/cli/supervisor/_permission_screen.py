"""Terminal bytes, reduced to the lines that stand on the screen at the end.

Agents draw with cursor moves: words without blanks between them, a prompt drawn over and over, parts wiped out. So the
text is written into a screen as a terminal would do it. What only looks (colours, titles, links) is left out.
"""

import re
from collections.abc import Callable
from typing import Final
from unicodedata import category, east_asian_width

_TAIL_BYTES: Final = 64 * 1024  # what a terminal event may hold
_UNKNOWN_HEIGHT: Final = 500  # for text that names no row: then only moves from where it is count
_LEAST_HEIGHT: Final = 24
_WIDEST: Final = 2000

_TOKEN: Final = re.compile(
    rb"(?P<text>[^\x00-\x1f\x7f]+)"
    rb"|\x1b\[(?P<private>[<-?]?)(?P<numbers>[0-9;:]*)[ -/]*(?P<final>[@-~])"
    rb"|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?"
    rb"|\x1b[PX^_][^\x1b]{0,4096}(?:\x1b\\)?"
    rb"|\x1b[ -/]+[0-~]"
    rb"|\x1b(?P<escape>[0-~]?)"
    rb"|(?P<control>.)",
    re.DOTALL,
)
_UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]{0,4096}\x1b?|[PX^_][^\x1b]{0,4096}\x1b?)?\Z")
_NAMED_ROWS: Final = re.compile(rb"\x1b\[(\d{1,4})(?:;\d*)?[Hfd]|\x1b\[\d*;(\d{1,4})r")


def visible_lines(data: bytes) -> list[str]:
    """Return the lines on the screen after some output, without blanks at their ends and without empty last lines.

    Args:
        data: bytes of a terminal, or the plain text of a captured pane. Of more than 64 KiB the end is taken. The
            size of the terminal is not known: lines are not wrapped, and the height is what the output makes use of.
    """
    tail = _UNFINISHED.sub(b"", data[-_TAIL_BYTES:])
    screen = _Screen(_height(tail))
    for token in _TOKEN.finditer(tail):
        text, final = token["text"], token["final"]
        if text is not None:
            screen.write(text.decode("utf-8", "replace"))
        elif final is not None:
            screen.obey(final, token["private"], token["numbers"])
        elif token["control"] is not None:
            screen.control(token["control"])
        elif token["escape"]:
            screen.escape(token["escape"])
    return screen.lines()


def _height(data: bytes) -> int:
    rows = [int(row or bottom) for row, bottom in _NAMED_ROWS.findall(data)]
    highest = min(max(rows, default=1), _UNKNOWN_HEIGHT)
    return max(highest, _LEAST_HEIGHT) if highest > 1 else _UNKNOWN_HEIGHT


class _Screen:
    """Rows of cells; a wide character takes one cell and an empty one."""

    def __init__(self, height: int) -> None:
        self._height = height
        self._rows: list[list[str]] = [[] for _ in range(height)]
        self._main: list[list[str]] | None = None  # the rows under an alternate screen
        self._row = self._column = 0
        self._saved = (0, 0)
        self._top, self._bottom = 0, height - 1

    def lines(self) -> list[str]:
        lines = ["".join(row).rstrip() for row in self._rows]
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def write(self, text: str) -> None:
        cells = list(text) if text.isascii() else _cells(text)
        row = self._rows[self._row]
        if self._column > len(row):
            row.extend(" " * (self._column - len(row)))
        end = min(self._column + len(cells), _WIDEST)
        row[self._column : end] = cells[: end - self._column]
        self._column = end

    def control(self, control: bytes) -> None:
        if control in b"\n\x0b\x0c":
            self._line_feed()
            self._column = 0  # a captured text has no carriage returns; programs that send both are not hurt
        elif control == b"\r":
            self._column = 0
        elif control == b"\b":
            self._column = max(0, self._column - 1)
        elif control == b"\t":
            self._column = min(self._column // 8 * 8 + 8, _WIDEST)

    def escape(self, letter: bytes) -> None:
        if letter == b"7":
            self._saved = (self._row, self._column)
        elif letter == b"8":
            self._row, self._column = self._saved
        elif letter in b"DE":
            self._line_feed()
            self._column = 0 if letter == b"E" else self._column
        elif letter == b"M":
            self._reverse_line_feed()
        elif letter == b"c":
            self._reset()

    def obey(self, final: bytes, private: bytes, numbers: bytes) -> None:
        arguments = [min(int(number or 0), _WIDEST) for number in re.split(rb"[;:]", numbers)]
        if private:
            if private == b"?" and final in b"hl" and arguments[0] in (47, 1047, 1049):
                self._switch(to_alternate=final == b"h")
            return
        action = _ACTIONS.get(final)
        if action is not None:
            action(self, arguments)

    def move_to(self, row: int, column: int) -> None:
        self._row = min(max(row, 0), self._height - 1)
        self._column = min(max(column, 0), _WIDEST)

    def move_by(self, rows: int, columns: int) -> None:
        self.move_to(self._row + rows, self._column + columns)

    def move_to_row(self, row: int) -> None:
        self.move_to(row, self._column)

    def move_to_column(self, column: int) -> None:
        self.move_to(self._row, column)

    def first_column(self, rows: int) -> None:
        self.move_to(self._row + rows, 0)

    def erase_in_line(self, how: int) -> None:
        row = self._rows[self._row]
        if how == 0:
            del row[self._column :]
        elif how == 1:
            row[: self._column + 1] = " " * min(self._column + 1, len(row))
        else:
            row.clear()

    def erase_in_display(self, how: int) -> None:
        if how in (0, 1):
            self.erase_in_line(how)
        first, last = (
            (0, self._height) if how in (2, 3) else (self._row + 1, self._height) if how == 0 else (0, self._row)
        )
        for row in self._rows[first:last]:
            row.clear()

    def erase_characters(self, count: int) -> None:
        row = self._rows[self._row]
        end = min(self._column + count, len(row))
        row[self._column : end] = " " * (end - self._column)

    def delete_characters(self, count: int) -> None:
        del self._rows[self._row][self._column : self._column + count]

    def insert_characters(self, count: int) -> None:
        row = self._rows[self._row]
        if self._column < len(row):
            row[self._column : self._column] = " " * count
            del row[_WIDEST:]

    def insert_lines(self, count: int) -> None:
        if self._top <= self._row <= self._bottom:
            self._shift(self._row, -count)

    def delete_lines(self, count: int) -> None:
        if self._top <= self._row <= self._bottom:
            self._shift(self._row, count)

    def scroll(self, count: int) -> None:
        self._shift(self._top, count)

    def set_region(self, top: int, bottom: int) -> None:
        bottom = min(bottom or self._height, self._height)
        if max(top, 1) < bottom:
            self._top, self._bottom = max(top, 1) - 1, bottom - 1
            self.move_to(0, 0)

    def save(self) -> None:
        self._saved = (self._row, self._column)

    def restore(self) -> None:
        self._row, self._column = self._saved

    def _reset(self) -> None:
        self._rows, self._main = self._main or self._rows, None
        self.erase_in_display(2)
        self._row = self._column = 0
        self._saved = (0, 0)
        self._top, self._bottom = 0, self._height - 1

    def _line_feed(self) -> None:
        if self._row == self._bottom:
            self._shift(self._top, 1)
        elif self._row < self._height - 1:
            self._row += 1

    def _reverse_line_feed(self) -> None:
        if self._row == self._top:
            self._shift(self._top, -1)
        elif self._row > 0:
            self._row -= 1

    def _shift(self, top: int, count: int) -> None:
        """Move the lines from ``top`` to the end of the region up, down when negative; empty ones come in."""
        region = self._rows[top : self._bottom + 1]
        steps = min(abs(count), len(region))
        empty: list[list[str]] = [[] for _ in range(steps)]
        moved = region[steps:] + empty if count > 0 else empty + region[: len(region) - steps]
        self._rows[top : self._bottom + 1] = moved

    def _switch(self, *, to_alternate: bool) -> None:
        if to_alternate and self._main is None:
            self._main, self._rows = self._rows, [[] for _ in range(self._height)]
        elif not to_alternate and self._main is not None:
            self._rows, self._main = self._main, None


def _cells(text: str) -> list[str]:
    cells: list[str] = []
    for character in text:
        if category(character) in ("Mn", "Me", "Cf"):
            if cells:
                cells[-1] += character
            continue
        cells.append(character)
        if east_asian_width(character) in "WF":
            cells.append("")
    return cells


def _second(arguments: list[int]) -> int:
    return arguments[1] if len(arguments) > 1 else 0


_Action = Callable[[_Screen, list[int]], None]
_ACTIONS: Final[dict[bytes, _Action]] = {
    b"A": lambda screen, numbers: screen.move_by(-max(numbers[0], 1), 0),
    b"B": lambda screen, numbers: screen.move_by(max(numbers[0], 1), 0),
    b"C": lambda screen, numbers: screen.move_by(0, max(numbers[0], 1)),
    b"D": lambda screen, numbers: screen.move_by(0, -max(numbers[0], 1)),
    b"E": lambda screen, numbers: screen.first_column(max(numbers[0], 1)),
    b"F": lambda screen, numbers: screen.first_column(-max(numbers[0], 1)),
    b"G": lambda screen, numbers: screen.move_to_column(max(numbers[0], 1) - 1),
    b"`": lambda screen, numbers: screen.move_to_column(max(numbers[0], 1) - 1),
    b"H": lambda screen, numbers: screen.move_to(max(numbers[0], 1) - 1, max(_second(numbers), 1) - 1),
    b"f": lambda screen, numbers: screen.move_to(max(numbers[0], 1) - 1, max(_second(numbers), 1) - 1),
    b"d": lambda screen, numbers: screen.move_to_row(max(numbers[0], 1) - 1),
    b"J": lambda screen, numbers: screen.erase_in_display(numbers[0]),
    b"K": lambda screen, numbers: screen.erase_in_line(numbers[0]),
    b"X": lambda screen, numbers: screen.erase_characters(max(numbers[0], 1)),
    b"P": lambda screen, numbers: screen.delete_characters(max(numbers[0], 1)),
    b"@": lambda screen, numbers: screen.insert_characters(max(numbers[0], 1)),
    b"L": lambda screen, numbers: screen.insert_lines(max(numbers[0], 1)),
    b"M": lambda screen, numbers: screen.delete_lines(max(numbers[0], 1)),
    b"S": lambda screen, numbers: screen.scroll(max(numbers[0], 1)),
    b"T": lambda screen, numbers: screen.scroll(-max(numbers[0], 1)),
    b"r": lambda screen, numbers: screen.set_region(numbers[0], _second(numbers)),
    b"s": lambda screen, _numbers: screen.save(),
    b"u": lambda screen, _numbers: screen.restore(),
}
