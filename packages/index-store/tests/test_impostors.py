"""What stands in place of our own files is refused, never followed and never changed."""

import os
import subprocess
from pathlib import Path

import pytest
from safety_ground import (
    CALLS,
    DATABASE,
    DIRECTORIES,
    FILES,
    LINKS,
    NOBODY,
    WRITERS,
    as_root,
    picture,
    replace,
    root_to_attack,
)
from sample_state import StateRoot

from agent_workflow import index_store


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an indexed state root in a folder whose name a shell would split."""
    return root_to_attack(tmp_path)


IMPOSTORS = [
    *((place, impostor) for place in DIRECTORIES for impostor in (*LINKS, "file", "FIFO")),
    *((place, impostor) for place in FILES for impostor in (*LINKS, "directory", "FIFO", "socket")),
]


def callers_of(place: str) -> list[str]:
    """Return the calls that would open what is at a place."""
    if place == "index/index.lock":
        return list(WRITERS)
    if place == "evidence-repairs":
        return list(WRITERS)
    return list(CALLS)


@pytest.mark.parametrize(("place", "impostor"), IMPOSTORS)
def test_an_impostor_is_refused(state: StateRoot, elsewhere: Path, place: str, impostor: str) -> None:
    """By every call that would open it; what a link leads to stays as it is."""
    replace(state.path / place, impostor, elsewhere)
    before = picture(elsewhere)

    for name in callers_of(place):
        with pytest.raises(index_store.UnsafePath) as refusal:
            CALLS[name](state.path)
        assert refusal.value.hint, name

    assert before == picture(elsewhere)


@pytest.mark.parametrize("impostor", ["link to a file", "link to nothing", "file", "FIFO", "socket"])
def test_what_stands_in_place_of_the_scratch_is_replaced(state: StateRoot, elsewhere: Path, impostor: str) -> None:
    """The scratch belongs to whoever rebuilds: a leftover is removed, and a link is not followed."""
    replace(state.index / "rebuild.sqlite3", impostor, elsewhere)
    before = picture(elsewhere)

    index_store.rebuild(state.path)

    assert before == picture(elsewhere)
    assert "rebuild.sqlite3" not in state.index_files()


@pytest.mark.parametrize("name", WRITERS)
def test_a_directory_in_place_of_the_scratch_is_refused(state: StateRoot, elsewhere: Path, name: str) -> None:
    """Nothing below it is removed."""
    replace(state.index / "rebuild.sqlite3", "directory", elsewhere)
    (state.index / "rebuild.sqlite3" / "precious").touch()

    with pytest.raises(index_store.UnsafePath):
        CALLS[name](state.path)

    assert (state.index / "rebuild.sqlite3" / "precious").exists()


@as_root
@pytest.mark.parametrize("place", [*DIRECTORIES, *FILES])
def test_what_belongs_to_somebody_else_is_refused(state: StateRoot, elsewhere: Path, place: str) -> None:
    """Even where it is otherwise what it should be."""
    path = state.path / place
    path.touch(exist_ok=True)
    os.chown(path, NOBODY, NOBODY)

    for name in callers_of(place):
        with pytest.raises(index_store.UnsafePath, match="belongs to user"):
            CALLS[name](state.path)


@pytest.mark.parametrize("mode", [0o020, 0o002, 0o022])
@pytest.mark.parametrize("place", [*DIRECTORIES, DATABASE, "index/index.lock"])
def test_what_others_may_write_is_refused_with_the_command_that_mends_it(
    state: StateRoot, place: str, mode: int
) -> None:
    """Run as it stands, the hint makes the same call work."""
    path = state.path / place
    path.chmod(path.stat().st_mode | mode)

    with pytest.raises(index_store.UnsafePath, match="writable by others") as refusal:
        index_store.sync(state.path)
    subprocess.run(str(refusal.value.hint), shell=True, check=True)

    assert () == index_store.sync(state.path).errors


@pytest.mark.parametrize("place", ["index/index.lock", DATABASE])
def test_the_hint_for_an_impostor_can_be_run(state: StateRoot, elsewhere: Path, place: str) -> None:
    """What stands in the way goes, and nothing else does."""
    replace(state.path / place, "FIFO", elsewhere)

    with pytest.raises(index_store.UnsafePath) as refusal:
        index_store.sync(state.path)
    hint = str(refusal.value.hint)
    subprocess.run(hint[hint.index("rm ") :], shell=True, check=True)

    assert () == index_store.sync(state.path).errors


def test_parents_may_be_links(state: StateRoot, tmp_path: Path) -> None:
    """A home on another disk is reached through one."""
    (tmp_path / "home").symlink_to(state.path.parent, target_is_directory=True)
    root = tmp_path / "home" / "state"

    for name, call in CALLS.items():
        call(root)
        assert str(state.database) == index_store.status(root).database, name
