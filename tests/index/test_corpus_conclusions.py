"""What the index must conclude about each genuine run."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_workflow import index_store

from .conftest import CopyOfCorpus
from .corpus_reading import Expected
from .evidence_files import EvidenceRoot
from .genuine_run import GenuineRun
from .index_reading import rows_of
from .test_corpus_tables import PROJECTIONS

pytestmark = pytest.mark.corpus


COMMAND = Path(sys.executable).with_name("agent-workflow")


# What must be concluded about each run.


def test_the_index_concludes_what_is_expected_about_every_run(root: EvidenceRoot, expected: Expected) -> None:
    """State, storage class, completeness and error category of all 59 runs, as `index query runs` shows them."""
    rows = index_store.query(root.path, "runs", limit=10_000).rows
    categories = {row["session_id"]: row["category"] for row in rows_of(root.database, "index_errors")}
    concluded = {
        str(row["session_id"]): (
            row["index_state"],
            row["storage_class"],
            row["evidence_complete"],
            categories.get(row["session_id"]),
        )
        for row in rows
    }

    assert len(rows) == 59
    assert {
        session_id: (run["index_state"], run["storage_class"], run["evidence_complete"], run["error_category"])
        for session_id, run in expected.items()
    } == concluded


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not installed")
def test_the_command_line_concludes_the_same(copy_of_corpus: CopyOfCorpus, expected: Expected) -> None:
    """`index rebuild --json`, then `index query runs --json --limit 10000`, as a user types them."""
    root = copy_of_corpus()
    report = _printed(root, "index", "rebuild", "--json")
    answer = _printed(root, "index", "query", "runs", "--json", "--limit", "10000")

    in_error = [run for run in expected.values() if run["index_state"] == "error"]
    retired = [run for run in in_error if run["error_category"] == "historical_artifact"]
    counts = (report["indexed_count"], report["error_count"], report["quarantined_count"])
    assert (59 - len(in_error), len(in_error) - len(retired), len(retired)) == counts
    assert {
        session_id: (run["index_state"], run["storage_class"], run["evidence_complete"])
        for session_id, run in expected.items()
    } == {
        row["session_id"]: (row["index_state"], row["storage_class"], row["evidence_complete"])
        for row in answer["rows"]
    }


def _printed(root: EvidenceRoot, *words: str) -> dict[str, Any]:
    done = subprocess.run([COMMAND, "--state-root", root.path, *words], capture_output=True, timeout=120, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_run_has_its_number_of_journal_records(root: EvidenceRoot, expected: Expected) -> None:
    """Each current run has one event a journal record; a run in error has none."""
    counted = Counter(str(row["session_id"]) for row in rows_of(root.database, "events"))

    assert {name: run["journal_records"] or 0 for name, run in expected.items()} == {
        name: counted[name] for name in expected
    }


def test_all_intact_sealed_runs_are_current_and_complete(root: EvidenceRoot) -> None:
    """30 of 30 sealed runs verify, and each names the digest of its own receipt."""
    sealed = rows_of(root.database, "runs", "evidence_complete = 1")

    assert len(sealed) == 30
    assert {run["index_state"] for run in sealed} == {"current"}
    for run in sealed:
        receipt = GenuineRun(root.path / str(run["source_dir"])).sha256("final-receipt.json")
        assert receipt == run["final_receipt_sha256"]


def test_no_other_run_claims_a_receipt(root: EvidenceRoot) -> None:
    """A run that is not sealed, or whose seal does not hold, names no digest of a receipt."""
    unsealed = rows_of(root.database, "runs", "evidence_complete = 0")

    assert len(unsealed) == 29
    assert {run["final_receipt_sha256"] for run in unsealed} == {None}


def test_every_run_in_error_has_one_error_that_says_why(root: EvidenceRoot, expected: Expected) -> None:
    """Each of the 14 runs in error has its latest error, below its own directory and at most 4,096 characters long."""
    errors = rows_of(root.database, "index_errors")
    runs = {run["session_id"]: run for run in rows_of(root.database, "runs")}

    assert sorted(name for name, run in expected.items() if run["index_state"] == "error") == sorted(
        str(error["session_id"]) for error in errors
    )
    for error in errors:
        run = runs[error["session_id"]]
        assert str(error["source_path"]).startswith(f"{run['source_dir']}/")
        assert 0 < len(str(error["detail"])) <= 4096
        assert run["index_error"]


def test_a_run_in_error_has_no_rows_but_its_own(root: EvidenceRoot, expected: Expected) -> None:
    """Bad evidence is an error and nothing more: no source, record, result or metric of it is projected."""
    bad = {name for name, run in expected.items() if run["index_state"] == "error"}
    tables = [table for table in PROJECTIONS if table not in ("workflows", "workflow_nodes", "workflow_edges")]

    projected = {str(row["session_id"]) for table in tables for row in rows_of(root.database, table)}

    assert bad & projected == set()
