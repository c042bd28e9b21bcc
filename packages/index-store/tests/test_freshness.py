"""The truth of the line above an answer: how the index compares with its sources now."""

import os
from pathlib import Path

import pytest
from sample_records import lifecycle
from sample_state import RunFiles, StateRoot, write_repair

from agent_workflow.index_store import query, status, sync


def freshness(state: StateRoot) -> tuple[str, int, int, int]:
    """Return the word, and how many runs are current, stale and in error, as query and status say alike."""
    asked, known = query(state.path, "runs").freshness, status(state.path).freshness
    assert asked == known
    return asked.word, asked.current_runs, asked.stale_runs, asked.error_runs


@pytest.fixture
def indexed(state: StateRoot) -> StateRoot:
    """Give an index of an active run, an archived one and a sealed one."""
    state.run("active").journal("events.jsonl", [lifecycle(1)])
    state.run("archived", archived=True)
    state.run("sealed").seal()
    sync(state.path)
    return state


def test_an_index_is_missing_until_it_is_made(state: StateRoot) -> None:
    """The runs that it would have are counted all the same."""
    state.run("run")

    report = status(state.path)

    assert ("missing", 1, 0, 1) == (
        report.freshness.word,
        report.freshness.source_runs,
        report.freshness.current_runs,
        report.freshness.stale_runs,
    )
    assert not report.exists


def test_a_state_root_that_is_not_there_is_missing(tmp_path: Path) -> None:
    """And is not made by asking."""
    report = status(tmp_path / "nowhere")

    assert ("missing", 0) == (report.freshness.word, report.freshness.source_runs)
    assert not (tmp_path / "nowhere").exists()


def test_an_unchanged_host_is_current(indexed: StateRoot) -> None:
    """Every run counts."""
    assert ("current", 3, 0, 0) == freshness(indexed)


def test_a_changed_run_is_stale(indexed: StateRoot) -> None:
    """One that grew by a record."""
    RunFiles(indexed.path / "runs" / "active").journal("events.jsonl", [lifecycle(2)])

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_new_run_is_stale(indexed: StateRoot) -> None:
    """It has no rows yet."""
    indexed.run("new")

    assert ("stale", 3, 1, 0) == freshness(indexed)


def test_a_removed_run_is_stale(indexed: StateRoot) -> None:
    """Its rows are there still."""
    indexed.remove("active")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_run_that_was_archived_is_stale(indexed: StateRoot) -> None:
    """It is somewhere else than its rows say."""
    (indexed.path / "runs" / "active").rename(indexed.path / "archive" / "active")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_touched_artifact_of_a_sealed_run_is_stale(indexed: StateRoot) -> None:
    """It is no source, but its receipt speaks of it."""
    os.utime(indexed.path / "runs" / "sealed" / "output.log")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_log_of_an_unsealed_run_may_grow(indexed: StateRoot) -> None:
    """Nothing of it is in the index."""
    (indexed.path / "runs" / "active" / "output.log").write_text("more and more\n")

    assert ("current", 3, 0, 0) == freshness(indexed)


def test_a_run_in_error_makes_the_index_incomplete(indexed: StateRoot) -> None:
    """It is neither current nor stale."""
    indexed.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(indexed.path)

    assert ("incomplete", 3, 0, 1) == freshness(indexed)


def test_a_mended_run_is_current_after_the_next_sync(indexed: StateRoot) -> None:
    """Between the two it is stale, and still in error as far as the index knows."""
    journal = indexed.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(indexed.path)
    journal.unlink()

    between = freshness(indexed)
    sync(indexed.path)

    assert ("stale", 3, 1, 1) == between
    assert ("current", 4, 0, 0) == freshness(indexed)


def test_an_archive_that_was_left_out_makes_the_index_incomplete(state: StateRoot) -> None:
    """It is not stale: nobody asked for it; and a full sync completes it."""
    state.run("active")
    state.run("archived", archived=True)
    sync(state.path, active_only=True)

    narrow = freshness(state)
    sync(state.path)

    assert ("incomplete", 1, 0, 0) == narrow
    assert ("current", 2, 0, 0) == freshness(state)


def test_a_bad_repair_makes_the_index_incomplete(indexed: StateRoot) -> None:
    """Its error belongs to no run."""
    sealed = RunFiles(indexed.path / "runs" / "sealed")
    repair = write_repair(indexed, sealed, "repair-1")
    (repair.path / "canonical-completion.json").write_text("{}")
    sync(indexed.path)

    assert ("incomplete", 3, 0, 1) == freshness(indexed)


def test_a_run_of_a_retired_format_is_neither_current_nor_an_error(indexed: StateRoot) -> None:
    """It is kept, excluded and counted by itself."""
    indexed.run("historical").document("old.json", {"schema": "agent-workflow/execution-metrics/retired-v1"})
    sync(indexed.path)

    report = query(indexed.path, "runs")

    assert ("current", 3, 0, 0) == freshness(indexed)
    assert 1 == report.freshness.historical_runs
    assert ["historical"] == [row["session_id"] for row in report.rows if row["index_state"] == "error"]
