"""Runs that other supervisors recorded: the ended ones are not touched, the live ones watched, none is called lost."""

import hashlib
import json
import os
import tarfile
from pathlib import Path

import pytest
from supervisor_lab import command

from agent_workflow.index_store import sync

pytestmark = pytest.mark.corpus
_ARCHIVE = "agent-workflow-state.tar.xz"


@pytest.fixture
def genuine(tmp_path: Path) -> Path:
    """A copy of the genuine state root."""
    folder = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not folder or not (Path(folder) / _ARCHIVE).is_file():
        pytest.skip("AGENT_WORKFLOW_CORPUS names no folder with the genuine evidence")
    with tarfile.open(Path(folder) / _ARCHIVE) as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet; the corpus holds links and modes on purpose.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(tmp_path)
    root = tmp_path / "state"
    for path in (root, root / "runs"):
        path.chmod(0o700)
    return root


def digests(root: Path) -> dict[str, str]:
    """Hash every regular file of the runs."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def test_genuine_runs_are_watched_and_not_touched(genuine: Path) -> None:
    """Only health samples of live runs come, and no incident: of none of them a process is known to be gone."""
    errors = {(item.session_id, item.error) for item in sync(genuine).errors}
    before = digests(genuine / "runs")
    looks = [command(genuine, "supervisor", "once", "--no-sync-index", "--json") for _ in range(2)]
    after = digests(genuine / "runs")

    report = json.loads(looks[1].stdout)
    live = {health["session_id"] for health in report["health"]}
    changed = {path for path in after if after[path] != before.get(path)}
    assert {"child-one", "run-one", "wake-child"} <= live
    assert {f"{name}/run-health-samples.jsonl" for name in live} == changed
    assert set(before) <= set(after)
    assert ([], [], []) == (report["incidents"], report["permissions"], report["remediations"])
    assert {"corrupt", "unsafe", "unrelated-integrity-incident"} == {fault["session_id"] for fault in report["errors"]}
    assert errors == {(item.session_id, item.error) for item in sync(genuine).errors}
