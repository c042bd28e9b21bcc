"""The lock of the one writer: others wait, then learn who holds it; readers never notice."""

import errno
import fcntl
import json
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mortal_process import DONE, Call, MortalProcess, mortal_processes
from sample_state import StateRoot

from agent_workflow import index_store


@pytest.fixture(scope="module")
def other() -> Iterator[MortalProcess]:
    """Give another process to write from."""
    with mortal_processes(1) as (one,):
        yield one


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give a state root of one run, indexed."""
    state = StateRoot(tmp_path / "state")
    state.run("run")
    index_store.sync(state.path)
    return state


def test_a_second_writer_learns_who_holds_the_lock(state: StateRoot, other: MortalProcess) -> None:
    """By process id and command, so that one can look at it or stop it."""
    refusals = []

    def while_locked(done: int, total: int) -> None:
        refusals.append(other.call("sync", state.path, arguments={"lock_timeout_seconds": 0.1}))

    index_store.rebuild(state.path, progress=while_locked)

    assert ["WriterBusy"] == [refusal.word for refusal in refusals]
    assert f"process {os.getpid()} (" in refusals[0].message
    assert " ".join(sys.argv)[:200] in refusals[0].message
    assert refusals[0].answer["hint"]


def test_a_second_writer_waits_for_its_turn(state: StateRoot, other: MortalProcess) -> None:
    """It succeeds as soon as the first has ended."""

    def while_locked(done: int, total: int) -> None:
        other.start(Call("sync", str(state.path), arguments={"lock_timeout_seconds": 30}))
        time.sleep(0.2)

    index_store.rebuild(state.path, progress=while_locked)
    outcome = other.finish()

    assert DONE == outcome.word
    assert ["run"] == outcome.answer["skipped"]


def test_the_wait_is_as_long_as_asked(state: StateRoot, other: MortalProcess) -> None:
    """No shorter; how much longer is the machine's affair."""
    waited = []

    def while_locked(done: int, total: int) -> None:
        began = time.monotonic()
        other.call("sync", state.path, arguments={"lock_timeout_seconds": 0.4})
        waited.append(time.monotonic() - began)

    index_store.rebuild(state.path, progress=while_locked)

    assert 0.4 <= waited[0]


def test_a_reader_needs_no_lock(state: StateRoot, other: MortalProcess) -> None:
    """Questions, status and verification are answered while somebody writes."""
    words: list[str] = []

    def while_locked(done: int, total: int) -> None:
        words.extend(other.call(name, state.path).word for name in ("query", "status", "verify"))

    index_store.rebuild(state.path, progress=while_locked)

    assert [DONE, DONE, DONE] == words


def test_a_writer_that_fails_lets_the_lock_go(state: StateRoot, other: MortalProcess) -> None:
    """Whatever goes wrong, the next one need not wait."""

    def fail(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index_store.rebuild(state.path, progress=fail)
    outcome = other.call("sync", state.path, arguments={"lock_timeout_seconds": 0})

    assert DONE == outcome.word


def test_a_lock_without_a_name_is_still_a_lock(state: StateRoot, other: MortalProcess) -> None:
    """A holder whose name cannot be read is called another process."""
    refusals = []

    def while_locked(done: int, total: int) -> None:
        (state.index / "index.lock").write_text("[no name")
        refusals.append(other.call("sync", state.path, arguments={"lock_timeout_seconds": 0}))

    index_store.rebuild(state.path, progress=while_locked)

    assert "WriterBusy" == refusals[0].word
    assert "another process" in refusals[0].message


@pytest.mark.parametrize("call", [index_store.sync, index_store.rebuild])
def test_a_file_system_without_locks_is_said(
    state: StateRoot, monkeypatch: pytest.MonkeyPatch, call: Callable[[Path], object]
) -> None:
    """As a network's may be: nobody could say that no other writer is at work."""

    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)

    with pytest.raises(index_store.NotWritable, match=r"index\.lock"):
        call(state.path)


def test_the_lock_file_names_its_holder(state: StateRoot) -> None:
    """It says who wrote last and since when, and only its owner reads it."""
    lock = state.index / "index.lock"

    holder = json.loads(lock.read_text())

    assert os.getpid() == holder["pid"]
    assert {"pid", "command", "since"} == holder.keys()
    assert 0o600 == stat.S_IMODE(lock.stat().st_mode)


def test_state_roots_have_locks_of_their_own(state: StateRoot, other: MortalProcess, tmp_path: Path) -> None:
    """Writing one index holds up no other."""
    elsewhere = StateRoot(tmp_path / "elsewhere")
    words = []

    def while_locked(done: int, total: int) -> None:
        words.append(other.call("sync", elsewhere.path, arguments={"lock_timeout_seconds": 0}).word)

    index_store.rebuild(state.path, progress=while_locked)

    assert [DONE] == words
