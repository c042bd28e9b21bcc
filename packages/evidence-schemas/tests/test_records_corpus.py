"""Every genuine record that an index must accept validates; needs the corpus, which is no part of the repository."""

import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pydantic
import pytest

from agent_workflow.evidence_schemas import ContractStatus, describe_faults, find_contract

pytestmark = [
    pytest.mark.corpus,
    pytest.mark.skipif("AGENT_WORKFLOW_CORPUS" not in os.environ, reason="AGENT_WORKFLOW_CORPUS is not set"),
]

# Genuine runs whose records break their contracts, and the file that does.
BROKEN = {
    "archive/legacy-archive-accepted/execution-metrics.json",
    "runs/ctime-change/status.json",
    "runs/legacy-active-accepted/execution-metrics.json",
    "runs/metrics-legacy/execution-metrics.json",
    "runs/run-1/status.json",
    "runs/stale-query/status.json",
}
RETIRED = {
    "archive/legacy-installed/execution-metrics.json",
    "archive/legacy-run/execution-metrics.json",
    "runs/host-shaped/command-collection.json",
    "runs/legacy-run/execution-metrics.json",
}


@pytest.fixture(scope="session")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The genuine state root, unpacked."""
    folder = tmp_path_factory.mktemp("corpus")
    with tarfile.open(Path(os.environ["AGENT_WORKFLOW_CORPUS"]) / "agent-workflow-state.tar.xz") as archive:
        # The corpus holds links that lead out of the folder, on purpose; this test opens none of them.
        archive.extractall(folder, filter="fully_trusted")
    return folder / "state"


def records(state: Path) -> Iterator[tuple[str, dict[str, object], bytes]]:
    """Every record with a schema: its place, its object, its bytes."""
    for path in sorted(state.rglob("*.json*")):
        if not path.is_symlink() and path.is_file():
            lines = path.read_bytes().split(b"\n") if path.suffix == ".jsonl" else [path.read_bytes()]
            for line in filter(None, lines):
                try:
                    value = json.loads(line)
                except json.JSONDecodeError:
                    continue  # broken on purpose
                if isinstance(value, dict) and isinstance(value.get("schema"), str):
                    yield path.relative_to(state).as_posix(), value, line


def faults(state: Path) -> dict[str, str]:
    """What is wrong with which file."""
    found = {}
    for place, value, line in records(state):
        validator = find_contract(str(value["schema"])).validator
        if validator is not None:
            try:
                assert validator.validate_json(line) == validator.validate_python(value)
            except pydantic.ValidationError as error:
                found[place] = describe_faults(error)
    return found


def test_only_broken_records_fail(state: Path) -> None:
    """Of some hundred genuine records, those that break their contract are refused, and no other."""
    found = faults(state)

    assert set(found) == BROKEN, found


def test_runs_that_must_be_indexed_validate(state: Path) -> None:
    """A run that the corpus calls current has no record of a known contract that fails."""
    expected_file = Path(os.environ["AGENT_WORKFLOW_CORPUS"]) / "agent-workflow-state.expected.json"
    expected = json.loads(expected_file.read_text("utf-8"))
    current = {run for run, facts in expected.items() if facts["index_state"] == "current"}

    found = {place: words for place, words in faults(state).items() if place.split("/")[1] in current}

    assert not found


def test_a_record_is_given_back_as_it_was(state: Path) -> None:
    """Nothing of a valid record is lost, changed or added by its model."""
    for place, value, line in records(state):
        model = find_contract(str(value["schema"])).model
        if model is not None and place not in BROKEN:
            assert value == model.model_validate_json(line).to_document(), place


def test_retired_records_are_told_apart(state: Path) -> None:
    """Records of retired contracts are where the corpus has them, and the agent-workflow contracts are all known."""
    status = {}
    for place, value, _ in records(state):
        contract = find_contract(str(value["schema"]))
        if contract.id.startswith("agent-workflow/"):
            status[place] = contract.status

    assert {place for place, found in status.items() if found is ContractStatus.RETIRED} == RETIRED
    assert ContractStatus.UNKNOWN not in status.values()
