"""Archiving: what is moved, what stays and why, and that a stopped move loses nothing."""

import json
import os
import stat
from pathlib import Path

import pytest
from sample_records import MOMENT
from sample_state import RunFiles, StateRoot, digest_of

from agent_workflow import index_store
from agent_workflow.index_store.retention import ArchiveReport, archive_runs


def sealed(state: StateRoot, session_id: str, *, archived: bool = False) -> RunFiles:
    """Make a sealed run."""
    run = state.run(session_id, archived=archived)
    run.seal()
    return run


def reasons(report: ArchiveReport) -> dict[str, str]:
    """Return why each run was kept."""
    return {run.session_id: run.reason for run in report.kept}


def test_a_sealed_run_is_moved_with_a_manifest_and_its_seal_still_holds(state: StateRoot) -> None:
    """The run lies in the archive as it was, plus the manifest; the index follows."""
    run = sealed(state, "done")
    before = {path.name: path.read_bytes() for path in run.path.iterdir() if path.is_file()}
    receipt = digest_of(run.path / "final-receipt.json")
    index_store.sync(state.path)

    report = archive_runs(state.path, reason="spring cleaning")

    target = state.path / "archive" / "done"
    manifest = json.loads((target / "archive-manifest.json").read_bytes())
    assert [moved.session_id for moved in report.moved] == ["done"]
    assert not run.path.exists()
    assert {path.name: path.read_bytes() for path in target.iterdir() if path.name in before} == before
    assert manifest | {"archived_at": ""} == {
        "schema": "agent-workflow/run-archive/v1",
        "session_id": "done",
        "source_run": str(state.path / "runs" / "done"),
        "archived_run": str(target),
        "archived_at": "",
        "reason": "spring cleaning",
        "final_receipt_sha256": receipt,
        "accepted_revision": None,
        "operation": "moved",
    }
    assert stat.S_IMODE((target / "archive-manifest.json").stat().st_mode) == 0o400
    assert "stale" == index_store.status(state.path).freshness.word
    index_store.sync(state.path)
    (row,) = index_store.query(state.path, "runs").rows
    assert ("archive", 1, "current") == (row["storage_class"], row["evidence_complete"], row["index_state"])


def test_the_accepted_revision_is_that_of_the_last_acceptance(state: StateRoot) -> None:
    """It comes from the lifecycle receipts, as in the archives of other writers."""
    run = sealed(state, "done")
    for number, action in enumerate(("reviewed", "accepted"), 1):
        receipt = run.document(
            f"receipts/{number:06d}-{action}.json",
            {
                "schema": "agent-workflow/lifecycle-receipt/v1",
                "session_id": "done",
                "action": action,
                "actor": "reviewer",
                "reason": "fine",
                "created_at": MOMENT,
                "final_receipt_sha256": digest_of(run.path / "final-receipt.json"),
                "revision": "85da93f2",
            },
        )
        receipt.chmod(0o400)

    archive_runs(state.path)

    manifest = json.loads((state.path / "archive" / "done" / "archive-manifest.json").read_bytes())
    assert "85da93f2" == manifest["accepted_revision"]


def test_what_runs_is_unsealed_or_damaged_stays(state: StateRoot) -> None:
    """Each stays with its own reason, and nothing of it changes."""
    state.run("going")
    state.run("ended", status="completed")
    broken = sealed(state, "broken")
    (broken.path / "output.log").write_text("something else\n")
    sealed(state, "twice")
    sealed(state, "twice", archived=True)

    report = archive_runs(state.path)

    assert () == report.moved
    assert {"going": "running", "ended": "unsealed", "broken": "error", "twice": "duplicate"} == reasons(report)
    assert {"broken", "ended", "going", "twice"} == {path.name for path in (state.path / "runs").iterdir()}


def test_a_run_is_old_by_its_seal(state: StateRoot) -> None:
    """`older_than` counts from `sealed_at`, not from the times of the files."""
    sealed(state, "done")
    at = 1_772_352_000.0  # MOMENT

    young = archive_runs(state.path, older_than_seconds=60.0, now=at + 59)
    old = archive_runs(state.path, older_than_seconds=60.0, now=at + 60)

    assert {"done": "recent"} == reasons(young)
    assert ["done"] == [run.session_id for run in old.moved]


