"""A repository whose workflows publish to a state root of their own, and a copy of the genuine state root."""

import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from tracer_lab import Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Make an empty repository."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("SSSF_DB", "AGENT_WORKFLOW_TRACE")}
    environment["AGENT_WORKFLOW_STATE_ROOT"] = str(tmp_path / "state")
    (tmp_path / "home").mkdir()
    environment |= {"HOME": str(tmp_path / "home"), "PYTHONWARNINGS": "error", "GIT_CONFIG_GLOBAL": "/dev/null"}
    made = Project(root, environment)
    made.configure("agents: []\n")
    return made


@pytest.fixture
def genuine(tmp_path: Path) -> Path:
    """Return a copy of the genuine state root that may be changed."""
    folder = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not folder:
        pytest.skip("AGENT_WORKFLOW_CORPUS names no folder of genuine evidence")
    with tarfile.open(Path(folder) / "agent-workflow-state.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet; the corpus holds links and modes on purpose.
        archive.extraction_filter = getattr(tarfile, "fully_trusted_filter", None)
        archive.extractall(tmp_path)
    (tmp_path / "state").chmod(0o700)
    return tmp_path / "state"
