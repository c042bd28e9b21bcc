"""Lets the tests import the modules beside them, wherever this folder is copied to, and gives state roots to them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from asked_host import write_host
from mortal_process import MortalProcess, mortal_processes
from sample_state import StateRoot


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an empty state root."""
    return StateRoot(tmp_path / "state")


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the state root that the questions with filters are put to; nobody changes it."""
    return write_host(tmp_path_factory.mktemp("host") / "state")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Give a folder with files that are none of our business."""
    folder = tmp_path / "elsewhere"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "status.json").write_text('{"secret": "of somebody else"}')
    (folder / "file").write_text("somebody else's text\n")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def process() -> Iterator[MortalProcess]:
    """Give a process whose children can be another user."""
    with mortal_processes(1) as (one,):
        yield one
