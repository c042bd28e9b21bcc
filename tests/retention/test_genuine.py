"""Genuine evidence: each sealed run that verifies can be archived; what is pruned is accounted for file by file."""

import hashlib
import json
from pathlib import Path

import pytest

from agent_workflow import index_store
from agent_workflow.index_store.retention import PruneCriteria, archive_runs, plan_runs, prune_runs, prune_session

pytestmark = pytest.mark.corpus

ANY_AGE = PruneCriteria(older_than_seconds=0.0)


def sealed_runs(root: Path) -> set[str]:
    """Return the runs whose seal the index finds to hold."""
    rows = index_store.query(root, "runs", limit=1000).rows
    return {str(row["session_id"]) for row in rows if row["evidence_complete"]}


def test_every_verified_run_is_archived_and_verifies_there(genuine: Path) -> None:
    """The index says the same of each run before and after, but for where it lies."""
    index_store.sync(genuine)
    before = sealed_runs(genuine)
    errors = {error.session_id for error in index_store.sync(genuine).errors}

    archive_runs(genuine)

    assert errors == {error.session_id for error in index_store.sync(genuine).errors}
    rows = index_store.query(genuine, "runs", limit=1000).rows
    assert before == sealed_runs(genuine)
    assert {"archive"} == {row["storage_class"] for row in rows if row["session_id"] in before}


def test_what_is_pruned_is_accounted_for_and_nothing_else_changes(genuine: Path) -> None:
    """Exactly the verified runs that nothing refers to go; each of their files stands in the receipt."""
    index_store.sync(genuine)
    plan = plan_runs(genuine, ANY_AGE)
    wanted = {
        f"{run.path}/{path.relative_to(genuine / run.path)}": hashlib.sha256(path.read_bytes()).hexdigest()
        for run in plan.runs
        for path in (genuine / run.path).rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    held = {run.session_id for run in plan.kept if run.reason == "held"}
    verified = sealed_runs(genuine)

    with prune_session(genuine) as session:
        session.begin(plan.digest, ANY_AGE.to_document(), {"subjects": 0, "files": 0, "bytes": 0})
        prune_runs(session, plan)
        session.end()

    (receipt,) = (genuine / "prune-receipts").iterdir()
    told = {
        f"{record['path']}/{file['path']}": file["sha256"]
        for record in map(json.loads, receipt.read_bytes().splitlines())
        if record["event"] == "listing"
        for file in record["files"]
        if file["kind"] == "file"
    }
    assert verified - held == {run.session_id for run in plan.runs}
    assert wanted == told
    report = index_store.sync(genuine)
    assert {run.session_id for run in plan.runs} == set(report.pruned)
    assert held == sealed_runs(genuine)
