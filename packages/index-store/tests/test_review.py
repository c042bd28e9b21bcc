"""The review of a recorded workflow: no completion is handed in for one, its final status says what it came to."""

from hashlib import sha256
from pathlib import Path

import pytest
from sample_records import MOMENT, process_result
from sample_state import RunFiles, StateRoot
from traced_runs import GATE_FAILED, begin_traced_run, end_traced_run, imported_run, seal, write_traced_run

from agent_workflow import index_store


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Return an empty state root."""
    return StateRoot(tmp_path / "state")


def judge(run: RunFiles, *actions: str) -> index_store.ReviewReport:
    """Return the verdict on a sealed run about which lifecycle receipts say this, one after another."""
    digest = sha256((run.path / "final-receipt.json").read_bytes()).hexdigest()
    for number, action in enumerate(actions, 1):
        receipt = {
            "schema": "agent-workflow/lifecycle-receipt/v1",
            "session_id": run.session_id,
            "action": action,
            "actor": "somebody",
            "reason": "read it",
            "created_at": MOMENT,
            "final_receipt_sha256": digest,
        }
        run.document(f"receipts/{number:06d}-{action}.json", receipt).chmod(0o444)
    root = run.path.parent.parent
    index_store.sync(root)
    review = index_store.verify(root, review=run.session_id).review
    assert review is not None
    return review


def test_a_workflow_that_ended_well_and_was_reviewed_is_verified(state: StateRoot) -> None:
    """Sealed, completed, passing and reviewed, without any completion.json."""
    review = judge(write_traced_run(state, "aaaa0001"), "reviewed")

    assert ("verified", ()) == (review.verdict, review.faults)
    assert {"yes"} == {review.evidence[question] for question in ("sealed", "completed", "passing", "reviewed")}


def test_a_workflow_that_nobody_reviewed_is_unreviewed(state: StateRoot) -> None:
    """And not incomplete: nothing is missing but somebody's look."""
    review = judge(write_traced_run(state, "aaaa0001"))

    assert ("unreviewed", ("receipts: there is no lifecycle receipt",)) == (review.verdict, review.faults)


def test_a_workflow_that_failed_on_a_gate_is_incomplete_and_failing(state: StateRoot) -> None:
    """Every reason is told, none of which is a file that nobody writes."""
    review = judge(seal(end_traced_run(begin_traced_run(state, "aaaa0001"), **GATE_FAILED)), "reviewed")

    assert "incomplete" == review.verdict
    assert (
        "final-status.json: the run ended as failed",
        "final-status.json: the policy failed",
        "final-status.json: nothing that judges the run accepted its result",
    ) == review.faults


def test_a_workflow_whose_process_did_not_exit_well_is_failing(state: StateRoot) -> None:
    """Its word is the status, and the process result stands against it."""
    run = end_traced_run(begin_traced_run(state, "aaaa0001"))
    run.document("process-result.json", process_result(error_category="nonzero-exit") | {"exit_code": 3})

    review = judge(seal(run), "reviewed")

    assert ("failing", ("process-result.json: the process exited with 3",)) == (review.verdict, review.faults)


def test_an_imported_session_is_failing_because_nothing_judged_it(state: StateRoot) -> None:
    """No gate looked at it, so only its own agent says that it did well."""
    review = judge(seal(imported_run(state, "cccc0001")), "reviewed")

    assert ("failing", ("final-status.json: nothing that judges the run accepted its result",)) == (
        review.verdict,
        review.faults,
    )
