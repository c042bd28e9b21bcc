"""Databases that are not ours, or not ours to read, are refused and stay as they are."""

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from safety_ground import CALLS, make_foreign, picture, root_to_attack
from sample_state import StateRoot

from agent_workflow import index_store
from agent_workflow.index_schema import SCHEMA_VERSION


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an indexed state root in a folder whose name a shell would split."""
    return root_to_attack(tmp_path)


def make_unfinished_foreign(path: Path) -> None:
    """Make somebody else's database whose whole content is still in its WAL."""
    aside = path.with_name("aside")
    connection = apsw.Connection(str(aside))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE notes (text)")
    for companion in ("", "-wal"):
        shutil.copy(f"{aside}{companion}", f"{path}{companion}")
        Path(f"{path}{companion}").chmod(0o600)
    connection.close()
    for file in path.parent.glob("aside*"):
        file.unlink()


def make_versioned_foreign(path: Path) -> None:
    """Make a database without a table that somebody has given a version."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    path.chmod(0o600)


def make_text(path: Path) -> None:
    """Write a text where the database belongs."""
    path.write_text("these are my notes\n" * 100)
    path.chmod(0o600)


FOREIGN: dict[str, Callable[[Path], None]] = {
    "rollback": make_foreign,
    "WAL": lambda path: make_foreign(path, wal=True),
    "of an application": lambda path: make_foreign(path, application_id=0x12345678),
    "of an application, WAL": lambda path: make_foreign(path, wal=True, application_id=0x12345678),
    "large": lambda path: make_foreign(path, rows=20_000),
    "in its WAL": make_unfinished_foreign,
    "with a version": make_versioned_foreign,
    "text": make_text,
}


@pytest.mark.parametrize("kind", list(FOREIGN))
def test_a_foreign_database_is_refused_and_untouched(state: StateRoot, kind: str) -> None:
    """Not a byte of it changes, and nothing is left beside it."""
    for path in state.index.glob("agent-workflow.sqlite3*"):
        path.unlink()
    FOREIGN[kind](state.database)
    lock = state.index / "index.lock"
    before = picture(state.index)

    for name, call in CALLS.items():
        with pytest.raises(index_store.ForeignDatabase) as refusal:
            call(state.path)
        assert refusal.value.hint, name
    after = picture(state.index)

    for known in (before, after):
        known.pop(lock.name)
    assert before == after


def make_newer(state: StateRoot, *, wal_left: bool) -> None:
    """Give the database a version of the future, cleanly closed or with the WAL of a dead process."""
    connection = apsw.Connection(str(state.database))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if wal_left:
        connection.execute("DELETE FROM notices")
        connection.execute("INSERT INTO index_metadata VALUES ('of the future', 'x')")
        copies = {path: path.read_bytes() for path in state.index.glob("agent-workflow.sqlite3*")}
        connection.close()
        for path, content in copies.items():
            path.write_bytes(content)
            path.chmod(0o600)
    else:
        connection.close()


@pytest.mark.parametrize("wal_left", [False, True], ids=["cleanly closed", "of a dead writer"])
def test_a_newer_index_is_refused_and_untouched(state: StateRoot, *, wal_left: bool) -> None:
    """A version that knows more wrote it: not a byte of it changes, and nothing is left beside it."""
    make_newer(state, wal_left=wal_left)
    before = picture(state.index)

    for name, call in CALLS.items():
        with pytest.raises(index_store.NewerDatabase) as refusal:
            call(state.path)
        assert refusal.value.hint, name
    after = picture(state.index)

    for known in (before, after):
        known.pop("index.lock")
    assert before == after
