"""What a sync looks at is looked at once, however many runs and repairs there are."""

from collections.abc import Iterator

import apsw
import pytest
from sample_state import StateRoot, write_repair

from agent_workflow import index_store


@pytest.fixture
def statements() -> Iterator[list[str]]:
    """Give the statements that connections run which are opened from now on."""
    found: list[str] = []

    def note(_cursor: object, sql: str, _bindings: object) -> bool:
        found.append(sql)
        return True

    def hook(connection: apsw.Connection) -> None:
        connection.exec_trace = note

    apsw.connection_hooks.append(hook)
    yield found
    apsw.connection_hooks.remove(hook)


@pytest.mark.parametrize("repairs", [1, 7])
def test_the_sealed_runs_are_read_once_for_all_repairs(state: StateRoot, statements: list[str], repairs: int) -> None:
    """Each repair depends on them, and they do not change between two repairs."""
    sealed = state.run("sealed", archived=True)
    sealed.seal()
    for number in range(repairs):
        write_repair(state, sealed, f"repair-{number}")
    index_store.sync(state.path)
    statements.clear()

    index_store.sync(state.path)

    assert 1 == sum("final_receipt_sha256 IS NOT NULL" in sql for sql in statements)
    assert repairs == len(index_store.query(state.path, "repairs").rows)


def test_repairs_that_are_gone_are_forgotten(state: StateRoot) -> None:
    """One of several, and the last."""
    sealed = state.run("sealed", archived=True)
    sealed.seal()
    repairs = [write_repair(state, sealed, f"repair-{number}") for number in range(3)]
    index_store.sync(state.path)
    left = []

    for repair in repairs:
        repair.path.rename(state.path / repair.path.name)
        index_store.sync(state.path)
        left.append(sorted(str(row["repair_id"]) for row in index_store.query(state.path, "repairs").rows))

    assert [["repair-1", "repair-2"], ["repair-2"], []] == left
