"""The rules of the records that a table of fields does not show."""

import json
from pathlib import Path
from typing import Any

import pydantic
import pytest

from agent_workflow.evidence_schemas import (
    Completion,
    Contract,
    EvidenceRepairReceipt,
    ExecutionMetrics,
    IncidentEvent,
    LifecycleEvent,
    RunHealthSample,
    ScoreSet,
    SessionStatus,
    Trial,
    TrialCollection,
    TrialEvidence,
    WorkflowEvent,
    contracts,
)

DOCUMENTS = Path(__file__).parent / "fixtures" / "documents"


def document(name: str) -> dict[str, Any]:
    """One of the valid fixture records."""
    loaded: dict[str, Any] = json.loads((DOCUMENTS / f"{name}.json").read_text("utf-8"))
    return loaded


def name_of(contract: Contract) -> str:
    """The name that fixtures have for a contract."""
    return contract.id.removeprefix("agent-workflow/").replace("/", ".")


def refuses(model: type[pydantic.BaseModel], value: object) -> bool:
    """Whether a model refuses a value."""
    try:
        model.model_validate(value)
    except pydantic.ValidationError:
        return True
    return False


@pytest.mark.parametrize("contract", contracts(), ids=lambda contract: contract.id)
class TestEveryContract:
    """What holds for each of them."""

    def test_has_a_fixture(self, contract: Contract) -> None:
        """No contract goes untested: each has facts and a valid record."""
        facts = DOCUMENTS.parent / "facts" / f"{name_of(contract)}.json"

        assert contract.id == document(name_of(contract))["schema"]
        assert contract.origin == json.loads(facts.read_text("utf-8"))["$comment"]

    def test_the_python_name_of_the_schema_is_no_field(self, contract: Contract) -> None:
        """`schema_` is a name for Python; in a document it does not stand in for `schema`."""
        renamed = {("schema_" if key == "schema" else key): value for key, value in document(name_of(contract)).items()}
        assert contract.model is not None

        assert refuses(contract.model, renamed)

    @pytest.mark.parametrize("value", [None, [], "text", 1, True, 1.5, [{}], {}])
    def test_a_record_is_an_object_with_a_schema(self, contract: Contract, value: object) -> None:
        """Anything but a JSON object that names its contract is refused."""
        assert contract.model is not None

        assert refuses(contract.model, value)

    def test_a_record_cannot_be_changed(self, contract: Contract) -> None:
        """A record that was read stays what it was."""
        assert contract.model is not None
        record = contract.model.model_validate(document(name_of(contract)))

        with pytest.raises(pydantic.ValidationError, match="frozen"):
            record.schema_ = "other"  # type: ignore[attr-defined]  # each record has its own constant there


