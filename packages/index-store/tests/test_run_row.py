"""The row of a run from its documents: precedence and the classification of attempts."""

import json

import pytest

from agent_workflow.evidence_schemas import CompletionCollection, Record, SessionStatus
from agent_workflow.index_store.documents import RunDocuments, pick_documents
from agent_workflow.index_store.run_row import classify_attempt, run_columns

COLUMNS: dict[str, str | int | None] = {
    "completion_result": None,
    "policy_result": None,
    "executor_result": None,
    "acceptance_eligible": None,
    "durable_status": None,
}


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"completion_result": "missing", "policy_result": "failed"}, "completion-missing"),
        ({"completion_result": "invalid", "executor_result": "killed"}, "completion-invalid"),
        ({"completion_result": "valid", "policy_result": "failed", "executor_result": "failed"}, "policy-failed"),
        ({"executor_result": "failed", "acceptance_eligible": 1}, "executor-failed"),
        ({"executor_result": "interrupted"}, "executor-interrupted"),
        ({"executor_result": "killed"}, "executor-killed"),
        ({"executor_result": "lost"}, "executor-lost"),
        ({"executor_result": "completed", "acceptance_eligible": 1}, "acceptance-eligible"),
        ({"executor_result": "completed", "acceptance_eligible": 0}, "completed-not-accepted"),
        ({"durable_status": "completed"}, "completed-not-accepted"),
        ({"durable_status": "failed"}, "terminal-unclassified"),
        ({}, "terminal-unclassified"),
    ],
)
def test_sealed_attempt_is_classified_by_the_first_rule_that_holds(
    columns: dict[str, str | int | None], expected: str
) -> None:
    """The order of the rules decides, not how many of them hold."""
    assert expected == classify_attempt(COLUMNS | columns)


def status(**fields: object) -> SessionStatus:
    """Return a status with the fields given."""
    document = {
        "schema": "agent-workflow/session-status/v2",
        "session_id": "alpha",
        "status": "completed",
        "created_at": "2026-07-01T00:00:00+00:00",
        "workdir": "/srv/work",
        "prompt_path": "prompt.md",
        "log_path": "output.log",
    }
    return SessionStatus.model_validate_json(json.dumps(document | fields))


def documents(**records: Record) -> RunDocuments:
    """Return the documents of a run, by path with dots and slashes spelled out."""
    return pick_documents(
        {name.replace("__", "/").replace("_dot_", ".").replace("_", "-"): record for name, record in records.items()}
    )


def test_final_status_wins_over_status() -> None:
    """What was sealed tells how the run ended."""
    found = documents(final_status_dot_json=status(status="failed"), status_dot_json=status(status="running"))

    assert run_columns(found, sealed=False)["durable_status"] == "failed"


def test_unsealed_run_is_not_classified() -> None:
    """Only a seal, or a ledger row, says how an attempt ended."""
    found = documents(status_dot_json=status())

    assert run_columns(found, sealed=False)["attempt_classification"] is None
    assert run_columns(found, sealed=True)["attempt_classification"] == "completed-not-accepted"


def test_completion_result_comes_from_the_collection_before_the_status() -> None:
    """The collection looked at the completion; the status repeats what somebody said."""
    collection = CompletionCollection.model_validate(
        {
            "schema": "agent-workflow/completion-collection/v1",
            "session_id": "alpha",
            "adapter": "native",
            "adapter_version": "1",
            "source_path": None,
            "source_sha256": None,
            "canonical_mapping": None,
            "canonical_sha256": None,
            "validation_status": "missing",
            "validation_errors": [],
            "collected_at": "2026-07-01T00:00:00+00:00",
            "stored_path": None,
        }
    )
    found = documents(collections__completion_dot_json=collection, status_dot_json=status(completion_result="valid"))

    assert run_columns(found, sealed=False)["completion_result"] == "missing"


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, "not_planned"),
        ({"evaluation_path": "evaluation.json"}, "not_verified"),
        ({"evaluation_path": None}, "not_planned"),
    ],
)
def test_evaluation_state_without_ledger_or_verdict(fields: dict[str, object], expected: str) -> None:
    """A planned evaluation that left no verdict is not verified."""
    found = documents(status_dot_json=status(**fields))

    assert run_columns(found, sealed=False)["evaluation_state"] == expected


def test_unknown_stays_unknown() -> None:
    """No document, no value: nothing is made up."""
    columns = run_columns(documents(), sealed=False)

    assert {name for name, value in columns.items() if value is not None} == {"evaluation_state"}


def test_document_of_another_contract_does_not_count() -> None:
    """A file is what its contract says, not what its name promises."""
    found = pick_documents({"launch-contract.json": status(), "status.json": status()})

    assert found.launch is None
    assert found.status is not None
