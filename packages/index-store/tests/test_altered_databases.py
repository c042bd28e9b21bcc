"""A database of ours that somebody altered with another program: it is said, and a rebuild mends it."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sample_state import StateRoot

from agent_workflow import index_store


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Return an indexed state root with one run."""
    state = StateRoot(tmp_path / "state")
    state.run("alpha")
    index_store.sync(state.path)
    return state


def alter(state: StateRoot, statements: str) -> None:
    """Alter the database as its user may, with any program."""
    with closing(sqlite3.connect(state.database)) as connection:
        connection.executescript(statements)


ALTERATIONS = {
    "DROP TABLE notices": ("table notices is missing", "status"),
    "DROP TABLE runs": ("table runs is missing", "sync"),
    "DROP VIEW run_overview": ("view run_overview is missing", "query"),
    "DROP VIEW run_overview; ALTER TABLE runs DROP COLUMN branch": (
        "table runs has other columns than this schema's",
        "query",
    ),
}
CALLS: dict[str, Callable[[Path], object]] = {
    "status": index_store.status,
    "sync": index_store.sync,
    "query": lambda path: index_store.query(path, "runs"),
}


@pytest.mark.parametrize("statements", list(ALTERATIONS))
def test_an_altered_database_is_said_and_mended_by_a_rebuild(state: StateRoot, statements: str) -> None:
    """It is told by whoever meets it, with the next step, and by a verification."""
    fault, call = ALTERATIONS[statements]
    alter(state, statements)

    with pytest.raises(index_store.DamagedDatabase, match="was altered: ") as met:
        CALLS[call](state.path)
    verified = index_store.verify(state.path)
    index_store.rebuild(state.path)

    assert "agent-workflow index rebuild" == met.value.hint
    assert fault in verified.integrity_check
    assert not verified.valid
    assert index_store.verify(state.path, full=True).valid
    assert ["alpha"] == [row["session_id"] for row in index_store.query(state.path, "runs").rows]


def test_a_trigger_that_somebody_put_there_never_runs_and_is_told(state: StateRoot) -> None:
    """No program's words in the database are carried out."""
    alter(state, "CREATE TRIGGER trap AFTER INSERT ON index_metadata BEGIN DELETE FROM source_files; END")

    index_store.sync(state.path)

    with closing(sqlite3.connect(state.database)) as connection:
        assert connection.execute("SELECT count(*) FROM source_files").fetchone()[0] > 0
    verified = index_store.verify(state.path)
    assert ("there is a trigger trap, which never runs",) == verified.integrity_check
    assert not verified.valid


def test_tables_of_other_names_do_no_harm(state: StateRoot) -> None:
    """Somebody's notes beside ours; the next rebuild takes them away."""
    alter(state, "CREATE TABLE notes (text); CREATE INDEX runs_by_branch ON runs (branch)")

    assert index_store.verify(state.path).valid
