"""A state root of a test's own, and the end of every process that it started."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from supervisor_lab import Host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """Make a state root; whatever the test starts is killed afterwards."""
    root = tmp_path / "state"
    (root / "runs").mkdir(parents=True)
    root.chmod(0o700)
    (root / "runs").chmod(0o700)
    made = Host(root)
    yield made
    made.end_all()
