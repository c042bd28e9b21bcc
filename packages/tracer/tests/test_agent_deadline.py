"""An agent's process and its time: it may print without end, or fall silent and stay."""

import itertools
import time
from pathlib import Path

import pytest

from agent_workflow.tracer import _linger
from agent_workflow.tracer._agent_process import AgentProcess
from agent_workflow.tracer._redaction import Redactor


def start(folder: Path, command: str) -> AgentProcess:
    """Start a shell in the place of an agent."""
    return AgentProcess(
        ["sh", "-c", command],
        {},
        cwd=folder,
        mark=f"test:{folder.name}",
        stdout_file=folder / "out",
        stderr_file=folder / "err",
        redactor=Redactor({}),
    )


def test_an_agent_that_prints_without_end_is_out_of_time(tmp_path: Path) -> None:
    """There is always a next line; the deadline is looked at before each."""
    given_up = time.monotonic() + 60
    process = start(tmp_path, "while echo again; do :; done")
    lines = itertools.takewhile(lambda _: time.monotonic() < given_up, process.lines(time.monotonic() + 0.5))

    try:
        with pytest.raises(TimeoutError):
            list(lines)
    finally:
        process.end()


def test_an_agent_that_closes_its_output_and_stays_is_out_of_time(tmp_path: Path) -> None:
    """Its stream has ended, it has not."""
    process = start(tmp_path, "echo done; exec sleep 300 >&- 2>&-")

    try:
        assert [b"done"] == [line for line, _ in process.lines(time.monotonic() + 60)]
        with pytest.raises(TimeoutError):
            process.wait(time.monotonic())
    finally:
        process.end()


def test_an_agent_that_leaves_something_talkative_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it has left holds the stream and never falls silent; nobody waits for that."""
    monkeypatch.setattr(_linger, "_MOST_SECONDS", 0.5)
    process = start(tmp_path, "while sleep 0.05; do echo again; done & echo done")

    try:
        assert b"done" in {line for line, _ in process.lines(time.monotonic() + 120)}
        assert 0 == process.wait()
        assert process.left_running
    finally:
        process.end()


def test_what_was_printed_in_time_is_read_after_it(tmp_path: Path) -> None:
    """Whoever is slow to read the lines of an agent that has ended gets all of them."""
    process = start(tmp_path, "echo one; echo two")
    process.wait()

    assert [b"one", b"two"] == [line for line, _ in process.lines(time.monotonic() - 1)]
    assert 0 == process.wait(time.monotonic() - 1)


class Broken(Redactor):
    """Fails on every line."""

    def line(self, line: bytes) -> bytes:
        """Raise."""
        raise ZeroDivisionError(line)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_reader_that_fails_keeps_nobody_waiting(tmp_path: Path) -> None:
    """The stream ends for whoever follows it."""
    process = AgentProcess(
        ["sh", "-c", "echo one"], {}, cwd=tmp_path, mark="x:1", stdout_file=tmp_path / "o", stderr_file=tmp_path / "e",
        redactor=Broken({}),
    )  # fmt: skip

    assert [] == list(process.lines(time.monotonic() + 60))
    assert process.wait() in (0, -13)
