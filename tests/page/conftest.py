"""Fixtures around the page: a real Chromium, a real server, real traces."""

import fcntl
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_demo import DemoProject
from page_fleet import write_fleet
from page_server import Looker, Server, browser, chromium_path
from playwright.sync_api import Browser

from agent_workflow.index_store import rebuild


@pytest.fixture(scope="session", autouse=True)
def evidence_stays_out_of_the_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no workflow that a test starts publish to the state root of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AGENT_WORKFLOW_STATE_ROOT", raising=False)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the machine's Chromium, or skip."""
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium: install Debian's chromium, or name one in AGENT_WORKFLOW_CHROMIUM")
    with browser(path) as started:
        yield started


@pytest.fixture
def look(chromium: Browser) -> Iterator[Looker]:
    """Open pages; at the end nothing may have gone wrong on any of them."""
    looker = Looker(chromium)
    yield looker
    looker.close()

    assert [] == looker.faults


@pytest.fixture
def look_away(chromium: Browser) -> Iterator[Looker]:
    """Open pages on which requests are meant to fail."""
    looker = Looker(chromium)
    yield looker
    looker.close()


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> DemoProject:
    """Record one session for each way a run ends; of several test processes the first one records for all of them."""
    ours = tmp_path_factory.mktemp("demo")
    shared = tmp_path_factory.getbasetemp().parent / "demo" if "PYTEST_XDIST_WORKER" in os.environ else ours / "demo"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "recorded").exists():
            shutil.rmtree(shared / "project", ignore_errors=True)
            project = DemoProject(shared / "project")
            try:
                project.record_all()
            finally:
                project.close()
            (shared / "recorded").touch()
    shutil.copytree(shared / "project", ours / "project")
    return DemoProject(ours / "project")


@pytest.fixture(scope="session")
def fleet_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small state root with its index."""
    root = tmp_path_factory.mktemp("fleet") / "state"
    write_fleet(root)
    return root


@pytest.fixture(scope="session")
def served(demo: DemoProject, fleet_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the demo traces and the fleet; gives the address."""
    server = Server([demo.db], fleet_root, tmp_path_factory.mktemp("home"))
    yield server.address
    server.stop()


@pytest.fixture(scope="session")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the genuine trace and an index of the genuine evidence, unpacked afresh."""
    corpus = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not corpus:
        pytest.skip("AGENT_WORKFLOW_CORPUS is not set")
    place = tmp_path_factory.mktemp("genuine")
    for name in ("sssf-project", "agent-workflow-state"):
        with tarfile.open(Path(corpus) / f"{name}.tar.xz") as archive:
            # By attribute, because Python 3.11.2 has no filter argument yet. "tar" and not "data": the evidence holds
            # links on purpose, and nothing here follows one.
            archive.extraction_filter = getattr(tarfile, "tar_filter", None)
            archive.extractall(place / name)
    state = place / "agent-workflow-state/state"
    for folder in (state, *state.iterdir()):
        folder.chmod(0o700)
    rebuild(state)
    database = next((place / "sssf-project").rglob("sssf.db"))
    server = Server([database], state, place / "home")
    yield server.address
    server.stop()
