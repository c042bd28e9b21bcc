"""The order of answers, and moments in any notation."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sample_records import MOMENT
from sample_state import StateRoot

from agent_workflow.index_store import Filters, InvalidQuestion, query, sync
from agent_workflow.index_store.moments import parse_moment

# Times.


def test_runs_are_newest_first_whatever_their_offset(host: Path) -> None:
    """By the moment, not by its text; runs without a time come last."""
    sessions = [row["session_id"] for row in query(host, "runs").rows]

    assert ["beta", "gamma", "alpha", "sealed", "broken", "linked"] == sessions


@pytest.mark.parametrize(
    "kind", ["incidents", "permissions", "health", "remediations", "metrics", "processes", "workflows"]
)
def test_rows_are_newest_first_whatever_their_offset(host: Path, kind: str) -> None:
    """The row of beta is an hour younger than that of alpha, though its text is less."""
    rows = query(host, kind).rows
    owners = [str(row.get("session_id") or row["owner_run_id"]) for row in rows]

    assert ["beta", "alpha"] == [owner for owner in owners if owner in ("alpha", "beta")]


def test_repairs_are_newest_first_whatever_their_offset(host: Path) -> None:
    """By the moment they were made."""
    assert ["repair-2", "repair-1"] == [row["repair_id"] for row in query(host, "repairs").rows]


@pytest.mark.parametrize(
    "moment",
    [
        "2026-03-01T08:30:00.5Z",
        "2026-03-01T08:30:00.500000+00:00",
        "2026-03-01T10:30:00.5+02:00",
        "2026-03-01T03:30:00.5-05:00",
        "2026-03-01 08:30:00.5",
        "20260301T083000.5Z",
    ],
)
def test_a_moment_is_one_moment_in_any_notation(host: Path, moment: str) -> None:
    """Rows of that very moment pass both bounds; a time without an offset is UTC."""
    rows = query(host, "runs", Filters(since=moment, until=moment)).rows

    assert ["gamma"] == [row["session_id"] for row in rows]


@pytest.mark.parametrize("fraction", ["993197", "9937", "0004", "0005", "999999"])
def test_a_row_passes_its_own_moment_however_fine(state: StateRoot, fraction: str) -> None:
    """SQLite tells times to the millisecond; a bound that is copied from a row still lets the row through."""
    moment = f"2026-03-01T08:30:00.{fraction}+00:00"
    state.run("fine", created_at=moment)
    sync(state.path)

    rows = query(state.path, "runs", Filters(since=moment, until=moment)).rows

    assert ["fine"] == [row["session_id"] for row in rows]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-03-01T08:30:00.501Z", None, ["beta"]),
        (None, "2026-03-01T08:30:00.499Z", ["alpha", "sealed"]),
        ("2026-03-01", "2026-03-01", ["beta", "gamma", "alpha"]),
        ("2026-03-02", None, []),
        ("20260301", "20260301", ["beta", "gamma", "alpha"]),
        ("2026-W09-7", "2026-W09-7", ["beta", "gamma", "alpha"]),
        (None, "2026-02-01", ["sealed"]),
        (None, "2026-01-31", []),
        ("0001-01-01", "9999-12-31", ["beta", "gamma", "alpha", "sealed"]),
        ("1s", None, []),
        (None, "1s", ["beta", "gamma", "alpha", "sealed"]),
    ],
)
def test_bounds_of_time_hold_to_the_millisecond(
    host: Path, since: str | None, until: str | None, expected: list[str]
) -> None:
    """A date alone means its whole day; what has no time is in no span of it."""
    rows = query(host, "runs", Filters(since=since, until=until)).rows

    assert expected == [row["session_id"] for row in rows]


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        ("30s", "2026-03-01T07:59:30Z"),
        ("90m", "2026-03-01T06:30:00Z"),
        ("24h", "2026-02-28T08:00:00Z"),
        ("7d", "2026-02-22T08:00:00Z"),
        ("2w", "2026-02-15T08:00:00Z"),
        ("0s", "2026-03-01T08:00:00Z"),
    ],
)
def test_an_age_counts_back_from_now(age: str, expected: str) -> None:
    """In seconds, minutes, hours, days or weeks."""
    now = datetime.fromisoformat(MOMENT)

    assert datetime.fromisoformat(expected).timestamp() == parse_moment(age, "since", now)


def test_an_age_counts_back_from_the_present(tmp_path: Path) -> None:
    """A run of ten minutes ago is younger than an hour and older than a minute."""
    state = StateRoot(tmp_path / "state")
    ten_minutes_ago = datetime.fromtimestamp(datetime.now(UTC).timestamp() - 600, UTC).isoformat()
    state.run("recent", created_at=ten_minutes_ago)
    sync(state.path)

    assert query(state.path, "runs", Filters(since="1h", until="1m")).rows
    assert () == query(state.path, "runs", Filters(since="1m")).rows
    assert () == query(state.path, "runs", Filters(until="1h")).rows


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    "text", ["yesterday", "", "1y", "-1h", "1.5h", "h", "2026-13-01", "2026-03-01T25:00", "now'--", "999999w"]
)
def test_what_is_no_time_is_refused(host: Path, name: str, text: str) -> None:
    """By the name of the filter, with an example of each notation."""
    with pytest.raises(InvalidQuestion, match=f"--{name}") as refusal:
        query(host, "runs", Filters(**{name: text}))

    assert "24h" in str(refusal.value.hint)
