"""The command on genuine evidence."""

import json
import os
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.corpus

_STEM = "agent-workflow-state"


@pytest.fixture
def corpus() -> Path:
    """The folder with the genuine evidence."""
    folder = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not folder or not (Path(folder) / f"{_STEM}.tar.xz").is_file():
        pytest.skip("AGENT_WORKFLOW_CORPUS names no folder with the genuine evidence")
    return Path(folder)


@pytest.fixture
def genuine(corpus: Path, tmp_path: Path) -> Path:
    """A copy of the genuine state root."""
    with tarfile.open(corpus / f"{_STEM}.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet; the corpus holds links and modes on purpose.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(tmp_path)
    root = tmp_path / "state"
    root.chmod(0o700)
    return root


def test_the_index_concludes_what_the_evidence_says(corpus: Path, genuine: Path, cli: "CommandLine") -> None:
    """For each of the genuine runs: state, storage, completeness, category of error, number of journal records."""
    expected = json.loads((corpus / f"{_STEM}.expected.json").read_text())

    rebuilt = cli.run("index", "rebuild", "--json", "--state-root", str(genuine))
    runs = _rows(cli, genuine, "runs")
    categories = {row["session_id"]: row["category"] for row in _rows(cli, genuine, "errors")}

    assert 0 == rebuilt.code
    assert expected == {run["session_id"]: _conclusion(run, categories) for run in runs}


def test_the_valid_repair_is_one_row(genuine: Path, cli: "CommandLine") -> None:
    """The one repair of the genuine evidence is there."""
    cli.run("index", "rebuild", "--state-root", str(genuine))

    assert 1 == len(_rows(cli, genuine, "repairs"))


def _rows(cli: "CommandLine", root: Path, kind: str) -> list[dict[str, Any]]:
    answer = cli.run("index", "query", kind, "--json", "--limit", "10000", "--state-root", str(root))
    rows: list[dict[str, Any]] = answer.document["rows"]
    return rows


def _conclusion(run: dict[str, Any], categories: dict[str, str]) -> dict[str, Any]:
    category = categories.get(run["session_id"])
    return {
        "error_category": category,
        "evidence_complete": run["evidence_complete"],
        "index_state": run["index_state"],
        "journal_records": run["journal_record_count"] if category is None else None,
        "storage_class": run["storage_class"],
    }
