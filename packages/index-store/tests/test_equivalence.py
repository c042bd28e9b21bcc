"""Any sequence of syncs over a changing state root ends in the rows of a rebuild."""

from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from index_playground import dump, playground, rebuilt

from agent_workflow import index_store
from agent_workflow.index_store import reading

SESSIONS = ("alpha", "beta", "gamma")

# Names of what can happen to a run; appending happens most.
STEPS = (
    "create",
    "append",
    "append",
    "append_torn",
    "append_unknown",
    "truncate",
    "replace_same_size",
    "rotate",
    "rename_file",
    "delete_file",
    "delete_run",
    "archive",
    "copy_to_archive",
    "retire",
    "change_mode",
    "corrupt",
    "link",
    "repair",
    "seal_run",
    "touch_sealed",
    "own_workflow",
    "leave_workflow",
    "record_workflow",
    "record_workflow",
    "forget_workflow",
    "stray",
)


step = st.tuples(st.sampled_from(STEPS), st.sampled_from(SESSIONS), st.booleans())


@pytest.mark.slow
@pytest.mark.parametrize("share", range(4))  # of 300 sequences: all of them in one test take minutes on a busy machine
@settings(max_examples=75, deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=st.lists(step, min_size=3, max_size=14))
def test_syncs_end_in_the_rows_of_a_rebuild(share: int, steps: list[tuple[str, str, bool]]) -> None:
    """Whatever happens between syncs, every table is what a rebuild makes of the files."""
    with playground() as ground:
        for session_id in SESSIONS:
            ground.create(session_id)
            ground.append(session_id)
        index_store.sync(ground.root)
        for name, session_id, then_sync in steps:
            ground.happen(name, session_id)
            if then_sync:
                index_store.sync(ground.root)
        index_store.sync(ground.root)
        synced = dump(ground.root)

        assert rebuilt(ground.root) == synced


@pytest.mark.parametrize("name", sorted(set(STEPS)))
def test_each_step_alone_ends_in_the_rows_of_a_rebuild(name: str) -> None:
    """One change between two syncs, with no time between: the second sync sees it."""
    with playground() as ground:
        for session_id in SESSIONS:
            ground.create(session_id)
            ground.append(session_id)
            ground.append(session_id)
        index_store.sync(ground.root)
        ground.happen(name, "beta")
        index_store.sync(ground.root)
        synced = dump(ground.root)

        assert rebuilt(ground.root) == synced


def test_unchanged_sync_reads_no_content_and_writes_only_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing changed: no source is opened, and the one row that differs is the time of the sync."""
    with playground() as ground:
        for session_id in SESSIONS:
            ground.create(session_id)
            ground.append(session_id)
        ground.corrupt("beta")
        ground.seal_run("gamma")
        index_store.sync(ground.root)
        before = dump(ground.root)
        times = _times(ground.root)

        def refuse(run_directory: int, path: str) -> int:
            raise AssertionError(f"{path} was opened")

        monkeypatch.setattr(reading, "open_file", refuse)
        report = index_store.sync(ground.root)

        assert report.skipped == ("alpha", "gamma")
        assert before == dump(ground.root)
        assert times == _times(ground.root)


def _times(root: Path) -> list[tuple[object, ...]]:
    connection = apsw.Connection(f"file:{root}/index/agent-workflow.sqlite3?mode=ro", flags=0x41)
    try:
        return connection.execute(
            "SELECT session_id, indexed_at FROM runs UNION ALL SELECT session_id, detected_at FROM index_errors "
            "UNION ALL SELECT session_id, indexed_at FROM source_files ORDER BY 1, 2"
        ).fetchall()
    finally:
        connection.close()
