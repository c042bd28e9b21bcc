"""Sums over all runs of an index: money, outcomes, durations."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw
import pytest
from sample_records import Document, metrics, provenance, session_status, stage
from sample_state import StateRoot

from agent_workflow import index_store
from agent_workflow.index_store import InvalidQuestion

DAY = "2026-07-01T10:00:00+00:00"


def write(state: StateRoot, session_id: str, *stages: Document, began: str = DAY, **fields: object) -> None:
    """Write a run with its metrics and its course."""
    course: Document = {"executor": "pi", "model": "m"}
    course |= {name: fields.pop(name) for name in ("finished_at", "executor", "model") if name in fields}
    run = state.run(session_id)
    run.document("status.json", session_status(session_id, **fields))
    run.document("run-provenance.json", provenance(session_id, started_at=began, **course))
    if stages:
        run.document("execution-metrics.json", metrics(session_id, *stages))


def asked(state: StateRoot, question: str, since: str | None = None) -> list[dict[str, Any]]:
    """Sync, and ask one of the sums."""
    index_store.sync(state.path)
    with index_store.open_index(state.path) as index:
        return [dict(row) for row in getattr(index, question)(since).rows]


def only(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the one row there is."""
    (row,) = rows
    return row


def test_billed_and_estimated_money_are_never_added_up(state: StateRoot) -> None:
    """Nor are currencies; a stage that is part of the total counts once, and sums show no binary fractions."""
    usd = {"provider_billed_cost": 0.1, "currency": "USD", "input_tokens": 5}
    write(state, "a", stage("total", **usd), stage("orchestrator", **usd))
    write(state, "b", stage("total", provider_billed_cost=0.2, currency="USD"))
    write(state, "c", stage("total", local_estimated_cost=0.4, currency="USD"))
    write(state, "d", stage("total", provider_billed_cost=0.8, currency="EUR"))
    write(state, "e", stage("total"))

    found = {row["currency"]: row for row in asked(state, "spend")}

    assert (0.3, 2) == (found["USD"]["provider_billed_cost"], found["USD"]["provider_billed_sample_count"])
    assert (0.4, 1) == (found["USD"]["local_estimated_cost"], found["USD"]["local_estimated_sample_count"])
    assert (3, 5, None) == tuple(found["USD"][name] for name in ("run_count", "input_tokens", "output_tokens"))
    assert 0.8 == found["EUR"]["provider_billed_cost"]
    assert (None, 0) == (found[None]["provider_billed_cost"], found[None]["provider_billed_sample_count"])


def test_stages_without_a_total_are_added_up_as_one_run(state: StateRoot) -> None:
    """They are what it cost."""
    write(state, "a", stage("orchestrator", input_tokens=5), stage("child:builder", input_tokens=7))

    row = only(asked(state, "spend"))

    assert (1, 12) == (row["run_count"], row["input_tokens"])


def test_spend_is_of_a_day_in_utc_newest_first(state: StateRoot) -> None:
    """Whatever the offset in which a time was written."""
    write(state, "a", stage("total", input_tokens=1), began="2026-07-02T01:30:00+02:00")
    write(state, "b", stage("total", input_tokens=2), began="2026-07-02T00:30:00+00:00")

    rows = asked(state, "spend")

    assert [("2026-07-02", 2), ("2026-07-01", 1)] == [(row["day"], row["input_tokens"]) for row in rows]


@pytest.mark.parametrize("question", ["spend", "outcomes_by_day", "outcomes_by_agent"])
def test_a_sum_begins_where_it_is_asked_to(state: StateRoot, question: str) -> None:
    """A run of that very moment counts, an earlier one does not."""
    write(state, "early", stage("total"), began="2026-07-01T09:59:59+00:00")
    write(state, "late", stage("total"))

    assert 1 == only(asked(state, question, "2026-07-01T12:00:00+02:00"))["run_count"]
    assert 2 == only(asked(state, question))["run_count"]
    with pytest.raises(InvalidQuestion, match="--since 'never' is no time"):
        asked(state, question, "never")


