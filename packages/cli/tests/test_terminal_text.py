"""Text of evidence on a terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.cli._terminal_text import pad, printable, shorten, width_of


@given(st.text())
def test_printable_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    """Whatever evidence holds, no control or format character comes through."""
    shown = printable(text)

    assert shown.isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\u202eb", "a\\u202eb"),
        ("a\nb", "a\\nb"),
        ("\ud800", "\\ud800"),
        ("é 日本", "é 日本"),
    ],
)
def test_escapes_are_readable(text: str, expected: str) -> None:
    """What is escaped can be recognised, and letters of every language stay."""
    assert expected == printable(text)


@pytest.mark.parametrize(("text", "expected"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("", 0)])
def test_width_is_what_a_terminal_uses(text: str, expected: int) -> None:
    """East Asian characters take two columns, combining ones none."""
    assert expected == width_of(text)


@given(st.text(), st.integers(1, 30), st.booleans())
def test_shortened_text_fits(text: str, width: int, keep_end: bool) -> None:
    """No text is wider than it may be, and one that fits is left alone."""
    shown = printable(text)

    short = shorten(shown, width, keep_end=keep_end)

    assert width_of(short) <= width
    assert short == shown or width_of(shown) > width


def test_ids_are_shortened_in_the_middle() -> None:
    """Ids differ at their ends, so the end stays."""
    assert "run-2…-0001" == shorten("run-2026-03-01-0001", 11, keep_end=True)


def test_padding_counts_columns() -> None:
    """A wide character is padded by what it takes."""
    assert "日  " == pad("日", 4)
    assert "  日" == pad("日", 4, right=True)
