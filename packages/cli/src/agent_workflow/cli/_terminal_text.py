"""Text of evidence on a terminal: harmless whatever it holds, and as wide as it looks."""

import sys
from unicodedata import category, east_asian_width

_NO_WIDTH = ("Mn", "Me")


def printable(text: str) -> str:
    """Escape what a terminal would obey instead of show: control, format (bidi) and undecodable characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)


def width_of(text: str) -> int:
    """Return the number of terminal columns that printable text takes."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


def _columns(character: str) -> int:
    if category(character) in _NO_WIDTH:
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def ellipsis() -> str:
    """Return the mark for what was left out, in what standard output can encode."""
    try:
        "…".encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return "~"
    return "…"


def shorten(text: str, width: int, mark: str = "…", *, keep_end: bool = False) -> str:
    """Cut printable text to at most ``width`` columns.

    Args:
        text: without control characters.
        width: columns there are, at least 1.
        mark: one column wide, stands for what was left out.
        keep_end: leave out of the middle, as for ids and paths, which differ at their ends.
    """
    if width_of(text) <= width:
        return text
    room = width - 1
    if not keep_end:
        return _head(text, room) + mark
    tail = _head(text[::-1], room // 2)[::-1]
    return _head(text, room - width_of(tail)) + mark + tail


def _head(text: str, width: int) -> str:
    used = 0
    for position, character in enumerate(text):
        used += _columns(character)
        if used > width:
            return text[:position]
    return text


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill printable text with spaces to ``width`` columns; ``right`` puts the text at the right end."""
    space = " " * (width - width_of(text))
    return space + text if right else text + space
