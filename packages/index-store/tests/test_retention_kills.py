"""A prune killed at any step loses nothing that its plan did not list, and its receipt accounts for every file."""

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killed_prunes import KEPT, PLANNED, make_state, prune
from safety_ground import picture
from sample_state import StateRoot, digest_of

from agent_workflow.index_store.retention import finish_interrupted, unfinished_receipts

pytestmark = pytest.mark.slow

Record = dict[str, Any]


def records(state_root: Path) -> list[Record]:
    """Return the whole records of all receipts."""
    found: list[Record] = []
    for path in sorted((state_root / "prune-receipts").glob("*.jsonl")):
        found.extend(json.loads(line) for line in path.read_bytes().split(b"\n")[:-1])
    return found


def files_of(run: Path) -> dict[str, tuple[str, int, str | None]]:
    """Return what a receipt must say about every file of a run."""
    found: dict[str, tuple[str, int, str | None]] = {}
    for path in sorted(run.rglob("*")):
        name = str(path.relative_to(run))
        if path.is_symlink():
            found[name] = ("link", path.lstat().st_size, None)
        elif path.is_file():
            found[name] = ("file", path.stat().st_size, digest_of(path))
    return found


def listed(recorded: list[Record], path: str) -> dict[str, tuple[str, int, str | None]]:
    """Return what the receipt says about a run's files."""
    return {
        file["path"]: (file["kind"], file["size"], file["sha256"])
        for record in recorded
        if record["event"] == "listing" and record["path"] == path
        for file in record["files"]
    }


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> StateRoot:
    """The state root that every killed prune began with."""
    return make_state(tmp_path_factory.mktemp("original") / "state")


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """State roots after a prune that was killed at each step; the last one got through."""
    folder = tmp_path_factory.mktemp("killed")
    script = Path(__file__).with_name("killed_prunes.py")
    done = subprocess.run([sys.executable, str(script), str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [folder / str(number) for number in range(1, int(done.stdout) + 1)]


def staged(state_root: Path) -> Iterator[Path]:
    """Yield what is staged for deletion."""
    for folder in ("runs", "archive"):
        yield from (state_root / folder).glob(".pruned-*")


def test_wherever_it_was_killed_every_file_is_there_or_accounted_for(killed: list[Path], original: StateRoot) -> None:
    """Before anything is recovered: a file that is gone stands in a receipt with its size and digest."""
    assert len(killed) > 50

    for state_root in killed:
        told = records(state_root)
        announced = {record["path"] for record in told if record["event"] == "intent"}
        for path in PLANNED:
            wanted = files_of(original.path / path)
            name = path.split("/")[1]
            still = [state_root / path, *(place for place in staged(state_root) if place.name.endswith(f"-{name}"))]
            left = {name for place in still if place.is_dir() for name in files_of(place)}
            if left != set(wanted):
                assert path in announced, (state_root, path)
                assert listed(told, path) == wanted, (state_root, path)


def test_wherever_it_was_killed_what_the_plan_does_not_list_is_untouched(
    killed: list[Path], original: StateRoot
) -> None:
    """The run that goes on is byte for byte what it was."""
    wanted = {name: entry[3] for name, entry in picture(original.path / "runs" / KEPT).items()}

    for state_root in killed:
        assert {name: entry[3] for name, entry in picture(state_root / "runs" / KEPT).items()} == wanted


def test_the_next_start_leaves_each_run_whole_or_gone_and_completes_the_receipt(
    killed: list[Path], original: StateRoot
) -> None:
    """Every announced run has its last word; nothing is staged any more; a second start has nothing to do."""
    words: set[str] = set()
    for state_root in killed:
        finish_interrupted(state_root)

        told = records(state_root)
        assert [] == list(staged(state_root)), state_root
        assert () == unfinished_receipts(state_root)
        for path in PLANNED:
            outcomes = [record for record in told if record["event"] == "outcome" and record["path"] == path]
            is_there = (state_root / path).is_dir()
            words.update(record["outcome"] for record in outcomes)
            assert len(outcomes) <= 1
            if is_there:
                assert files_of(state_root / path) == files_of(original.path / path)
                assert ["kept"] * len(outcomes) == [record["outcome"] for record in outcomes]
            else:
                assert ["deleted"] == [record["outcome"] for record in outcomes]
                assert listed(told, path) == files_of(original.path / path)
                assert len(listed(told, path)) == outcomes[0]["file_count"]
        assert () == finish_interrupted(state_root)
    assert {"deleted", "kept"} == words


def test_the_next_prune_deletes_the_rest(killed: list[Path]) -> None:
    """After it only what the plan does not list is left, and every receipt is complete and read-only."""
    for state_root in killed[::5]:
        prune(state_root)

        assert [KEPT] == [path.name for path in (state_root / "runs").iterdir()]
        assert [] == list((state_root / "archive").iterdir())
        for receipt in (state_root / "prune-receipts").iterdir():
            assert 0o400 == stat.S_IMODE(receipt.stat().st_mode)
