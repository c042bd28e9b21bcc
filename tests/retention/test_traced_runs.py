"""A recorded workflow from its end to its deletion: published, archived, indexed, pruned with its trace."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tracer_lab import Project

from agent_workflow import index_store
from agent_workflow.index_store.retention import archive_runs
from agent_workflow.tracer import rebuild

WORK = """
with phase("work") as ph:
    ph.log(note="done")
sys.exit(run.finish())
"""


def command(project: Project, *arguments: str) -> Any:
    """Run the command in the repository and return its document."""
    program = str(Path(sys.executable).with_name("agent-workflow"))
    done = subprocess.run(
        [program, *arguments, "--json"], cwd=project.root, env=project.environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_an_archived_traced_run_is_evidence_as_before(project: Project) -> None:
    """The manifest is what may be added after the seal; verification of every file finds nothing."""
    assert 0 == project.run(WORK, "run1").code

    report = archive_runs(project.state_root)

    index_store.sync(project.state_root)
    (row,) = index_store.query(project.state_root, "runs").rows
    assert ["run1"] == [run.session_id for run in report.moved]
    assert ("archive", 1, "current") == (row["storage_class"], row["evidence_complete"], row["index_state"])
    assert index_store.verify(project.state_root, full=True).valid


def test_a_run_and_its_trace_go_together_and_the_repository_works_on(project: Project) -> None:
    """One plan, one receipt; the other session is as it was, a rebuild agrees, and the id can be used again."""
    for adw_id in ("run1", "run2"):
        assert 0 == project.run(WORK, adw_id).code
    kept = project.rows("events", "run2")
    options = ("--keep-bytes", "0", "--traces")
    plan = command(project, "prune", *options)

    report = command(project, "prune", *options, "--plan", plan["plan_sha256"])

    assert 4 == len(report["outcomes"])
    assert {"deleted"} == {outcome["outcome"] for outcome in report["outcomes"]}
    assert [] == list((project.state_root / "runs").iterdir())
    assert [] == list((project.data_dir / "sessions").iterdir())
    assert [] == project.rows("events")
    assert kept
    assert 0 == project.run(WORK, "run1").code
    assert ["run1"] == [row["adw_id"] for row in project.rows("sessions")]
    assert ["run1"] == rebuild(project.db, project.data_dir).sessions
    index_store.sync(project.state_root)
    (row,) = index_store.query(project.state_root, "runs").rows
    assert ("run1", 1) == (row["session_id"], row["evidence_complete"])


def test_a_workflow_at_work_keeps_its_run_and_its_session(project: Project) -> None:
    """Neither is listed while it runs; both are once it has ended."""
    process = project.start(
        """
with phase("work") as ph:
    Path("started").touch()
    while not Path("go").exists():
        time.sleep(0.02)
sys.exit(run.finish())
""",
        "run1",
    )
    project.wait_for((project.root / "started").exists)

    during = command(project, "prune", "--keep-bytes", "0", "--traces")
    (project.root / "go").touch()
    assert 0 == process.wait(timeout=120)
    process.communicate()
    after = command(project, "prune", "--keep-bytes", "0", "--traces")

    assert ([], []) == (during["runs"], during["traces"][0]["sessions"])
    assert ["runs/run1"] == [run["path"] for run in after["runs"]]
    assert ["run1"] == [session["adw_id"] for session in after["traces"][0]["sessions"]]
