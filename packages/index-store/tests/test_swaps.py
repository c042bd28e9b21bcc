"""What is swapped in between a check and the opening that follows it is not followed, and not changed."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from index_playground import dump
from mortal_process import DONE
from safety_ground import CALLS, DATABASE, LINKS, make_foreign, picture, replace, root_to_attack
from sample_state import StateRoot

from agent_workflow import index_store
from agent_workflow.index_store import fifo_release


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an indexed state root in a folder whose name a shell would split."""
    return root_to_attack(tmp_path)


class Swap:
    """Something that happens once, right before the n-th call that a test waits for."""

    def __init__(self, at: int, action: Callable[[], None]) -> None:
        self.happened = False
        self._left = at
        self._action = action

    def before_call(self) -> None:
        """Count a call."""
        self._left -= 1
        if self._left == 0:
            self.happened = True
            self._action()


def before_opening(monkeypatch: pytest.MonkeyPatch, name: str, swap: Swap) -> None:
    """Let a swap happen before the operating system opens something of that name."""
    genuine = os.open

    def opening(path: Any, *arguments: Any, **keywords: Any) -> int:
        if os.fspath(path).rpartition("/")[2] == name:
            swap.before_call()
        return genuine(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", opening)


def before_connecting(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    """Let a swap happen before SQLite opens a file."""
    genuine = apsw.Connection

    class Connecting(genuine):  # type: ignore[valid-type,misc] # the type as it was before the patch
        def __init__(self, name: str, *arguments: Any, **keywords: Any) -> None:
            if name != ":memory:":  # which opens no file
                swap.before_call()
            super().__init__(name, *arguments, **keywords)

    monkeypatch.setattr(apsw, "Connection", Connecting)


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("place", ["state", "runs", "archive", "index"])
def test_a_directory_swapped_for_a_link_is_refused(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    """However often it is opened, each opening looks for itself."""
    path = state.path if place == "state" else state.path / place
    before = picture(elsewhere)
    swap = Swap(1, lambda: replace(path, "link to a directory", elsewhere))
    before_opening(monkeypatch, place, swap)

    with pytest.raises(index_store.UnsafePath):
        CALLS[name](state.path)

    assert swap.happened
    assert before == picture(elsewhere)


@pytest.mark.parametrize("made", ["state", "index"])
def test_a_directory_swapped_for_a_link_while_it_is_made_is_refused(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """Neither mode nor content of what the link leads to is touched."""
    before = picture(elsewhere)
    genuine = os.mkdir

    def making(path: Any, *arguments: Any, **keywords: Any) -> None:
        genuine(path, *arguments, **keywords)
        if os.fspath(path).rpartition("/")[2] == made:
            replace(tmp_path / "state" if made == "state" else tmp_path / "state" / made, LINKS[0], elsewhere)

    monkeypatch.setattr(os, "mkdir", making)

    with pytest.raises(index_store.UnsafePath):
        index_store.sync(tmp_path / "state")

    assert before == picture(elsewhere)


def swaps(prepare: Callable[[int], Swap], call: Callable[[], object]) -> list[str]:
    """Repeat a call with the swap before its first, second, … opening; return the name of each outcome."""
    words = []
    for at in range(1, 30):
        swap = prepare(at)
        try:
            call()
            words.append(DONE)
        except index_store.IndexStoreError as error:
            words.append(type(error).__name__)
        if not swap.happened:
            return words[:-1]
    raise AssertionError("there is no end of openings")


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("place", [DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal"])
def test_a_file_swapped_for_a_link_before_sqlite_opens_it_is_not_followed(
    state: StateRoot, elsewhere: Path, tmp_path: Path, place: str, name: str
) -> None:
    """The call refuses, or answers without the companion; what the link leads to stays as it is."""
    saved = tmp_path / "saved"
    shutil.copytree(state.index, saved)
    before = picture(elsewhere)
    patches = pytest.MonkeyPatch()

    def prepare(at: int) -> Swap:
        patches.undo()
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        swap = Swap(at, lambda: replace(state.path / place, "link to a file", elsewhere))
        before_connecting(patches, swap)
        return swap

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert words
    assert before == picture(elsewhere)
    if place == DATABASE:
        assert set(words) <= {"UnsafePath", *([DONE] if name == "rebuild" else [])}


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("place", [DATABASE, f"{DATABASE}-wal", f"{DATABASE}-journal"])
def test_a_fifo_swapped_in_before_sqlite_opens_it_holds_nobody_up(
    state: StateRoot, elsewhere: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    """To open one is to wait until somebody writes to it, which nobody will; the call refuses, or does without."""
    monkeypatch.setattr(fifo_release, "LOOK_EVERY_SECONDS", 0.01)
    saved = tmp_path / "saved"
    shutil.copytree(state.index, saved)
    patches = pytest.MonkeyPatch()

    def prepare(at: int) -> Swap:
        patches.undo()
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        swap = Swap(at, lambda: replace(state.path / place, "FIFO", elsewhere))
        before_connecting(patches, swap)
        return swap

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert words
    if place == DATABASE:
        assert {"UnsafePath"} <= set(words) <= {"UnsafePath", DONE}
    else:  # SQLite may remove the impostor itself when it closes; then its error alone is left to tell
        assert set(words) <= {"UnsafePath", "NotWritable", DONE}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_foreign_database_swapped_in_before_sqlite_opens_it_is_refused(
    state: StateRoot, tmp_path: Path, name: str
) -> None:
    """At whatever opening it comes, not a byte of it changes."""
    foreign = tmp_path / "foreign.sqlite3"
    make_foreign(foreign)
    content = foreign.read_bytes()
    saved = tmp_path / "saved"
    shutil.copytree(state.index, saved)
    patches = pytest.MonkeyPatch()
    swapped: list[Swap] = []
    changed: list[int] = []

    def swap_in() -> None:
        Path(shutil.copy(foreign, state.index / "copy")).replace(state.database)

    def look() -> None:
        if swapped and swapped[-1].happened and state.database.read_bytes() != content:
            changed.append(len(swapped))

    def prepare(at: int) -> Swap:
        look()
        patches.undo()
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        swapped.append(Swap(at, swap_in))
        before_connecting(patches, swapped[-1])
        return swapped[-1]

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert words
    assert [] == changed
    assert "ForeignDatabase" in words


@pytest.mark.parametrize("name", list(CALLS))
def test_an_index_directory_swapped_before_sqlite_opens_a_file_is_refused(
    state: StateRoot, tmp_path: Path, name: str
) -> None:
    """SQLite opens by path: another directory with another index in it is not taken for the one that was checked."""
    other = StateRoot(tmp_path / "other")
    other.run("somebody-elses")
    index_store.sync(other.path)
    before = picture(other.path)
    aside = state.path / "index.aside"
    patches = pytest.MonkeyPatch()

    def swap_directories() -> None:
        state.index.rename(aside)
        shutil.copytree(other.index, state.index)
        for path in (state.index, *state.index.iterdir()):
            path.chmod((other.index / path.name).stat().st_mode if path != state.index else 0o700)

    def prepare(at: int) -> Swap:
        patches.undo()
        if aside.exists():
            shutil.rmtree(state.index)
            aside.rename(state.index)
        swap = Swap(at, swap_directories)
        before_connecting(patches, swap)
        return swap

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert {"UnsafePath"} == set(words)
    assert before == picture(other.path)


@pytest.mark.parametrize("impostor", ["link to a file", "link to nothing", "directory", "FIFO", "socket"])
def test_a_source_swapped_while_the_run_is_read_is_not_followed(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, impostor: str
) -> None:
    """The run is in error, though what a link leads to would do; no other run is."""
    source = state.path / "runs" / "run" / "status.json"
    (elsewhere / "file").write_bytes(source.read_bytes())
    before_opening(monkeypatch, "status.json", Swap(2, lambda: replace(source, impostor, elsewhere)))

    report = index_store.rebuild(state.path)

    assert ["run"] == [error.session_id for error in report.errors]
    assert "status.json" in report.errors[0].error
    assert ["old"] == [run.session_id for run in report.indexed]


@pytest.mark.parametrize(("name", "below"), [("run", ""), ("collections", "collections")])
@pytest.mark.parametrize("at", [1, 2])
def test_a_directory_of_a_run_swapped_for_a_link_is_not_followed(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, name: str, below: str, at: int
) -> None:
    """Neither while it is looked through nor while it is read."""
    directory = state.path / "runs" / "run" / below
    target = elsewhere / "below"
    (target / "note.json").write_text('{"secret": "note"}')
    swap = Swap(at, lambda: replace(directory, "link to a directory", target))
    before_opening(monkeypatch, name, swap)

    report = index_store.rebuild(state.path)

    assert swap.happened
    assert ["run"] == [error.session_id for error in report.errors]
    assert [] == [row for row in dump(state.path)["source_files"] if row[0] == "run"]
