"""Which runs are looked at: all of them when one came or went, else those that had not ended."""

import json
import os
import time
from pathlib import Path

import pytest

from agent_workflow.cli.supervisor.discovery import Discovery, Found, Listing
from agent_workflow.cli.supervisor.holder import keep, read_file

LONG_AGO = time.time() - 3600


def make(runs: Path, name: str, status: str, *, sealed: bool = False) -> Path:
    """Write a run."""
    directory = runs / name
    directory.mkdir(parents=True)
    (directory / "status.json").write_text(json.dumps({"session_id": name, "status": status}))
    if sealed:
        (directory / "final-receipt.json").write_text("{}")
    return directory


def settle(runs: Path) -> None:
    """Let no run have come or gone for a while."""
    os.utime(runs, (LONG_AGO, LONG_AGO))


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two live runs beside three that have ended, sealed and not."""
    runs = tmp_path / "runs"
    for name, status in (("live-a", "running"), ("live-b", "prepared"), ("done", "failed"), ("unknown", "blocked")):
        make(runs, name, status)
    make(runs, "sealed", "running", sealed=True)
    (runs / ".claiming-x").mkdir()
    (runs / "file").touch()
    settle(runs)
    return runs


def names(found: Found) -> list[str]:
    """Return the live runs by name."""
    return sorted(run.session_id for run in found.live)


def test_live_and_ended(runs: Path) -> None:
    """A receipt, or a status that is not live, is an end; names that are no ids are no runs."""
    found, listing = Discovery().look(runs, frozenset(), None)

    assert (["live-a", "live-b"], 3, []) == (names(found), found.ended, found.faults)
    assert listing is not None
    assert ({"live-a", "live-b"}, 3) == (set(listing.unended), listing.ended)


def test_a_listing_that_holds_saves_the_look_at_ended_runs(runs: Path) -> None:
    """While the directory's time stands still, a run that has ended is not even looked for."""
    _, listing = Discovery().look(runs, frozenset(), None)
    (runs / "done" / "status.json").write_text(json.dumps({"status": "running"}))  # which no run does

    found, again = Discovery().look(runs, frozenset(), listing)

    assert (["live-a", "live-b"], 3, listing) == (names(found), found.ended, again)


def test_run_that_ends_is_counted(runs: Path) -> None:
    """It leaves the listing, though no run came or went."""
    discovery = Discovery()
    _, listing = discovery.look(runs, frozenset(), None)
    (runs / "live-a" / "final-receipt.json").write_text("{}")

    found, listing = discovery.look(runs, frozenset(), listing)

    assert (["live-b"], 4) == (names(found), found.ended)
    assert listing is not None
    assert (("live-b",), 4) == (listing.unended, listing.ended)


def test_run_that_comes_is_seen(runs: Path) -> None:
    """The directory's time changes, and everything is looked at again; so soon after, the listing is not kept."""
    discovery = Discovery()
    _, listing = discovery.look(runs, frozenset(), None)
    make(runs, "live-c", "running")

    found, kept = discovery.look(runs, frozenset(), listing)

    assert (["live-a", "live-b", "live-c"], 3, None) == (names(found), found.ended, kept)


def test_new_run_of_an_old_name_is_seen(runs: Path) -> None:
    """A run that was archived makes room for another of its name."""
    discovery = Discovery()
    discovery.look(runs, frozenset(), None)
    (runs / "sealed").rename(runs.parent / "archived")
    make(runs, "sealed", "running")

    found, _ = discovery.look(runs, frozenset(), None)

    assert ["live-a", "live-b", "sealed"] == names(found)


def test_listing_is_kept_between_processes(runs: Path) -> None:
    """It comes back from the file as it was; damage and other people's names give none."""
    _, listing = Discovery().look(runs, frozenset(), None)
    assert listing is not None
    keep(runs.parent, runs=listing.to_document(), other=None)

    assert {"runs": listing.to_document()} == read_file(runs.parent)
    assert listing == Listing.from_document(read_file(runs.parent)["runs"])
    nothing: tuple[object, ...] = (
        None,
        [],
        {},
        {"changed_ns": -1, "ended": 0, "unended": []},
        {"changed_ns": 1, "ended": 0},
    )
    for damaged in nothing:
        assert Listing.from_document(damaged) is None
    unsafe = {"changed_ns": 1, "ended": 0, "unended": ["../x", "a/b", "ok", 7]}
    assert Listing(1, ("ok",), 0) == Listing.from_document(unsafe)


def test_named_runs_only(runs: Path) -> None:
    """What is named and not there is a fault; a name cannot lead out of the directory."""
    found, listing = Discovery().look(runs, frozenset({"live-a", "nobody", "../runs/live-b"}), None)

    assert (["live-a"], None) == (names(found), listing)
    assert {"does not exist"} == {fault.reason for fault in found.faults}
    assert 2 == len(found.faults)
