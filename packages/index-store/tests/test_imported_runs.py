"""Imported sessions in the index: their row, their seal, and that each counts once."""

from typing import Any

import pytest
from sample_state import StateRoot
from traced_runs import DATABASE, IMPORTED, imported_run, seal, write_traced_run

from agent_workflow import index_store

REQUIRED = (
    "launch-contract.json",
    "events.jsonl",
    "final-status.json",
    "run-provenance.json",
    "execution-metrics.json",
)


def row_of(state: StateRoot, session_id: str) -> dict[str, Any]:
    """Index the state root and return the row of a run."""
    index_store.sync(state.path)
    (row,) = index_store.query(state.path, "runs", index_store.Filters(session=session_id)).rows
    return dict(row)


def test_a_sealed_session_has_a_whole_row(state: StateRoot) -> None:
    """What nobody saw is unknown; where its trace lies is known."""
    seal(imported_run(state, "s1", adw_id="trace1", retry_of="s0"))

    row = row_of(state, "s1")

    expected = {
        "launch_schema": IMPORTED,
        "index_error": None,
        "evidence_complete": 1,
        "attempt_classification": "completed-not-accepted",
        "executor": "claude_code",
        "model": "large",
        "retry_of_run_id": "s0",
        "workdir": None,
        "source_revision": None,
        "exit_code": None,
        "adw_id": "trace1",
        "trace_database": DATABASE,
    }
    assert expected == {name: row[name] for name in expected}
    assert index_store.verify(state.path, full=True).valid


@pytest.mark.parametrize("name", REQUIRED)
def test_a_seal_must_list_what_the_contract_requires(state: StateRoot, name: str) -> None:
    """The process's result is not among it: nobody saw the process."""
    seal(imported_run(state, "s1"), without=[name])

    assert f"does not seal {name}" in row_of(state, "s1")["index_error"]


def test_what_no_seal_lists_is_foreign(state: StateRoot) -> None:
    """As with every traced run."""
    run = seal(imported_run(state, "s1"))
    (run.path / "incident-events.jsonl").write_text("{}\n")

    assert "is not sealed by final-receipt.json" in row_of(state, "s1")["index_error"]


@pytest.fixture
def grown(state: StateRoot) -> StateRoot:
    """Give an index with a session that was imported when it had grown too, and with a workflow that was joined."""
    seal(imported_run(state, "s1", cost=0.5))
    seal(imported_run(state, "s1-2", cost=0.75, retry_of="s1"))
    write_traced_run(state, "w1")
    write_traced_run(state, "w1-2", retry_of="w1")
    index_store.sync(state.path)
    return state


def test_only_the_newest_run_of_a_session_is_spent(grown: StateRoot) -> None:
    """Each tells the whole session; runs of workflows, which tell what is new, all count."""
    with index_store.open_index(grown.path) as index:
        rows = index.spend().rows

    assert {("claude_code", 1, 0.75, None), ("pi", 2, None, 0.5)} == {
        (row["executor"], row["run_count"], row["local_estimated_cost"], row["provider_billed_cost"]) for row in rows
    }


def counted(state: StateRoot) -> dict[str, dict[Any, Any]]:
    """Return how many runs each sum over all runs counts, by what it groups by."""
    with index_store.open_index(state.path) as index:
        return {
            "spend": {row["executor"]: row["run_count"] for row in index.spend().rows},
            "outcomes by day": {row["status"]: row["run_count"] for row in index.outcomes_by_day().rows},
            "outcomes by agent": {row["executor"]: row["run_count"] for row in index.outcomes_by_agent().rows},
            "attempts": {row["attempt_classification"]: row["run_count"] for row in index.select("attempts").rows},
            "performance": {
                row["executor"]: row["sample_count"]
                for row in index.select("performance").rows
                if row["stage"] == "total"
            },
        }


def test_every_sum_leaves_out_what_was_superseded(grown: StateRoot) -> None:
    """One session and two workflows, however they are summed up."""
    by_agent = {"claude_code": 1, "pi": 2}
    by_outcome = {"acceptance-eligible": 2, "completed-not-accepted": 1}

    found = counted(grown)

    assert {
        "spend": by_agent,
        "outcomes by day": {"completed": 3},
        "outcomes by agent": by_agent,
        "attempts": by_outcome,
        "performance": by_agent,
    } == found


def test_the_average_is_that_of_the_newest_run(state: StateRoot) -> None:
    """Not one between what the session had cost and what it costs now."""
    for number, cost in enumerate((1.0, 2.0, 4.0), 1):
        seal(imported_run(state, f"s{number}", cost=cost, retry_of=f"s{number - 1}" if number > 1 else None))
    index_store.sync(state.path)

    (row,) = index_store.query(state.path, "performance").rows

    assert (1, 4.0, "USD") == tuple(
        row[name] for name in ("local_estimated_sample_count", "avg_local_estimated_cost", "local_estimated_currency")
    )


def test_rows_say_what_was_superseded(grown: StateRoot) -> None:
    """Whoever adds up rows of runs or metrics can leave it out as well."""
    for kind in ("runs", "metrics"):
        rows = index_store.query(grown.path, kind).rows

        assert {"s1": 1, "s1-2": 0, "w1": 0, "w1-2": 0} == {row["session_id"]: row["superseded"] for row in rows}


@pytest.mark.parametrize("fate", ["damaged", "removed"])
def test_a_session_counts_by_its_older_run_where_the_newer_is_no_evidence(fate: str, grown: StateRoot) -> None:
    """One bad run does not hide a good one."""
    newer = grown.path / "runs" / "s1-2"
    if fate == "damaged":
        (newer / "events.jsonl").chmod(0o644)
        (newer / "events.jsonl").write_bytes(b"{}\n")
    else:
        grown.remove("s1-2")
    index_store.sync(grown.path)

    found = counted(grown)

    assert {"claude_code": 1, "pi": 2} == found["performance"] == found["spend"] == found["outcomes by agent"]
    assert {"acceptance-eligible": 2, "completed-not-accepted": 1} == found["attempts"]
