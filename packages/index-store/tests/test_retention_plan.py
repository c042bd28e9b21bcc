"""The plan of a prune: who may go, who never does, and what the digest stands for."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_records import MOMENT
from sample_state import RunFiles, StateRoot, digest_of, write_repair

from agent_workflow.index_store import InvalidQuestion
from agent_workflow.index_store.retention import PruneCriteria, RunPlan, parse_age, parse_size, plan_runs, select
from agent_workflow.index_store.retention.judging import RunFacts

ANY_AGE = PruneCriteria(older_than_seconds=0.0)
DAY = 86_400.0


def sealed(state: StateRoot, session_id: str, *, archived: bool = False) -> RunFiles:
    """Make a sealed run."""
    run = state.run(session_id, archived=archived)
    run.seal()
    return run


def review(run: RunFiles) -> None:
    """Add a lifecycle receipt."""
    receipt = run.document(
        "receipts/000001-reviewed.json",
        {
            "schema": "agent-workflow/lifecycle-receipt/v1",
            "session_id": run.session_id,
            "action": "reviewed",
            "actor": "reviewer",
            "reason": "fine",
            "created_at": MOMENT,
            "final_receipt_sha256": digest_of(run.path / "final-receipt.json"),
        },
    )
    receipt.chmod(0o400)


def age(run: RunFiles, days: float) -> None:
    """Let the files of a run be so old."""
    then = time.time() - days * DAY
    for path in run.path.rglob("*"):
        os.utime(path, (then, then))


def chosen(plan: RunPlan) -> list[str]:
    """Return the ids that would be deleted."""
    return sorted(run.session_id for run in plan.runs)


def reasons(plan: RunPlan) -> dict[str, str]:
    """Return why each run stays."""
    return {run.session_id: run.reason for run in plan.kept}


def test_sealed_runs_go_from_both_places_and_nothing_is_changed(state: StateRoot) -> None:
    """The plan counts their files and bytes."""
    run = sealed(state, "new")
    sealed(state, "old", archived=True)
    files = [path for path in run.path.rglob("*") if path.is_file()]

    plan = plan_runs(state.path, ANY_AGE)

    by_id = {run.session_id: run for run in plan.runs}
    assert {"new", "old"} == set(by_id)
    assert (len(files), sum(path.stat().st_size for path in files)) == (
        by_id["new"].file_count,
        by_id["new"].size_bytes,
    )
    assert ["archive", "runs"] == sorted(path.name for path in state.path.iterdir())


def test_what_must_never_go_stays(state: StateRoot) -> None:
    """Running, freshly ended without a seal, in error, and two of one id: each has its reason."""
    state.run("going")
    state.run("ended", status="failed")
    broken = sealed(state, "broken")
    (broken.path / "output.log").write_text("something else\n")
    torn = sealed(state, "torn")
    (torn.path / "note.json").write_text('{"torn')
    sealed(state, "twice")
    sealed(state, "twice", archived=True)

    plan = plan_runs(state.path, ANY_AGE)

    assert [] == chosen(plan)
    expected = {"going": "running", "ended": "unsealed", "broken": "error", "torn": "error", "twice": "duplicate"}
    assert expected == reasons(plan)


def test_an_ended_run_without_a_seal_goes_when_nothing_touched_it_for_a_week(state: StateRoot) -> None:
    """Six days are not enough, whatever age was asked for."""
    age(state.run("six", status="failed"), 6)
    age(state.run("eight", status="failed"), 8)

    plan = plan_runs(state.path, ANY_AGE)

    assert ["eight"] == chosen(plan)
    assert {"six": "unsealed"} == reasons(plan)


def test_a_required_review_keeps_what_nobody_reviewed(state: StateRoot) -> None:
    """Without the requirement both go."""
    sealed(state, "unseen")
    review(sealed(state, "seen"))

    plan = plan_runs(state.path, PruneCriteria(older_than_seconds=0.0, require_review=True))

    assert ["seen"] == chosen(plan)
    assert {"unseen": "unreviewed"} == reasons(plan)
    assert ["seen", "unseen"] == chosen(plan_runs(state.path, ANY_AGE))


@pytest.mark.parametrize(
    ("retention_class", "cleanup", "is_held"),
    [
        ("legal-hold", "not_started", True),
        ("release", "not_started", True),
        ("standard", "retained", True),
        ("standard", "blocked", True),
        ("standard", "not_started", False),
        ("transient", "cleaned", False),
    ],
)
def test_a_hold_is_obeyed(state: StateRoot, retention_class: str, cleanup: str, is_held: bool) -> None:
    """`archive-plan.json` may say that a run is to be kept."""
    run = sealed(state, "done", archived=True)
    run.document(
        "archive-plan.json",
        {
            "schema": "agent-workflow/lifecycle-archive/v1",
            "run_id": "done",
            "retention_class": retention_class,
            "export_contents": [],
            "transfer_checksum": {"required_in_repository": False, "instruction": "none"},
            "archive_status": "archived",
            "cleanup_status": cleanup,
        },
    )

    plan = plan_runs(state.path, ANY_AGE)

    assert ({"done": "held"} if is_held else {}) == reasons(plan)


def test_a_run_that_a_repair_refers_to_stays(state: StateRoot) -> None:
    """Without its run a repair would not verify any more."""
    write_repair(state, sealed(state, "mended"), "repair-1")

    assert {"mended": "held"} == reasons(plan_runs(state.path, ANY_AGE))


def test_a_link_in_place_of_a_run_or_a_storage_is_never_followed(state: StateRoot, elsewhere: Path) -> None:
    """A run that is a link is an error, and what it leads to is not looked at."""
    run = sealed(state, "done")
    run.path.rename(elsewhere / "done")
    run.path.symlink_to(elsewhere / "done")

    plan = plan_runs(state.path, ANY_AGE)

    assert {"done": "error"} == reasons(plan)


def test_by_size_the_oldest_go_until_the_rest_fits(state: StateRoot) -> None:
    """What may not go counts, too."""
    first, second = sealed(state, "first"), sealed(state, "second")
    _reseal(first, "2026-02-01T00:00:00+00:00")
    _reseal(second, "2026-02-02T00:00:00+00:00")
    everything = plan_runs(state.path, PruneCriteria(keep_bytes=0))

    plan = plan_runs(state.path, PruneCriteria(keep_bytes=everything.total_bytes - 1))

    assert ["first"] == chosen(plan)
    assert {"second": "recent"} == reasons(plan)
    assert [] == chosen(plan_runs(state.path, PruneCriteria(keep_bytes=everything.total_bytes)))


def test_the_digest_stands_for_the_files(state: StateRoot) -> None:
    """The same evidence gives the same digest at another moment; a changed file or another choice gives another."""
    run = sealed(state, "done")
    sealed(state, "other")
    first = plan_runs(state.path, ANY_AGE).digest

    again = plan_runs(state.path, ANY_AGE, now=time.time() + 5).digest
    run.journal("events.jsonl", [])
    changed = plan_runs(state.path, ANY_AGE).digest
    stricter = plan_runs(state.path, PruneCriteria(older_than_seconds=1.0)).digest

    assert first == again
    assert 3 == len({first, changed, stricter})


def test_a_missing_state_root_gives_an_empty_plan(tmp_path: Path) -> None:
    """Nothing is made."""
    plan = plan_runs(tmp_path / "none", ANY_AGE)

    assert ((), (), 0) == (plan.runs, plan.kept, plan.total_bytes)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(("age_given", "size"), [(None, None), (1.0, 1)])
def test_criteria_are_age_or_size(age_given: float | None, size: int | None) -> None:
    """Neither and both are refused."""
    with pytest.raises(InvalidQuestion):
        PruneCriteria(older_than_seconds=age_given, keep_bytes=size)


@pytest.mark.parametrize(("text", "seconds"), [("30d", 30 * DAY), ("90m", 5400.0), ("2w", 14 * DAY), ("0s", 0.0)])
def test_an_age_is_read(text: str, seconds: float) -> None:
    """A number with its unit."""
    assert seconds == parse_age(text, "older-than")


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("500M", 500 * 2**20), ("20G", 20 * 2**30), ("1KiB", 1024)])
def test_a_size_is_read(text: str, size: int) -> None:
    """Bytes, or a number with its unit."""
    assert size == parse_size(text, "keep-bytes")


@pytest.mark.parametrize("text", ["", "30", "-1d", "d", "1y", "٣d", "30d\n"])
def test_what_is_no_age_is_refused(text: str) -> None:
    """It is never taken for another age."""
    with pytest.raises(InvalidQuestion):
        parse_age(text, "older-than")


def _facts(number: int, ended_at: float, size: int) -> RunFacts:
    return RunFacts(str(number), "archive", ended_at, None, (), None, None, "", 1, size, 1, 1)


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.integers(0, 10**12))),
    st.integers(0, 10**13),
    st.integers(0, 10**12),
)
def test_by_size_no_more_goes_than_must(runs: list[tuple[float, int]], keep: int, unmovable: int) -> None:
    """Without the last one chosen too much would be left; nothing chosen is newer than what stays."""
    eligible = [_facts(number, ended, size) for number, (ended, size) in enumerate(runs)]
    total = sum(run.size_bytes for run in eligible) + unmovable

    gone = select(eligible, PruneCriteria(keep_bytes=keep), total_bytes=total, now=0.0)

    left = total - sum(run.size_bytes for run in gone)
    stays = [run for run in eligible if run not in gone]
    assert not gone or left + gone[-1].size_bytes > keep
    assert left <= keep or not stays
    assert not gone or not stays or max(run.ended_at for run in gone) <= min(run.ended_at for run in stays)


def _reseal(run: RunFiles, sealed_at: str) -> None:
    receipt = run.read("final-receipt.json") | {"sealed_at": sealed_at}
    run.document("final-receipt.json", receipt).chmod(0o444)
