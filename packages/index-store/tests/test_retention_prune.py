"""Deleting what a plan lists: judged again just before, never more than was listed, and told in the receipt."""

import json
import os
import resource
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sample_state import RunFiles, StateRoot

from agent_workflow import index_store
from agent_workflow.evidence_schemas import PruneReceipt
from agent_workflow.index_store.errors import DamagedReceipt, NotWritable, UnsafePath
from agent_workflow.index_store.retention import (
    PruneBusy,
    PruneCriteria,
    PruneOutcome,
    RunPlan,
    plan_runs,
    prune_runs,
    prune_session,
    unfinished_receipts,
)

CRITERIA = PruneCriteria(older_than_seconds=0.0)


def sealed(state: StateRoot, session_id: str) -> RunFiles:
    """Make a sealed run."""
    run = state.run(session_id)
    run.seal()
    return run


def carry_out(
    state: StateRoot, plan: RunPlan, step: Callable[[str], None] = lambda _name: None
) -> dict[str, PruneOutcome]:
    """Delete what a plan lists; return what became of it by path."""
    with prune_session(state.path, step=step) as session:
        totals = {"subjects": len(plan.runs), "files": plan.file_count, "bytes": plan.size_bytes}
        session.begin(plan.digest, CRITERIA.to_document(), totals)
        outcomes = prune_runs(session, plan, step=step)
        session.end()
    return {outcome.path: outcome for outcome in outcomes}


def told(state: StateRoot) -> list[dict[str, Any]]:
    """Return the records of the one receipt."""
    (receipt,) = (state.path / "prune-receipts").iterdir()
    return [json.loads(line) for line in receipt.read_bytes().splitlines()]


def test_a_run_is_deleted_and_the_receipt_says_what_when_by_whom(state: StateRoot) -> None:
    """Every record is of the contract; the index follows at the next sync."""
    run = sealed(state, "done")
    index_store.sync(state.path)
    plan = plan_runs(state.path, CRITERIA)

    outcomes = carry_out(state, plan)

    records = told(state)
    for record in records:
        PruneReceipt.model_validate(record)
    assert not run.path.exists()
    assert ["plan", "listing", "intent", "outcome", "end"] == [record["event"] for record in records]
    assert {plan.digest} == {record["plan_sha256"] for record in records}
    assert os.getuid() == records[0]["actor"]["uid"]
    assert plan.runs[0].final_receipt_sha256 == records[2]["final_receipt_sha256"]
    assert (plan.file_count, plan.size_bytes) == (outcomes["runs/done"].files, outcomes["runs/done"].size_bytes)
    assert {"subjects": 1, "files": plan.file_count, "bytes": plan.size_bytes} == records[-1]["totals"]
    assert ("done",) == index_store.sync(state.path).pruned


def test_receipts_are_for_their_owner_alone(state: StateRoot) -> None:
    """The folder is 0700; a complete receipt is read-only."""
    sealed(state, "done")
    carry_out(state, plan_runs(state.path, CRITERIA))

    (receipt,) = (state.path / "prune-receipts").iterdir()

    assert 0o700 == stat.S_IMODE(receipt.parent.stat().st_mode)
    assert 0o400 == stat.S_IMODE(receipt.stat().st_mode)


def _touch(run: RunFiles) -> None:
    run.journal("events.jsonl", [])


def _break(run: RunFiles) -> None:
    (run.path / "output.log").write_text("something else\n")


def _replace(run: RunFiles) -> None:
    run.path.rename(run.path.with_name("aside"))
    RunFiles(run.path).path.mkdir()
    (run.path / "status.json").write_text("{}")


def _become_a_link(run: RunFiles) -> None:
    run.path.rename(run.path.parent.parent / "elsewhere")
    run.path.symlink_to(run.path.parent.parent / "elsewhere")


@pytest.mark.parametrize("change", [_touch, _break, _replace, _become_a_link])
def test_a_run_that_is_not_what_was_planned_is_kept(state: StateRoot, change: Callable[[RunFiles], None]) -> None:
    """A new file, a broken seal, another directory and a link in its place all keep it."""
    run = sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)
    change(run)
    before = sorted(path.name for path in run.path.iterdir())

    outcomes = carry_out(state, plan)

    assert "kept" == outcomes["runs/done"].outcome
    assert before == sorted(path.name for path in run.path.iterdir())
    assert "end" == told(state)[-1]["event"]


def test_a_file_that_comes_in_at_the_last_moment_brings_the_run_back(state: StateRoot) -> None:
    """A writer that is quicker than the rename loses nothing: the run is put back whole."""
    run = sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)

    def write(name: str) -> None:
        if name == "stage":
            (run.path / "late.txt").write_text("written while it was deleted\n")

    outcomes = carry_out(state, plan, write)

    assert "kept" == outcomes["runs/done"].outcome
    assert "written while it was deleted\n" == (run.path / "late.txt").read_text()
    assert (run.path / "final-receipt.json").is_file()


def test_a_file_that_comes_in_while_files_are_deleted_is_left(state: StateRoot) -> None:
    """It is no part of the plan: it stays, is told, and the receipt stays open until somebody takes it away."""
    sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)

    def write(name: str) -> None:
        if name == "unlink output.log":
            (place,) = (state.path / "runs").glob(".pruned-*")
            (place / "late.txt").write_text("late\n")

    outcomes = carry_out(state, plan, write)

    (place,) = (state.path / "runs").glob(".pruned-*")
    assert "left" == outcomes["runs/done"].outcome
    assert ("late.txt: it is not in the plan",) == outcomes["runs/done"].left
    assert ["late.txt"] == [path.name for path in place.iterdir()]
    assert 1 == len(unfinished_receipts(state.path))
    (place / "late.txt").unlink()
    with prune_session(state.path) as session:
        assert ["deleted"] == [outcome.outcome for outcome in session.recovered]
    assert () == unfinished_receipts(state.path)


