"""Fixtures around recorded commands."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # running_lab

from running_lab import Lab
from screen_lab import Screen


@pytest.fixture(scope="session", autouse=True)
def signals_are_not_ignored() -> Iterator[None]:
    """Let what is started take SIGINT and SIGHUP; in the background or under nohup it would not, by inheritance."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Make an empty repository."""
    root = tmp_path / "lab"
    root.mkdir()
    return Lab(root)


@pytest.fixture
def screens(lab: Lab) -> Iterator[list[Screen]]:
    """End what a failing test has left."""
    made: list[Screen] = []
    yield made
    for screen in made:
        os.close(screen.master)
        if screen.code is None:
            os.kill(screen.pid, signal.SIGKILL)
            os.waitpid(screen.pid, 0)
