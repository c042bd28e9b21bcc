"""One bad run never hides, changes or rolls back a good one, and whoever has to repair it is told where."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_workflow import index_store

from .evidence_builder import EvidenceRoot, RunDirectory
from .faults import CONTRACT_FAULTS, PLACE_FAULTS, RECORD_FAULTS, SEAL_FAULTS, Fault
from .index_reading import Dump, dump, dump_of_others, everything_said_about, row_of, rows_of

LIVE_FAULTS = (*RECORD_FAULTS, *CONTRACT_FAULTS, *PLACE_FAULTS)


def named(faults: tuple[Fault, ...]) -> pytest.MarkDecorator:
    """Run a test once a fault."""
    return pytest.mark.parametrize("fault", faults, ids=lambda fault: fault.name)


class DamagedHost:
    """An indexed state root one of whose runs is damaged, with a healthy copy of that run kept aside."""

    def __init__(self, root: EvidenceRoot, run: RunDirectory, aside: Path) -> None:
        self.root = root
        self.run = run
        self._aside = aside / f"healthy-{run.session_id}"
        self.before: Dump = dump_of_others(root.database, run.session_id)

    def damage(self, fault: Fault) -> None:
        """Inflict a fault and bring the index in line."""
        shutil.copytree(self.run.path, self._aside)
        try:
            fault.inflict(self.run)
        except PermissionError:
            pytest.skip("only root may make a device")

    def repair(self) -> None:
        """Put the healthy copy back."""
        if self.run.path.is_symlink() or self.run.path.is_file():
            self.run.path.unlink()
        elif self.run.path.exists():
            shutil.rmtree(self.run.path)
        self._aside.rename(self.run.path)


@pytest.fixture
def indexed(host: EvidenceRoot) -> EvidenceRoot:
    """Return our own state root, indexed."""
    index_store.rebuild(host.path)
    return host


@pytest.fixture
def damaged(indexed: EvidenceRoot, tmp_path: Path) -> Callable[[Fault], DamagedHost]:
    """Return what damages the run that a fault is for: a sealed one where it is about a seal."""

    def damage(fault: Fault) -> DamagedHost:
        session_id = "sealed-run" if fault in SEAL_FAULTS else "live-run"
        host = DamagedHost(indexed, indexed.run(session_id), tmp_path)
        host.damage(fault)
        return host

    return damage


def assert_told(root: EvidenceRoot, session_id: str, fault: Fault) -> None:
    """Check that the damaged run is an error or a notice, and that file and line are named."""
    said = everything_said_about(root.database, session_id)
    place = fault.path if fault.line is None else f"{fault.path}:{fault.line}"

    assert place in said
    run = row_of(root.database, "runs", "session_id = ?", session_id)
    assert ("error" if fault.outcome == "error" else "current") == run["index_state"]
    if fault.category is not None:
        error = row_of(root.database, "index_errors", "session_id = ?", session_id)
        assert fault.category == error["category"]


@named((*LIVE_FAULTS, *SEAL_FAULTS))
def test_a_sync_leaves_the_other_runs_as_they_were(damaged: Callable[[Fault], DamagedHost], fault: Fault) -> None:
    """Whatever is wrong with one run, every row of the others stays, and the bad one is told by file and line."""
    host = damaged(fault)

    index_store.sync(host.root.path)

    assert host.before == dump_of_others(host.root.database, host.run.session_id)
    assert_told(host.root, host.run.session_id, fault)


@named((*LIVE_FAULTS, *SEAL_FAULTS))
def test_a_rebuild_gives_what_the_sync_gave(damaged: Callable[[Fault], DamagedHost], fault: Fault) -> None:
    """With a damaged run a rebuild has the rows of a sync, those of the damaged run included."""
    host = damaged(fault)
    index_store.sync(host.root.path)
    synced = dump(host.root.database)

    index_store.rebuild(host.root.path)

    assert synced == dump(host.root.database)


@named((*LIVE_FAULTS, *SEAL_FAULTS))
def test_the_sync_after_the_repair_is_clean(damaged: Callable[[Fault], DamagedHost], fault: Fault) -> None:
    """Once the run is whole again, a sync has no error left and gives a rebuild's rows."""
    host = damaged(fault)
    index_store.sync(host.root.path)
    host.repair()

    report = index_store.sync(host.root.path)

    assert () == report.errors
    synced = dump(host.root.database)
    index_store.rebuild(host.root.path)
    assert dump(host.root.database) == synced
    assert host.before == dump_of_others(host.root.database, host.run.session_id)


def test_there_are_more_than_forty_faults() -> None:
    """The list is as long as we promise, and no two faults share a name."""
    names = {fault.name for fault in (*LIVE_FAULTS, *SEAL_FAULTS)}

    assert len(names) == len(LIVE_FAULTS) + len(SEAL_FAULTS)
    assert len(names) >= 40
