"""State roots of any name that a file system takes, though a database is opened by a URI."""

import os
from pathlib import Path

import pytest
from sample_state import StateRoot

from agent_workflow import index_store


@pytest.mark.parametrize(
    "name",
    [b"100% sure? #1 & more", "Zustände".encode(), b"two\nlines", b"no text: \xff"],
    ids=["marks of a URI", "not ASCII", "newline", "no UTF-8"],
)
def test_a_state_root_of_any_name_can_be_indexed_and_asked(tmp_path: Path, name: bytes) -> None:
    """Rebuilt, synced, asked and verified like any other."""
    path = tmp_path / os.fsdecode(name)
    try:
        path.mkdir(mode=0o700)
    except OSError as error:
        pytest.skip(f"this file system takes no such name: {error.strerror}")
    StateRoot(path).run("alpha")

    reports = index_store.rebuild(path), index_store.sync(path)

    assert [("alpha",), ()] == [tuple(run.session_id for run in report.indexed) for report in reports]
    assert ["alpha"] == [row["session_id"] for row in index_store.query(path, "runs").rows]
    assert index_store.verify(path, full=True).valid