@pytest.mark.parametrize("token", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_json_number_is_refused(token: str) -> None:
    """Python's JSON reader takes NaN and Infinity; a record does not."""
    text = json.dumps(document("run-health-sample.v1"))
    assert '"load_1m": 1.5' in text

    with pytest.raises(pydantic.ValidationError):
        RunHealthSample.model_validate_json(text.replace('"load_1m": 1.5', f'"load_1m": {token}'))


def test_a_lone_surrogate_is_refused() -> None:
    r"""JSON text may hold a lone `\ud800`, which no database can store as UTF-8."""
    value = {**document("incident-event.v1"), "summary": "\ud800"}

    assert refuses(IncidentEvent, value)


def test_an_integer_stays_an_integer_among_numbers() -> None:
    """Tokens may be written as integers or fractions; neither is turned into the other."""
    value = document("execution-metrics.v1")
    value["stages"][0] |= {"input_tokens": 12, "output_tokens": 12.5, "elapsed_seconds": None}

    stage = ExecutionMetrics.model_validate(value).stages[0]

    assert [stage.input_tokens, stage.output_tokens, stage.elapsed_seconds] == [12, 12.5, None]
    assert isinstance(stage.input_tokens, int)


@pytest.mark.parametrize("stage", ["total", "orchestrator", "verification", "child:a", "child:run-7.x_y"])
def test_stages_by_name(stage: str) -> None:
    """The stages of a run, and those of its children."""
    value = document("execution-metrics.v1")
    value["stages"][0]["stage"] = stage

    assert stage == ExecutionMetrics.model_validate(value).stages[0].stage


@pytest.mark.parametrize("stage", ["", "child", "child:", "child:-a", "totals", "total\n", " total", "child:a/b"])
def test_other_stages_are_refused(stage: str) -> None:
    """A stage that the contract does not name."""
    value = document("execution-metrics.v1")
    value["stages"][0]["stage"] = stage

    assert refuses(ExecutionMetrics, value)


@pytest.mark.parametrize(
    ("disposition", "results"),
    [
        ("approved", {"completed"}),
        ("changes_requested", {"completed", "partial"}),
        ("blocked", {"partial", "blocked"}),
        (None, {"completed", "partial", "failed", "blocked"}),
    ],
)
def test_a_review_disposition_goes_with_some_results(disposition: str | None, results: set[str]) -> None:
    """An agent cannot approve what failed; without a disposition every result is fine."""
    value = document("completion.v1")
    del value["review_disposition"]
    if disposition is not None:
        value["review_disposition"] = disposition

    accepted = {
        result
        for result in ("completed", "partial", "failed", "blocked")
        if not refuses(Completion, {**value, "result": result})
    }

    assert results == accepted


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"binding": None}, False),
        ({"binding": ...}, True),
        ({"previous_state": "running"}, True),
        ({"next_state": "running"}, True),
        ({"previous_state": ..., "next_state": ...}, False),
    ],
)
def test_a_bound_node_has_a_binding_and_no_states(change: dict[str, Any], refused: bool) -> None:
    """Binding a node is no transition; `...` stands for an absent field."""
    value = {**document("workflow-event.v1"), **change}

    assert refused == refuses(WorkflowEvent, {key: part for key, part in value.items() if part is not ...})


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"previous_state": None}, False),
        ({"previous_state": ...}, True),
        ({"next_state": ...}, True),
        ({"binding": ...}, False),
        ({"binding": document("workflow-event.v1")["binding"]}, True),
    ],
)
def test_a_transition_has_two_states_and_no_binding(change: dict[str, Any], refused: bool) -> None:
    """A transition names where it came from, even if that is null, and binds nothing."""
    value = {**document("workflow-event.v1.2"), **change}

    assert refused == refuses(WorkflowEvent, {key: part for key, part in value.items() if part is not ...})


def test_equal_artifacts_of_a_repair_are_refused() -> None:
    """Uniqueness compares whole objects: one path with two sizes is two artifacts, the same line twice is not."""
    value = document("evidence-repair-receipt.v1")
    first = value["artifacts"][0]

    assert refuses(EvidenceRepairReceipt, {**value, "artifacts": [*value["artifacts"], dict(first)]})
    assert not refuses(EvidenceRepairReceipt, {**value, "artifacts": [*value["artifacts"], {**first, "size": 99}]})


def test_trial_evidence_is_a_trial_or_a_collection() -> None:
    """Two shapes share one contract id; either is accepted and says which it is."""
    collection = TrialEvidence.model_validate(document("trial-evidence.v2"))
    trial = TrialEvidence.model_validate_json(json.dumps(document("trial-evidence.v2.2")))

    assert isinstance(collection, TrialCollection)
    assert isinstance(trial, Trial)
    assert trial.trial_id == collection.trials[0].trial_id


def test_a_status_keeps_the_fields_it_does_not_know() -> None:
    """A status is an open contract: newer writers add fields to it."""
    value = {**document("session-status.v2"), "runner_path": "run.sh"}

    assert value == SessionStatus.model_validate(value).to_document()


def test_an_observed_contract_is_a_lower_bound() -> None:
    """What was only ever observed may be absent, may be joined by other fields, and may have other values."""
    value = {"schema": "agent-workflow/lifecycle-event/v1", "sequence": 1, "timestamp": "now", "dimension": "weather"}

    assert LifecycleEvent.model_validate(value).dimension == "weather"
    assert not refuses(ScoreSet, {"schema": "agent-workflow/score-set/v1", "by": "newer writer"})


def test_an_absent_field_reads_as_none() -> None:
    """Optional fields need no test for presence, and are not written back."""
    minimal = {"schema": "agent-workflow/score-set/v1", "verdict": "pass"}

    record = ScoreSet.model_validate(minimal)

    assert record.scores is None
    assert minimal == record.to_document()
