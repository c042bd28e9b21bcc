"""Lets the tests import the modules beside them, and serves traces to them."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

sys.path.insert(0, str(Path(__file__).parent))

from trace_playground import Trace, client_of

Serve = Callable[..., TestClient]


@pytest.fixture(scope="session", autouse=True)
def evidence_stays_out_of_the_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let no workflow that a test starts publish to the state root of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("AGENT_WORKFLOW_STATE_ROOT", raising=False)
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    """Make an empty trace as the original tracer makes it, in a folder like a repository's."""
    made = Trace(tmp_path / "shop" / "adws" / "adw_data" / "sssf.db")
    yield made
    made.close()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Serve databases without a socket; flags and index are in the test's own folder."""
    clients: list[TestClient] = []

    def start(*databases: Path) -> TestClient:
        client = client_of(databases, tmp_path)
        clients.append(client)
        return client

    yield start
    for client in clients:
        client.close()


@pytest.fixture
def client(trace: Trace, serve: Serve) -> TestClient:
    """Serve the empty trace."""
    return serve(trace.path)
