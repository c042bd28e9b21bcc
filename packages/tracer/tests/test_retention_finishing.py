"""Finishing the deletion of a session that was killed: rows and files are both there or both gone."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pruned_sessions import OLD, OTHER, database, delete, files_of, make_session, make_trace, rows

from agent_workflow.tracer.retention import SessionRemoval, finish_session


class Stopped(Exception):
    """Stands for the kill."""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a trace with two sessions that have ended."""
    return make_trace(tmp_path / "data")


def stop_at(trace: Path, step: str) -> None:
    """Stop a deletion at a step."""

    def stop(name: str) -> None:
        if name == step:
            raise Stopped

    with pytest.raises(Stopped):
        delete(trace, step=stop)


def stop_behind(limit: int) -> Callable[[str], None]:
    """Return what stops at the step behind so many."""
    passed = 0

    def step(_name: str) -> None:
        nonlocal passed
        passed += 1
        if passed > limit:
            raise Stopped

    return step


def finished(trace: Path, step: Callable[[str], None] = lambda _name: None, **changed: Any) -> SessionRemoval:
    """Finish what was announced, with some fields changed."""
    announced = json.loads((trace / "announced.json").read_text())
    return finish_session(announced["intent"] | changed, announced["files"], step=step)


def finish(trace: Path) -> tuple[str, dict[str, Any]]:
    """Finish what was announced; return the word and the announcement."""
    return finished(trace).outcome, json.loads((trace / "announced.json").read_text())


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Traces after a deletion that was killed at each step; the last one got through."""
    folder = tmp_path_factory.mktemp("killed")
    script = Path(__file__).with_name("pruned_sessions.py")
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [folder / str(number) for number in range(1, int(done.stdout) + 1)]


def staged(trace: Path) -> Iterator[Path]:
    """Yield what is staged for deletion."""
    yield from (trace / "sessions").glob(".pruned-*")


def test_killed_anywhere_it_is_all_there_or_all_gone_after_the_next_start(killed: list[Path], tmp_path: Path) -> None:
    """Rows and files agree, the other session is whole, and a second start changes nothing."""
    original = make_trace(tmp_path / "original")
    assert len(killed) > 20
    words = set()

    for trace in killed:
        word, announced = finish(trace)

        names = {file["path"] for file in announced["files"]}
        words.add(word)
        assert [] == list(staged(trace))
        assert files_of(original / "sessions" / OLD).keys() == names
        if word == "kept":
            assert rows(original, OLD) == rows(trace, OLD)
            assert names == files_of(trace / "sessions" / OLD).keys()
        else:
            assert "deleted" == word
            assert {0} == set(rows(trace, OLD).values())
            assert not (trace / "sessions" / OLD).exists()
        assert rows(original, OTHER) == rows(trace, OTHER)
        assert files_of(original / "sessions" / OTHER).keys() == files_of(trace / "sessions" / OTHER).keys()
        assert word == finish(trace)[0]
    assert {"kept", "deleted"} == words


def test_a_name_that_was_taken_meanwhile_is_left_alone(trace: Path) -> None:
    """A staged session cannot go back where a new one stands; both are kept and it is told."""
    stop_at(trace, "begin")
    make_session(trace, OLD)

    assert "left" == finish(trace)[0]
    assert 1 == len(list(staged(trace)))
    assert (trace / "sessions" / OLD / "events.jsonl").is_file()


@pytest.mark.parametrize("staged_path", ["/etc/.pruned-x", "sessions/../../x", "old1"])
def test_an_announcement_cannot_lead_elsewhere(trace: Path, staged_path: str) -> None:
    """Only a staged directory beside the session is ever touched."""
    directory = trace / "sessions" / OLD
    intent = {"path": str(directory), "database": str(database(trace)), "rows": {}, "staged_path": staged_path}

    assert "left" == finish_session(intent, []).outcome
    assert (directory / "events.jsonl").is_file()


@pytest.mark.parametrize(("step", "word"), [("staged", "kept"), ("committed", "deleted"), ("stage", "kept")])
def test_after_a_restart_the_device_may_have_another_number(trace: Path, step: str, word: str) -> None:
    """The staged directory is found all the same, and what it says of it is true."""
    whole = set(files_of(trace / "sessions" / OLD))
    stop_at(trace, step)

    assert word == finished(trace, device=4711).outcome
    assert [] == list(staged(trace))
    assert (whole if word == "kept" else set()) == set(files_of(trace / "sessions" / OLD))


def test_a_disk_that_is_not_mounted_leaves_it_open(trace: Path) -> None:
    """Nobody can say that it is gone; when the disk is back, it is finished."""
    stop_at(trace, "committed")
    announced = json.loads((trace / "announced.json").read_text())
    trace.rename(trace.with_name("unmounted"))

    away = finish_session(announced["intent"], announced["files"])
    trace.with_name("unmounted").rename(trace)

    assert ("left", True) == (away.outcome, f"{trace} is not there" in away.reason)
    assert "deleted" == finish(trace)[0]
    assert [] == list(staged(trace))


@pytest.mark.parametrize("step", ["begin", "committed"])
def test_another_directory_where_it_was_staged_is_left(trace: Path, step: str) -> None:
    """It is neither deleted nor put back for the one that was announced, nor is that one called deleted."""
    stop_at(trace, step)
    (place,) = staged(trace)
    place.rename(trace / "moved")
    place.mkdir()
    (place / "mine").write_text("mine\n")

    assert "left" == finish(trace)[0]
    assert (place / "mine").is_file()


@pytest.mark.parametrize("step", ["begin", "committed"])
def test_finishing_that_is_stopped_is_taken_up_by_the_next(trace: Path, step: str) -> None:
    """However often, one step further each time."""
    whole = set(files_of(trace / "sessions" / OLD))
    stop_at(trace, step)
    stops = 0
    while True:
        try:
            word = finished(trace, stop_behind(1)).outcome
            break
        except Stopped:
            stops += 1

    assert stops >= (5 if step == "committed" else 0)
    assert ("deleted" if step == "committed" else "kept") == word
    assert [] == list(staged(trace))
    assert (set() if step == "committed" else whole) == set(files_of(trace / "sessions" / OLD))