@pytest.mark.parametrize("question", ["spend", "outcomes_by_day", "outcomes_by_agent"])
@pytest.mark.parametrize("fraction", ["993197", "0004", "0005", "999999"])
def test_a_run_counts_from_its_own_moment_on_however_fine(state: StateRoot, question: str, fraction: str) -> None:
    """SQLite tells times to the millisecond; one that is copied from a run still lets it count."""
    began = f"2026-07-01T10:00:00.{fraction}+00:00"
    write(state, "fine", stage("total"), began=began)

    assert 1 == only(asked(state, question, began))["run_count"]


def test_a_sum_is_over_all_rows_there_are(state: StateRoot) -> None:
    """Where a question stops at its limit, a sum does not."""
    for number in range(3):
        write(state, f"run-{number}", stage("total", input_tokens=1), status="completed", finished_at=DAY)
    with_many = 20_000
    asked(state, "spend")
    add_copies_of_a_run(state.database, with_many)

    with index_store.open_index(state.path) as index:
        spend, day, agent = (
            only(selection.rows) for selection in (index.spend(), index.outcomes_by_day(), index.outcomes_by_agent())
        )

    assert (with_many + 3, with_many + 3) == (spend["run_count"], spend["input_tokens"])
    assert with_many + 3 == day["run_count"] == agent["completed_count"]


def add_copies_of_a_run(database: Path, count: int) -> None:
    """Fill the index itself, which is quicker than as many directories."""
    connection = apsw.Connection(str(database))
    with connection:
        for table in ("runs", "execution_metrics"):
            columns = [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")][1:]
            connection.execute(
                "WITH RECURSIVE copies (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM copies WHERE number < ?) "
                f"INSERT INTO {table} (session_id, {', '.join(columns)}) "
                f"SELECT 'copy-' || number, {', '.join(columns)} FROM copies, {table} WHERE session_id = 'run-0'",
                (count,),
            )
    connection.close()


def test_a_day_counts_runs_by_their_status(state: StateRoot) -> None:
    """A run without a readable time is on no day, one in error counts nowhere."""
    for session_id, status in (("a", "completed"), ("b", "completed"), ("c", "failed")):
        write(state, session_id, status=status)
    write(state, "d", began="some day")
    write(state, "e", stage("total"))
    (state.path / "runs" / "e" / "execution-metrics.json").write_text("{")

    rows = asked(state, "outcomes_by_day")

    expected = [("2026-07-01", "completed", 2), ("2026-07-01", "failed", 1)]
    assert expected == [(row["day"], row["status"], row["run_count"]) for row in rows]


def test_a_rate_counts_only_what_has_ended(state: StateRoot) -> None:
    """Without an ended run there is no rate, which is not zero."""
    for number, status in enumerate(("completed", "failed", "running", "launched")):
        write(state, f"some-{number}", status=status, acceptance_eligible=status == "completed")
    write(state, "none", status="running", executor=None, model=None)

    some, none = asked(state, "outcomes_by_agent")

    assert (0.5, 2, 4, 1, 1) == tuple(
        some[name] for name in ("success_rate", "ended_count", "run_count", "completed_count", "accepted_count")
    )
    assert (None, None, None, None, 1) == tuple(
        none[name] for name in ("executor", "success_rate", "median_seconds", "p90_seconds", "run_count")
    )


def test_durations_are_those_of_completed_runs_whose_clock_went_on(state: StateRoot) -> None:
    """The middle one and that of nine in ten; one that ended before it began says nothing."""
    for seconds in range(1, 12):
        ended = f"2026-07-01T10:00:{seconds:02d}.250+00:00"
        write(state, f"run-{seconds}", status="completed", finished_at=ended)
    write(state, "back", status="completed", finished_at="2026-07-01T09:00:00+00:00")
    write(state, "failed", status="failed", finished_at="2026-07-02T10:00:00+00:00")

    row = only(asked(state, "outcomes_by_agent"))

    assert (12, 6.25, 10.25) == (row["completed_count"], row["median_seconds"], row["p90_seconds"])
