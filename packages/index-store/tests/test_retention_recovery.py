"""Finishing a prune that was stopped: what was announced is gone or whole, and the receipt tells the truth of it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from killed_prunes import PLANNED, make_state, prune
from sample_state import StateRoot
from test_retention_kills import files_of, listed, records, staged

from agent_workflow.index_store.retention import finish_interrupted, unfinished_receipts


class Stopped(Exception):
    """Stands for the kill."""


def stop_at(state_root: Path, step: str) -> Path:
    """Stop a prune at a step, and return its receipt."""

    def stop(name: str) -> None:
        if name == step:
            raise Stopped

    with pytest.raises(Stopped):
        prune(state_root, stop)
    (receipt,) = (state_root / "prune-receipts").iterdir()
    return receipt


def change_intents(receipt: Path, **fields: Any) -> None:
    """Let the receipt's intents say something else."""
    found = [json.loads(line) for line in receipt.read_bytes().splitlines()]
    changed = [record | fields if record["event"] == "intent" else record for record in found]
    receipt.write_text("".join(json.dumps(record) + "\n" for record in changed))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> StateRoot:
    """The state root that every prune began with."""
    return make_state(tmp_path_factory.mktemp("original") / "state")


@pytest.mark.parametrize("step", ["staged", "unlink output.log"])
def test_after_a_restart_the_device_may_have_another_number(tmp_path: Path, original: StateRoot, step: str) -> None:
    """The staged run is found all the same; to call it deleted and leave it there for good would be a lie."""
    state = make_state(tmp_path / "state")
    receipt = stop_at(state.path, step)
    change_intents(receipt, device=4711)

    (outcome,) = finish_interrupted(state.path)

    assert ("deleted", len(files_of(original.path / outcome.path))) == (outcome.outcome, outcome.files)
    assert [] == list(staged(state.path))


def test_a_run_that_was_not_staged_is_kept_after_a_restart(tmp_path: Path, original: StateRoot) -> None:
    """It is whole, and the receipt says so."""
    state = make_state(tmp_path / "state")
    change_intents(stop_at(state.path, "stage"), device=4711)

    (outcome,) = finish_interrupted(state.path)

    assert "kept" == outcome.outcome
    assert files_of(original.path / outcome.path) == files_of(state.path / outcome.path)


def test_another_directory_where_it_was_staged_is_left_and_told(tmp_path: Path) -> None:
    """Nobody can say what became of the run, so the receipt stays open until somebody looks."""
    state = make_state(tmp_path / "state")
    receipt = stop_at(state.path, "staged")
    (place,) = staged(state.path)
    place.rename(tmp_path / "moved")
    place.mkdir()
    (place / "mine").write_text("mine\n")

    (outcome,) = finish_interrupted(state.path)

    assert ("left", True) == (outcome.outcome, "not the directory that was announced" in outcome.reason)
    assert "mine\n" == (place / "mine").read_text()
    assert (receipt.name,) == unfinished_receipts(state.path)


def test_a_record_that_was_cut_off_counts_for_nothing(tmp_path: Path, original: StateRoot) -> None:
    """Killed within a write: the torn record is taken back, and what it announced had not begun."""
    state = make_state(tmp_path / "state")

    stop_at(state.path, "stage")
    (receipt,) = (state.path / "prune-receipts").iterdir()
    receipt.write_bytes(receipt.read_bytes()[:-20])

    assert () == finish_interrupted(state.path)
    assert [] == list(staged(state.path))
    assert files_of(state.path / PLANNED[0]) == files_of(original.path / PLANNED[0])
    assert "end" == records(state.path)[-1]["event"]


def test_a_recovery_that_is_stopped_is_taken_up_by_the_next(tmp_path: Path, original: StateRoot) -> None:
    """However often it is stopped, one step further each time, the run is gone in the end and its receipt complete."""
    state = make_state(tmp_path / "state")

    def stop_behind(limit: int) -> Callable[[str], None]:
        passed = 0

        def step(_name: str) -> None:
            nonlocal passed
            passed += 1
            if passed > limit:
                raise Stopped

        return step

    stop_at(state.path, "staged")
    stops = 0
    while unfinished_receipts(state.path):
        try:
            finish_interrupted(state.path, step=stop_behind(1))
        except Stopped:
            stops += 1

    assert stops > 10
    told = records(state.path)
    (outcome,) = (record for record in told if record["event"] == "outcome")
    gone = outcome["path"]
    assert ("deleted", True) == (outcome["outcome"], outcome["resumed"])
    assert not (state.path / gone).exists()
    assert listed(told, gone) == files_of(original.path / gone)
