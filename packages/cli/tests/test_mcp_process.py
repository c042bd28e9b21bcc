"""The MCP server as a process: what is on its streams, and how it ends."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("mcp", reason="the MCP server is an extra")

if TYPE_CHECKING:
    from packages.cli.tests.conftest import CommandLine

pytestmark = pytest.mark.slow

PROGRAM = str(Path(sys.executable).with_name("agent-workflow"))
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


def start_server(root: Path, cli: "CommandLine") -> subprocess.Popen[str]:
    """Start a server on a state root, to be spoken to by the line."""
    pipe = subprocess.PIPE
    command = [PROGRAM, "mcp", "--state-root", str(root)]
    return subprocess.Popen(command, env=cli.environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1)


def test_a_client_that_is_gone_ends_the_server_quietly(indexed: Path, cli: "CommandLine") -> None:
    """As behind a pipe that is closed: exit 0, and no traceback."""
    server = start_server(indexed, cli)
    assert server.stdout is not None
    assert server.stdin is not None
    assert server.stderr is not None
    server.stdout.close()

    with server.stdin as lines:
        lines.write(f"{json.dumps(HELLO)}\n")
    with server.stderr as errors:
        said = errors.read()

    assert (0, "") == (server.wait(timeout=240), said)


def test_ctrl_c_ends_the_server_whose_input_stays_open(indexed: Path, cli: "CommandLine") -> None:
    """As at a terminal, where a person has tried what it does."""
    server = start_server(indexed, cli)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        server.stdin.write(f"{json.dumps(HELLO)}\n")
        answer = json.loads(server.stdout.readline())

        server.send_signal(signal.SIGINT)

        assert -signal.SIGINT == server.wait(timeout=240)
        assert 1 == answer["id"]
    finally:
        server.kill()
        _, said = server.communicate()
    assert "" == said


def test_nothing_but_the_protocol_is_on_standard_output(indexed: Path, cli: "CommandLine") -> None:
    """Also where a line is none of it; the server ends when its input does."""
    done = subprocess.run(
        [PROGRAM, "mcp", "--state-root", str(indexed)],
        input=f"{json.dumps(HELLO)}\nno protocol\n",
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=240,
    )

    messages = [json.loads(line) for line in done.stdout.splitlines()]
    assert 0 == done.returncode
    assert {"2.0"} == {message["jsonrpc"] for message in messages}
    assert "agent-workflow" == messages[0]["result"]["serverInfo"]["name"]


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_without_streams_it_says_who_starts_it(closed: str, indexed: Path, cli: "CommandLine") -> None:
    """One line and exit 2, no traceback."""
    shell = f'exec "$0" mcp --state-root "$1" {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", shell, PROGRAM, str(indexed)],
        env=cli.environment,
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert (2, 1, True) == (done.returncode, len(done.stderr.splitlines()), "an MCP client" in done.stderr)