def test_only_named_runs_are_moved_and_unknown_names_are_told(state: StateRoot) -> None:
    """A name that is no run, or is archived already, is reported."""
    sealed(state, "one")
    sealed(state, "two")
    sealed(state, "old", archived=True)

    report = archive_runs(state.path, session_ids=("two", "none", "old"))

    assert ["two"] == [run.session_id for run in report.moved]
    assert {"none": "unknown", "old": "exists"} == reasons(report)


def test_a_dry_run_changes_nothing(state: StateRoot) -> None:
    """It tells the same runs."""
    run = sealed(state, "done")
    before = sorted(run.path.rglob("*"))

    report = archive_runs(state.path, dry_run=True)

    assert ["done"] == [moved.session_id for moved in report.moved]
    assert sorted(run.path.rglob("*")) == before


@pytest.mark.parametrize("impostor", ["file", "link", "directory"])
def test_what_stands_in_the_archive_is_never_overwritten(state: StateRoot, impostor: str, elsewhere: Path) -> None:
    """A file, a link or another run of the same name stays as it is, and so does the run."""
    run = sealed(state, "done")
    target = state.path / "archive" / "done"
    if impostor == "file":
        target.write_text("mine\n")
    elif impostor == "link":
        target.symlink_to(elsewhere)
    else:
        target.mkdir()
        (target / "mine").write_text("mine\n")

    report = archive_runs(state.path)

    assert () == report.moved
    assert (run.path / "final-receipt.json").is_file()
    assert target.is_symlink() if impostor == "link" else target.exists()
    assert not (elsewhere / "final-receipt.json").exists()


def test_a_manifest_of_another_move_is_not_overwritten(state: StateRoot) -> None:
    """It is evidence of somebody else."""
    run = sealed(state, "done")
    run.document("archive-manifest.json", _manifest(run, source_run="/elsewhere/runs/done"))

    report = archive_runs(state.path)

    assert {"done": "exists"} == reasons(report)
    assert "/elsewhere/runs/done" == run.read("archive-manifest.json")["source_run"]


def test_a_writer_at_work_keeps_its_run(state: StateRoot) -> None:
    """Writers of a run hold its directory."""
    import fcntl

    run = sealed(state, "done")
    held = os.open(run.path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        report = archive_runs(state.path)
    finally:
        os.close(held)

    assert {"done": "busy"} == reasons(report)


class Stopped(Exception):
    """The call was stopped at a step."""


@pytest.mark.parametrize("stop_at", ["manifest", "rename", "renamed"])
def test_a_stopped_move_leaves_the_run_whole_and_the_next_call_goes_on(state: StateRoot, stop_at: str) -> None:
    """The run is in one place, its seal holds, and a second call ends with one manifest."""
    sealed(state, "done")

    def step(name: str) -> None:
        if name == stop_at:
            raise Stopped

    with pytest.raises(Stopped):
        archive_runs(state.path, step=step)

    index_store.sync(state.path)
    (row,) = index_store.query(state.path, "runs").rows
    assert (1, "current") == (row["evidence_complete"], row["index_state"])
    archive_runs(state.path)
    assert [] == [path.name for path in (state.path / "runs").iterdir()]
    assert ["done"] == [path.name for path in (state.path / "archive").iterdir()]
    assert (state.path / "archive" / "done" / "archive-manifest.json").is_file()


def _manifest(run: RunFiles, **fields: object) -> dict[str, object]:
    return {
        "schema": "agent-workflow/run-archive/v1",
        "session_id": run.session_id,
        "source_run": str(run.path),
        "archived_run": str(run.path),
        "archived_at": MOMENT,
        "reason": "earlier",
        "final_receipt_sha256": digest_of(run.path / "final-receipt.json"),
        "accepted_revision": None,
        "operation": "moved",
    } | fields
