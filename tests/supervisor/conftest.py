"""A state root of a test's own, and the end of every process that it started."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from supervisor_lab import Host
from tracer_lab import Project, processes_below


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


@pytest.fixture
def project(host: Host, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """Make a repository whose runs are published into the state root."""
    monkeypatch.setenv("AGENT_WORKFLOW_STATE_ROOT", str(host.root))
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    home = tmp_path / "home"
    home.mkdir()
    environment = {name: value for name, value in os.environ.items() if name not in ("SSSF_DB", "AGENT_WORKFLOW_TRACE")}
    environment |= {"HOME": str(home), "PYTHONWARNINGS": "error", "GIT_CONFIG_GLOBAL": "/dev/null"}
    made = Project(root, environment)
    yield made
    for pid in processes_below(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
