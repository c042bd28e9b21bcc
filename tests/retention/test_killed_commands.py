"""Wherever the command is killed, what its plan does not list is whole, and the receipts account for the rest."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from killed_commands import make_place, prune

PLANNED = ("state/runs/done", "data/sessions/ended1")
KEPT = ("state/runs/going", "data/sessions/going1")


def files_of(directory: Path) -> dict[str, str]:
    """Return every file with its digest."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def receipts_of(place: Path) -> list[list[dict[str, Any]]]:
    """Return the records of each receipt."""
    folder = place / "state" / "prune-receipts"
    return [[json.loads(line) for line in path.read_bytes().splitlines()] for path in sorted(folder.glob("*.jsonl"))]


def deleted(place: Path) -> dict[str, set[str]]:
    """Return the files that receipts say are deleted, by subject."""
    found: dict[str, set[str]] = {}
    for receipt in receipts_of(place):
        gone = {record["path"] for record in receipt if record.get("outcome") == "deleted"}
        for record in receipt:
            if record["event"] == "listing" and record["path"] in gone:
                found.setdefault(record["path"], set()).update(file["path"] for file in record["files"])
    return found


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Places after a command that was killed at each step; the last one got through."""
    folder = tmp_path_factory.mktemp("killed")
    script = Path(__file__).parent / "lab" / "killed_commands.py"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, str(script), str(folder)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [folder / str(number) for number in range(1, int(done.stdout) + 1)]


def test_the_next_prune_accounts_for_every_file(killed: list[Path], tmp_path: Path) -> None:
    """After it all that was planned is gone and told in a complete receipt, and nothing else is touched."""
    original = make_place(tmp_path / "original")
    planned = [set(files_of(original / path)) for path in PLANNED]
    kept = [set(files_of(original / path)) for path in KEPT]
    assert len(killed) > 50

    for place in killed:
        before = [files_of(place / path) for path in KEPT]

        assert 0 == prune(place)

        told = deleted(place)
        assert planned == [told.get("runs/done"), told.get(str(place / PLANNED[1]))], place
        assert ["going"] == [path.name for path in (place / "state" / "runs").iterdir()]
        assert ["going1"] == [path.name for path in (place / "data" / "sessions").iterdir()]
        assert before == [files_of(place / path) for path in KEPT]
        assert kept == [set(files) for files in before]
        assert {"end"} == {receipt[-1]["event"] for receipt in receipts_of(place)}
