"""Fixtures around recorded commands."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # running_lab

from running_lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """Make an empty repository; what is started there takes SIGHUP, though the tests may run under nohup."""
    root = tmp_path / "lab"
    root.mkdir()
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield Lab(root)
    signal.signal(signal.SIGHUP, before)
