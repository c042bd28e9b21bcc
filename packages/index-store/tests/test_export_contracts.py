"""What an export and a fleet say and write is what their registered contracts say."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")
pytest.importorskip("duckdb", reason="the fleet's engine is an extra")

import json

from sample_state import StateRoot

from agent_workflow.evidence_schemas import find_contract
from agent_workflow.index_store import KINDS, rebuild
from agent_workflow.index_store.export import export
from agent_workflow.index_store.fleet import query_fleet


def assert_of_its_contract(content: str | bytes, name: str) -> None:
    """See that a document is taken by the model of the contract that it names."""
    contract = find_contract(json.loads(content)["schema"])

    assert contract.id == f"agent-workflow/{name}/v1"
    assert contract.model is not None
    contract.model.model_validate_json(content)


@pytest.fixture(scope="module")
def dataset(host: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a dataset of a host with everything, and of one with nothing but an odd run."""
    place = tmp_path_factory.mktemp("fleet")
    export(host, str(place), host="full", retain_days=400, now=datetime(2027, 3, 20, tzinfo=UTC))
    odd = StateRoot(tmp_path_factory.mktemp("odd") / "state")
    odd.run("odd", created_at="the other day")
    rebuild(odd.path)
    export(odd.path, str(place), host="odd")
    return place


def test_the_report_of_an_export(host: Path, tmp_path: Path) -> None:
    """With a retention rule, and without."""
    for days in (None, 36_000, 1):
        report = export(host, str(tmp_path), host="h", retain_days=days)

        assert_of_its_contract(json.dumps(report.to_document()), "export-report")


@pytest.mark.parametrize("host_name", ["full", "odd"])
def test_the_manifest_and_the_note(host_name: str, dataset: Path) -> None:
    """As they lie in the dataset."""
    folder = dataset / "manifests" / f"host={host_name}"

    assert_of_its_contract((folder / "manifest.json").read_bytes(), "export-manifest")
    assert_of_its_contract((folder / "exported.json").read_bytes(), "export-note")


def test_what_a_retention_rule_removed(host: Path, tmp_path: Path) -> None:
    """The manifest that records removed partitions is one too."""
    export(host, str(tmp_path), host="h")
    export(host, str(tmp_path), host="h", retain_days=1)
    manifest = (tmp_path / "manifests/host=h/manifest.json").read_bytes()

    assert json.loads(manifest)["retention"]["removed"]
    assert_of_its_contract(manifest, "export-manifest")


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_of_a_fleet(kind: str, dataset: Path) -> None:
    """To every kind of question."""
    document = query_fleet(str(dataset), kind).to_document()

    assert_of_its_contract(json.dumps(document), "fleet-query")
