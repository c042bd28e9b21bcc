"""Full verification judges runs in error again: an error is a claim about files as well."""

from pathlib import Path

import pytest
from sample_state import StateRoot
from traced_runs import write_traced_run

from agent_workflow import index_store


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give a state root with a good run and one in error."""
    state = StateRoot(tmp_path / "state")
    state.run("good")
    state.run("bad").document("metrics.json", {"schema": "agent-workflow/execution-metrics/v1"})
    index_store.sync(state.path)
    return state


def mismatches(state: StateRoot) -> list[tuple[str, str, str]]:
    """Return what a full verification finds."""
    found = index_store.verify(state.path, full=True).source_mismatches
    return [(mismatch.session_id, mismatch.path, mismatch.verdict) for mismatch in found]


def test_an_error_that_still_holds_is_no_mismatch(state: StateRoot) -> None:
    """The index says what the files say."""
    assert [] == mismatches(state)


def test_a_mended_run_is_a_mismatch_until_it_is_synced(state: StateRoot) -> None:
    """The index calls bad what is good."""
    (state.path / "runs" / "bad" / "metrics.json").unlink()

    assert [("bad", ".", "mismatch")] == mismatches(state)
    index_store.sync(state.path)
    assert [] == mismatches(state)


def test_another_error_is_a_mismatch(state: StateRoot) -> None:
    """And named by its file."""
    path = state.path / "runs" / "bad" / "metrics.json"
    path.write_text("{")

    assert [("bad", "metrics.json", "mismatch")] == mismatches(state)


def test_a_run_in_error_that_is_gone_is_missing(state: StateRoot) -> None:
    """Like any other."""
    state.remove("bad")

    assert [("bad", ".", "missing")] == mismatches(state)


def test_a_sealed_run_in_error_is_read_to_its_last_artifact(state: StateRoot) -> None:
    """One bit flipped and flipped back: the error is none any more, though no source is in the index."""
    run = write_traced_run(state, "sealed")
    path = run.path / "run-provenance.json"
    good = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(good.replace(b"pi", b"po"))
    index_store.sync(state.path)
    assert [] == mismatches(state)

    path.write_bytes(good)

    assert [("sealed", ".", "mismatch")] == mismatches(state)


def test_verification_of_errors_leaves_the_index_as_it_was(state: StateRoot) -> None:
    """It judges beside it."""
    before = {path.name: path.read_bytes() for path in state.index.iterdir() if path.suffix == ".sqlite3"}
    (state.path / "runs" / "bad" / "metrics.json").unlink()

    index_store.verify(state.path, full=True)

    assert before == {path.name: path.read_bytes() for path in state.index.iterdir() if path.suffix == ".sqlite3"}
