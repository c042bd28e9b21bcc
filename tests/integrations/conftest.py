"""A recorded workflow, and a collector that takes its spans."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

REPOSITORY = Path(__file__).parents[2]
PHOENIX = REPOSITORY / ".tools/phoenix/bin/phoenix"
BIN = Path(sys.executable).parent
_DEADLINE_SECONDS = 600  # the collector alone imports for three minutes where eight others want the processor

_ATTEMPTS = 3


class Recorded(NamedTuple):
    """A repository in which the example workflow was recorded once, and its environment."""

    folder: Path
    environment: dict[str, str]

    def record(self) -> None:
        """Run the example workflow with its scripted agent."""
        example = [sys.executable, "adws/adw_example.py", "Add a greeting"]
        subprocess.run(
            example, cwd=self.folder, env=self.environment, check=True, capture_output=True, timeout=_DEADLINE_SECONDS
        )

    def ask(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run ``agent-workflow`` there."""
        return subprocess.run(
            [str(BIN / "agent-workflow"), *arguments],
            cwd=self.folder,
            env=self.environment | environment,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_SECONDS,
            check=True,
        )


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The example workflow of ``init``, recorded once, published, sealed and indexed."""
    folder = tmp_path_factory.mktemp("shop")
    home = tmp_path_factory.mktemp("home")
    foreign = ("AGENT_WORKFLOW_STATE_ROOT", "SSSF_DB", "OTEL_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
    environment |= {"HOME": str(home), "XDG_STATE_HOME": str(home / "state"), "GIT_CEILING_DIRECTORIES": str(home)}
    repository = Recorded(folder, environment)
    subprocess.run(["git", "init", "--quiet", "."], cwd=folder, env=environment, check=True)
    repository.ask("init")
    repository.record()
    repository.ask("index", "sync")
    return repository


@pytest.fixture(scope="session")
def phoenix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Phoenix on loopback; gives its address."""
    if not PHOENIX.exists():
        if os.environ.get("AGENT_WORKFLOW_REQUIRE_PHOENIX"):
            pytest.fail("Phoenix is not here: tests/integrations/install-phoenix")
        pytest.skip("needs Phoenix: tests/integrations/install-phoenix")
    for _ in range(_ATTEMPTS):
        port, grpc_port = _free_ports()
        environment = os.environ | {
            "PHOENIX_HOST": "127.0.0.1",
            "PHOENIX_PORT": str(port),
            "PHOENIX_GRPC_PORT": str(grpc_port),
            "PHOENIX_WORKING_DIR": str(tmp_path_factory.mktemp("phoenix")),
            "PHOENIX_TELEMETRY_ENABLED": "false",
        }
        log = tmp_path_factory.mktemp("log") / "phoenix.log"
        with log.open("w") as output:
            process = subprocess.Popen([PHOENIX, "serve"], env=environment, stdout=output, stderr=subprocess.STDOUT)
        try:
            address = f"http://127.0.0.1:{port}"
            if _answers(address, process, log):
                yield address
                return
        finally:
            _end(process)
    pytest.fail(f"Phoenix found its port taken {_ATTEMPTS} times")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        for each in (first, second):
            each.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _answers(address: str, process: "subprocess.Popen[bytes]", log: Path) -> bool:
    """Wait until it answers; tell where somebody took its port after it was found to be free."""
    end = time.monotonic() + _DEADLINE_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            said = log.read_text()
            if "address already in use" in said.lower():
                return False
            pytest.fail(f"Phoenix ended: {said[-2000:]}")
        try:
            with urllib.request.urlopen(f"{address}/healthz", timeout=10):
                return True
        except OSError:
            time.sleep(0.2)
    pytest.fail(f"Phoenix does not answer: {log.read_text()[-2000:]}")
