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


def test_only_the_newest_run_of_a_session_is_spent(state: StateRoot) -> None:
    """Each tells the whole session; runs of workflows, which tell what is new, all count."""
    seal(imported_run(state, "s1", cost=0.5))
    seal(imported_run(state, "s1-2", cost=0.75, retry_of="s1"))
    write_traced_run(state, "w1")
    write_traced_run(state, "w1-2", retry_of="w1")
    index_store.sync(state.path)

    with index_store.open_index(state.path) as index:
        rows = index.spend().rows

    assert {("claude_code", 1, 0.75, None), ("pi", 2, None, 0.5)} == {
        (row["executor"], row["run_count"], row["local_estimated_cost"], row["provider_billed_cost"]) for row in rows
    }
