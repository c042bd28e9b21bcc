"""What is shown for a run: the stored word, weighed against its processes and its silence."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_workflow.tracer._identity import ProcessState, RecordedProcess
from agent_workflow.tracer._liveness import LIVE_WORDS, ProcessRow, look, newest_output, weigh

NOW = datetime(2026, 7, 1, 12, 0, 0, tzinfo=UTC)


def process(state: ProcessState, kind: str = "adw", ended: str | None = None) -> ProcessRow:
    """Make a judged process."""
    return ProcessRow(RecordedProcess(1, "a", kind, "", 42, "x", None, ended, None), state)


def shown(silence: float | None, *processes: ProcessRow, stored: str | None = "running") -> str:
    """Weigh a run that has been silent for so many seconds."""
    sign = None if silence is None else NOW - timedelta(seconds=silence)
    return weigh(stored, None, sign, processes, NOW).word


@pytest.mark.parametrize(
    ("silence", "word"), [(0, "working"), (59, "working"), (61, "waiting"), (601, "stalled"), (None, "stalled")]
)
def test_a_living_run_is_judged_by_its_silence(silence: float | None, word: str) -> None:
    """Alive and quiet is not the same as alive and at work."""
    assert word == shown(silence, process("alive"))


@pytest.mark.parametrize("state", ["gone", "recycled", "zombie", "invalid"])
def test_a_run_whose_process_is_gone_is_lost_at_once(state: ProcessState) -> None:
    """However new its last event is."""
    assert "lost" == shown(1, process(state))


def test_an_agent_alone_does_not_keep_a_run_alive() -> None:
    """An orphan may live on; the workflow is gone."""
    assert "lost" == shown(1, process("gone"), process("alive", kind="agent"))


@pytest.mark.parametrize(("silence", "word"), [(30, "working"), (300, "waiting"), (700, "lost")])
def test_without_any_process_only_silence_tells(silence: float, word: str) -> None:
    """Old databases record none; a new run has none for a moment."""
    assert word == shown(silence)


@pytest.mark.parametrize(("silence", "word"), [(30, "working"), (90, "lost")])
def test_closed_processes_of_a_run_that_goes_on_give_a_minute(silence: float, word: str) -> None:
    """A caught error closes them in older tracers, and the workflow goes on."""
    assert word == shown(silence, process("gone", ended="2026-07-01T11:00:00+00:00"))


@given(
    stored=st.text().filter(lambda word: word != "running"),
    silence=st.floats(0, 1e9),
    states=st.lists(st.sampled_from(get_args(ProcessState))),
)
def test_every_other_stored_word_is_passed_on(stored: str, silence: float, states: list[ProcessState]) -> None:
    """Words of other writers are theirs."""
    assert (stored or "unknown") == shown(silence, *map(process, states), stored=stored)


@given(silence=st.none() | st.floats(0, 1e9), states=st.lists(st.sampled_from(get_args(ProcessState))))
def test_a_running_session_is_always_one_of_four(silence: float | None, states: list[ProcessState]) -> None:
    """The page knows what to draw."""
    assert shown(silence, *map(process, states)) in LIVE_WORDS


def test_an_agent_that_prints_keeps_an_old_session_alive(tmp_path: Path) -> None:
    """Where no process is recorded its output tells; where the process is gone, no output does."""
    (tmp_path / "builder").mkdir()
    (tmp_path / "builder" / "raw_output.jsonl").write_text("x")
    long_ago = NOW - timedelta(days=1)

    assert "working" == look("running", None, long_ago, [], tmp_path).word
    assert "lost" == look("running", None, long_ago, [], tmp_path / "nowhere").word
    assert "lost" == look("running", None, long_ago, [process("gone")], tmp_path).word


def test_output_of_an_agent_is_a_sign(tmp_path: Path) -> None:
    """One long turn makes no event, but prints."""
    (tmp_path / "builder").mkdir()
    (tmp_path / "builder" / "raw_output.jsonl").write_text("x")

    assert newest_output(tmp_path) is not None
    assert newest_output(tmp_path / "builder") is None
    assert newest_output(tmp_path / "nowhere") is None
