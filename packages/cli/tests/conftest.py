"""Lets the tests import the modules beside them, and gives them a state root to ask."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from command_line import CommandLine, write_sample


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A state root with the four runs of the demo, not indexed yet."""
    return write_sample(tmp_path / "state")


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The installed command in an environment of its own."""
    return CommandLine(tmp_path)


@pytest.fixture
def indexed(root: Path, cli: CommandLine) -> Path:
    """A state root with the four runs of the demo and their index."""
    assert cli.run("index", "sync", "--state-root", str(root)).code == 0
    return root
