"""Facts and faults as a report shows them: labels with what is found, then what is wrong and where."""

from collections.abc import Sequence

from agent_workflow.cli._output import Palette, terminal_width, wrapped
from agent_workflow.cli._table import state_colour
from agent_workflow.cli._terminal_text import printable

SHOWN = 20
"""Entries of a list that are shown; a report of thousands of errors is read with ``index query errors``."""

_LABEL_WIDTH = 13


def text_width() -> int:
    """Return the columns for text: those of the terminal, at most 100."""
    return min(terminal_width(), 100)


def stated(word: str) -> str:
    """Return a word of a report in its colour."""
    return Palette().paint(word, state_colour(word))


def fact_lines(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Write facts under one another, each a label and what is found."""
    lines: list[str] = []
    for label, fact in facts:
        body = list(wrapped(fact, max(text_width() - _LABEL_WIDTH, 20))) or [""]
        lines.append(label.ljust(_LABEL_WIDTH) + body[0])
        lines.extend(" " * _LABEL_WIDTH + more for more in body[1:])
    return lines


def fault_lines(title: str, colour: str, faults: Sequence[tuple[str, str]], all_of_them: str) -> list[str]:
    """List what is at fault under a title, each with its place, cut to a readable number.

    Args:
        title: what they have in common.
        colour: of the title.
        faults: a place and what is wrong there.
        all_of_them: the command that shows those that are cut off.
    """
    lines = ["", Palette().paint(title, colour)]
    for subject, fault in faults[:SHOWN]:
        lines.append(f"  {printable(subject)}")
        lines.extend(wrapped(printable(fault), text_width(), "    "))
    if len(faults) > SHOWN:
        lines.append(f"  and {len(faults) - SHOWN} more: {all_of_them}")
    return lines
