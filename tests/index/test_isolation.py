"""One bad run never hides, changes or rolls back a good one, and whoever has to repair it is told where."""

import shutil
from collections.abc import Callable

import pytest

from agent_workflow import index_store

from .conftest import CopyOfCorpus
from .damaged_run import Story, tell
from .evidence_files import EvidenceRoot, RunDirectory
from .evidence_runs import write_host
from .fault import Fault
from .place_faults import PLACE_FAULTS
from .record_faults import CONTRACT_FAULTS, RECORD_FAULTS
from .seal_faults import SEAL_FAULTS

LIVE_FAULTS = (*RECORD_FAULTS, *CONTRACT_FAULTS, *PLACE_FAULTS)
ALL_FAULTS = (*LIVE_FAULTS, *SEAL_FAULTS)

NEEDS_TWO_LINES = {
    "hole of NULs in a journal",
    "two records welded into one line",
    "torn line with the next one welded to it",
}
"""Faults that the genuine live run is too short for."""

Tell = Callable[..., Story]


def by_name(fault: Fault) -> str:
    """Name a test for its fault."""
    return fault.name


@pytest.fixture(scope="module")
def storyteller(tmp_path_factory: pytest.TempPathFactory) -> Tell:
    """Return what tells a story on the state root given; nothing of one story is left for the next."""

    def story_of(root: EvidenceRoot, run: RunDirectory, fault: Fault, *, rebuild: bool) -> Story:
        aside = tmp_path_factory.mktemp("aside")
        try:
            return tell(root, run, fault, aside, rebuild=rebuild)
        except PermissionError:
            pytest.skip("only root may make a device")
        finally:
            shutil.rmtree(aside)

    return story_of


@pytest.fixture(scope="module")
def our_host(tmp_path_factory: pytest.TempPathFactory) -> EvidenceRoot:
    """Return a state root of our own, indexed, for all stories in turn."""
    root = write_host(tmp_path_factory.mktemp("host") / "state")
    index_store.rebuild(root.path)
    return root


@pytest.fixture(scope="module", params=ALL_FAULTS, ids=by_name)
def fault(request: pytest.FixtureRequest) -> Fault:
    """Return each fault in turn."""
    chosen: Fault = request.param
    return chosen


@pytest.fixture(scope="module")
def story(our_host: EvidenceRoot, storyteller: Tell, fault: Fault) -> Story:
    """Return the story of each fault, on the run that it is about: a sealed one where a seal is broken."""
    run = our_host.run("sealed-run" if fault in SEAL_FAULTS else "live-run")
    return storyteller(our_host, run, fault, rebuild=True)


def test_the_other_runs_stay_as_they_were(story: Story) -> None:
    """Whatever is wrong with one run, every row of the others is as before, in every table."""
    assert story.others_before == story.others_damaged


def test_the_damaged_run_is_an_error_or_has_a_notice(story: Story, fault: Fault) -> None:
    """Damage makes the run an error of the category the contract says, or leaves it current with a notice."""
    expected = "error" if fault.outcome == "error" else "current"

    assert expected == story.run["index_state"]
    assert (fault.outcome == "error") == bool(story.run["index_error"])
    if fault.category is not None:
        assert [fault.category] == story.categories


def test_file_and_line_are_named(story: Story, fault: Fault) -> None:
    """Whoever has to repair it is told the file, and the line where there is one."""
    place = fault.path if fault.line is None else f"{fault.path}:{fault.line}"

    assert place in story.said
    assert place in story.reported or "historical_artifact" in story.reported


def test_a_rebuild_gives_what_the_sync_gave(story: Story) -> None:
    """Over the same damage a rebuild has the rows of the sync, those of the damaged run included."""
    assert story.synced == story.rebuilt


def test_the_sync_after_the_repair_is_clean(story: Story) -> None:
    """Once the run is whole again, the next sync has no error left and the rows of a rebuild."""
    assert story.errors_after == ()
    assert story.others_before == story.others_repaired
    assert story.rerebuilt == story.resynced


def test_there_are_more_than_forty_faults() -> None:
    """The list is as long as we promise, and no two faults share a name."""
    names = {fault.name for fault in ALL_FAULTS}

    assert len(names) == len(ALL_FAULTS)
    assert len(names) >= 40


@pytest.fixture(scope="module")
def genuine_host(copy_of_corpus: CopyOfCorpus) -> EvidenceRoot:
    """Return a copy of the genuine state root, indexed, for all stories in turn."""
    root = copy_of_corpus()
    index_store.rebuild(root.path)
    return root


@pytest.mark.corpus
@pytest.mark.parametrize("fault", [fault for fault in ALL_FAULTS if fault.name not in NEEDS_TWO_LINES], ids=by_name)
def test_the_other_58_genuine_runs_stay_as_they_were(
    genuine_host: EvidenceRoot, storyteller: Tell, fault: Fault
) -> None:
    """On genuine evidence, damage to one run changes no row of the others, told by place, undone by repair."""
    run = genuine_host.run("supervisor-stall" if fault in SEAL_FAULTS else "run-one")

    story = storyteller(genuine_host, run, fault, rebuild=False)

    assert story.others_before == story.others_damaged
    assert ("error" if fault.outcome == "error" else "current") == story.run["index_state"]
    assert (fault.path if fault.line is None else f"{fault.path}:{fault.line}") in story.said
    assert story.others_before == story.others_repaired
    assert story.errors_at_first == story.errors_after