def test_a_new_run_of_the_same_id_is_not_the_one_that_was_announced(state: StateRoot) -> None:
    """After a prune that was stopped, a run that took the name is left alone."""
    sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)

    class Stopped(Exception):
        """Stands for the kill."""

    def stop(name: str) -> None:
        if name == "unlink output.log":
            raise Stopped

    with pytest.raises(Stopped):
        carry_out(state, plan, stop)
    again = sealed(state, "done")

    with prune_session(state.path) as session:
        assert ["deleted"] == [outcome.outcome for outcome in session.recovered]
    assert (again.path / "final-receipt.json").is_file()
    assert [] == list((state.path / "runs").glob(".pruned-*"))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may change every directory")
def test_a_run_with_a_read_only_part_is_kept_whole(state: StateRoot) -> None:
    """It is found out before anything is staged: half of a run is worse than all of it."""
    run = state.run("done")
    (run.path / "cache").mkdir()
    (run.path / "cache" / "module").write_text("x\n")
    run.seal()
    (run.path / "cache").chmod(0o500)
    plan = plan_runs(state.path, CRITERIA)

    outcomes = carry_out(state, plan)
    (run.path / "cache").chmod(0o700)

    assert ("kept", "failed: ") == (outcomes["runs/done"].outcome, outcomes["runs/done"].reason[:8])
    assert (run.path / "cache" / "module").is_file()
    assert ["plan", "outcome", "end"] == [record["event"] for record in told(state)]


def test_what_stands_where_a_run_would_be_staged_keeps_it(state: StateRoot) -> None:
    """Nothing of either is touched, and the receipt is complete."""
    run = sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)
    place = state.path / "runs" / f".pruned-{plan.digest[:12]}-done"
    place.mkdir()
    (place / "mine").write_text("mine\n")

    outcomes = carry_out(state, plan)

    assert ("kept", "failed") == (outcomes["runs/done"].outcome, outcomes["runs/done"].reason.split(":")[0])
    assert "mine\n" == (place / "mine").read_text()
    assert (run.path / "final-receipt.json").is_file()
    assert () == unfinished_receipts(state.path)


def test_two_prunes_do_not_work_at_once(state: StateRoot) -> None:
    """The second is told to wait."""
    with prune_session(state.path), pytest.raises(PruneBusy), prune_session(state.path):
        pass


def test_a_damaged_receipt_stops_every_prune(state: StateRoot) -> None:
    """Nobody can say what it announced, so a person has to look."""
    folder = state.path / "prune-receipts"
    folder.mkdir(mode=0o700)
    (folder / "20260101-damaged.jsonl").write_text('{"schema": "agent-wor\n')

    with pytest.raises(DamagedReceipt, match=r"20260101-damaged\.jsonl:1"), prune_session(state.path):
        pass


def test_receipts_that_are_a_link_are_refused(state: StateRoot, elsewhere: Path) -> None:
    """Nothing is written through it."""
    (state.path / "prune-receipts").symlink_to(elsewhere)

    with pytest.raises(UnsafePath), prune_session(state.path):
        pass
    assert {"below", "file"} == {path.name for path in elsewhere.iterdir()}


@pytest.mark.parametrize(
    ("path", "staged"),
    [
        ("runs/../../elsewhere/below", "runs/.pruned-x"),
        ("index/database", "index/.pruned-x"),
        ("runs/done", "runs/../elsewhere"),
        ("runs/done", "runs/done"),
        ("runs/done", "archive/.pruned-x"),
    ],
)
def test_a_receipt_cannot_lead_out_of_the_runs(state: StateRoot, elsewhere: Path, path: str, staged: str) -> None:
    """An intent that names another place is not carried out."""
    run = sealed(state, "done")
    status = run.path.stat()
    folder = state.path / "prune-receipts"
    folder.mkdir(mode=0o700)
    common = {
        "schema": "agent-workflow/prune-receipt/v1",
        "recorded_at": "2026-01-01T00:00:00+00:00",
        "plan_sha256": "4c" * 32,
        "subject": "run",
        "path": path,
    }
    place = {"staged_path": staged, "device": status.st_dev, "inode": status.st_ino, "file_count": 0}
    (folder / "forged.jsonl").write_text(json.dumps({**common, "event": "intent", **place}) + "\n")

    with prune_session(state.path) as session:
        (outcome,) = session.recovered

    assert "left" == outcome.outcome
    assert (run.path / "final-receipt.json").is_file()
    assert {"below", "file"} == {path.name for path in elsewhere.iterdir()}


@contextmanager
def no_file_longer_than(size: int) -> Iterator[None]:
    """Let every write end at a size, as a full disk does: in the middle of a record."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_deletes_nothing_that_is_not_on_record(state: StateRoot) -> None:
    """Wherever the receipt ends, the run is whole or announced, and the next prune ends it."""
    sealed(state, "done")
    plan = plan_runs(state.path, CRITERIA)
    whole = {path.name for path in (state.path / "runs" / "done").iterdir()}
    refused = 0

    for size in range(0, 100_000, 250):
        try:
            with no_file_longer_than(size):
                carry_out(state, plan)
        except NotWritable:
            refused += 1
        else:
            break
        announced = any((state.path / "runs").glob(".pruned-*")) or not (state.path / "runs" / "done").exists()
        if announced:
            with prune_session(state.path) as session:
                assert ["deleted"] == [outcome.outcome for outcome in session.recovered]
            break
        assert whole == {path.name for path in (state.path / "runs" / "done").iterdir()}

    assert refused > 3
    assert [] == list((state.path / "runs").iterdir())
    assert () == unfinished_receipts(state.path)
