"""Tables that fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.cli._cells import ID, NAME, NUMBER, PROSE, TIME, Value, flag, minute, number, size
from agent_workflow.cli._output import Palette
from agent_workflow.cli._query_columns import COLUMNS
from agent_workflow.cli._table import GAP, Column, Demand, allot, table, wide_table
from agent_workflow.cli._terminal_text import width_of
from agent_workflow.index_store import KINDS

RUN = Column("session", "session_id", ID, 0)
TOLD = Column("summary", "summary", PROSE, 1)
WHEN = Column("recorded", "recorded_at", TIME, 2)
MODEL = Column("model", "model", NAME, 3)
COUNT = Column("count", "count", NUMBER, 4)
ROW = {
    "session_id": "run-0001",
    "summary": "something happened that takes a while to tell",
    "recorded_at": "2026-03-01T12:34:56.789+02:00",
    "model": None,
    "count": 7,
}


def _lines(width: int, *columns: Column) -> list[str]:
    return table([ROW], columns, width, Palette())


def test_everything_is_shown_where_there_is_room() -> None:
    """A wide terminal gets every column whole, NULL as a dash and numbers at the right."""
    expected = [
        "SESSION   SUMMARY                                        RECORDED           MODEL  COUNT",
        "run-0001  something happened that takes a while to tell  2026-03-01 10:34Z  -          7",
    ]

    assert expected == _lines(120, RUN, TOLD, WHEN, MODEL, COUNT)


def test_a_column_without_a_value_goes_first() -> None:
    """What tells nothing makes room for what does."""
    expected = [
        "SESSION   SUMMARY                                RECORDED           COUNT",
        "run-0001  something happened that takes a whil…  2026-03-01 10:34Z      7",
    ]

    assert expected == _lines(73, RUN, TOLD, WHEN, MODEL, COUNT)


def test_less_important_columns_go_before_important_ones_are_cut() -> None:
    """On forty columns the id is whole and the text that matters has the rest."""
    expected = ["SESSION   SUMMARY", "run-0001  something happened that takes …"]

    assert expected == _lines(41, RUN, TOLD, WHEN)


_DEMANDS = st.lists(
    st.builds(
        lambda natural, comfort, floor, rank, idle: Demand(
            natural, min(natural, comfort), min(natural, comfort, floor), rank, idle
        ),
        st.integers(1, 200),
        st.integers(1, 40),
        st.integers(1, 24),
        st.integers(0, 10),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@given(_DEMANDS, st.integers(20, 250))
def test_shares_fit_and_give_nobody_more_than_wanted(demands: list[Demand], width: int) -> None:
    """Whatever the columns want, they fit, and the most important one is there."""
    widths = allot(demands, width)

    shown = [share for share in widths if share]
    assert sum(shown) + GAP * (len(shown) - 1) <= width
    assert all(share <= demand.natural for share, demand in zip(widths, demands, strict=True))
    assert shown


_VALUES: st.SearchStrategy[Value] = st.none() | st.text() | st.integers() | st.floats()


@given(st.lists(st.tuples(*[_VALUES] * 5), min_size=1, max_size=5), st.integers(20, 200))
def test_no_line_is_wider_than_the_terminal(values: list[tuple[Value, ...]], width: int) -> None:
    """Whatever evidence holds, no line is wider than the terminal, and no row takes two lines."""
    columns = (RUN, TOLD, WHEN, MODEL, COUNT)
    rows = [dict(zip(ROW, row, strict=True)) for row in values]

    lines = table(rows, columns, width, Palette())

    assert len(rows) + 1 == len(lines)
    assert all(width_of(line) <= width and line.isprintable() for line in lines)


def test_wide_tables_hold_everything() -> None:
    """A wide table has every field under its own name."""
    expected = [
        "session_id  count",
        "run-0001        7",
    ]

    assert expected == wide_table([ROW], ("session_id", "count"), Palette())


def test_every_kind_has_its_columns() -> None:
    """No kind of question is without a table, and none has two columns of one rank."""
    assert KINDS.keys() == COLUMNS.keys()
    for columns in COLUMNS.values():
        assert len({column.rank for column in columns}) == len(columns)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-03-01T23:30:00+00:00", "2026-03-01 23:30Z"),
        ("2026-03-01T23:30:00-02:00", "2026-03-02 01:30Z"),
        ("2026-03-01T23:30:00", "2026-03-01 23:30"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("soon", "soon"),
        (None, "-"),
    ],
)
def test_times_are_minutes_of_utc(value: Value, expected: str) -> None:
    """A time does not depend on where one is; what is no time is shown as it is."""
    assert expected == minute(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, "-"), (5, "5"), (5.0, "5"), (4.972, "4.97"), (0.0004, "0.0004"), (12345.6, "12346"), (0.0, "0")],
)
def test_numbers_are_short(value: Value, expected: str) -> None:
    """A small number is not rounded to nothing, and an unknown one is no zero."""
    assert expected == number(value)


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "-"), (0, "0"), (999, "999"), (15_986_688, "15.2M"), (80_000_000_000, "74.5G")]
)
def test_sizes_have_units(value: Value, expected: str) -> None:
    """Bytes are shown with three digits and their unit."""
    assert expected == size(value)


@pytest.mark.parametrize(("value", "expected"), [(None, "-"), (0, "no"), (1, "yes")])
def test_flags_are_words(value: Value, expected: str) -> None:
    """Unknown is not no."""
    assert expected == flag(value)
