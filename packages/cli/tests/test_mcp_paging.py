"""Pages without a server: whatever the rows are, and whatever comes in front of them between two pages."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow import index_store
from agent_workflow.cli._failure import CommandFailed
from agent_workflow.cli.mcp.paging import Place, Row, decode_cursor, encode_cursor, take_page

QUESTION = "question"
ROWS = st.lists(st.sampled_from("abc"), max_size=30).map(lambda letters: [{"letter": letter} for letter in letters])


def every_page(rows: Sequence[Row], size: int, arrivals: Sequence[Sequence[Row]] = ()) -> list[Row]:
    """Read all pages; before each one but the first, some rows come in front of the others."""
    now, found = list(rows), list[Row]()

    def newest(limit: int) -> list[Row]:
        return now[:limit]

    coming = list(arrivals)
    place = Place(QUESTION, (None, None))
    while True:
        page = take_page(newest, place, size)
        assert len(page.rows) <= size
        found += page.rows
        if page.next_cursor is None:
            assert page.complete
            return found
        place = decode_cursor(page.next_cursor, QUESTION)
        now[:0] = coming.pop(0) if coming else ()


@given(rows=ROWS, size=st.integers(1, 7))
def test_every_row_arrives_once_and_in_order(rows: list[Row], size: int) -> None:
    """Equal rows, too."""
    assert rows == every_page(rows, size)


@given(rows=ROWS, size=st.integers(1, 7), arrivals=st.lists(st.integers(0, 5), max_size=10))
def test_rows_that_come_shift_nothing(rows: list[Row], size: int, arrivals: list[int]) -> None:
    """Newer rows are not in the pages that follow, and none is doubled or lost."""
    newer = [[{"letter": f"newer {number}"}] * count for number, count in enumerate(arrivals)]

    assert rows == every_page(rows, size, newer)


@given(rows=st.lists(st.integers(), min_size=2, max_size=20, unique=True))
def test_a_last_row_that_is_gone_ends_the_cursor(rows: list[int]) -> None:
    """Where to go on is not guessed."""
    documents: list[Row] = [{"number": number} for number in rows]
    cursor = take_page(lambda limit: documents[:limit], Place(QUESTION, (None, None)), 1).next_cursor
    place = decode_cursor(str(cursor), QUESTION)

    with pytest.raises(CommandFailed) as raised:
        take_page(lambda limit: documents[1:][:limit], place, 1)

    assert "cursor_expired" == raised.value.failure.code


def test_the_end_of_what_can_be_asked_is_not_the_end() -> None:
    """Ten thousand rows may be more."""
    most = index_store.MAXIMUM_LIMIT
    rows: list[Row] = [{"number": number} for number in range(most)]
    found = take_page(lambda limit: rows[:limit], Place(QUESTION, (None, None)), most - 1)

    assert found.next_cursor is not None
    end = take_page(lambda limit: rows[:limit], decode_cursor(found.next_cursor, QUESTION), 5)
    assert ((rows[-1],), None, False) == end


@given(text=st.text(max_size=40))
def test_what_is_no_cursor_is_refused(text: str) -> None:
    """With a code of its own, whatever it is."""
    with pytest.raises(CommandFailed) as raised:
        decode_cursor(text, QUESTION)

    assert "invalid_cursor" == raised.value.failure.code


@given(since=st.none() | st.text(max_size=9), offset=st.integers(1, index_store.MAXIMUM_LIMIT), row=st.text(max_size=9))
def test_a_place_survives_its_cursor(since: str | None, offset: int, row: str) -> None:
    """Written and read back."""
    place = Place(QUESTION, (since, None), offset, row, 1)

    assert place == decode_cursor(encode_cursor(place), QUESTION)
