"""Agents whose model provider does not answer: told as a wait with its reason, and over with the first answer."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from supervisor_lab import Host, UntracedRun, records, wait_for
from waiting_agents import TracedAgent

SECRET = "the-secret-of-the-provider"

_AGENT = """
import json, socket, sys, time
host, port, stream = "127.0.0.1", int(sys.argv[1]), open(sys.argv[2], "a")
def say(**fields):
    stream.write(json.dumps(fields) + "\\n")
    stream.flush()
attempt = 0
while True:
    try:
        with socket.create_connection((host, port)) as model:
            model.sendall(b"next\\n")
            answer = model.makefile().readline()
        if not answer:
            raise ConnectionError("closed")
        break
    except OSError as error:
        attempt += 1
        say(type="system", subtype="api_retry", attempt=attempt, max_retries=10, error_status=None, error="unknown",
            session_id=sys.argv[3])
        time.sleep(0.05 if attempt < 3 else 3600)
say(type="assistant", message={"content": [{"type": "text", "text": answer}]})
time.sleep(3600)
"""


class Provider:
    """A model server on a real socket: it drops every connection, keeps one without a word, or answers."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.kept: list[socket.socket] = []

    def close(self) -> None:
        """Close everything."""
        for connection in (*self.kept, self.socket):
            connection.close()

    def take(self) -> socket.socket:
        """Take a connection and its request."""
        connection, _ = self.socket.accept()
        connection.recv(100)
        self.kept.append(connection)
        return connection


@pytest.fixture
def provider() -> Iterator[Provider]:
    """Start a provider."""
    with closing(Provider()) as started:
        yield started


@pytest.fixture
def run(host: Host, provider: Provider) -> UntracedRun:
    """Make a run whose agent speaks as Claude Code and asks the provider."""
    made = host.run(stream_format="claude-stream-json")
    events = made.directory / "executor-events.jsonl"
    made.executor = host.start(sys.executable, "-c", _AGENT, str(provider.port), str(events), SECRET)
    made.beat(host.clock.wall)
    host.look()
    return made


def waits(directory: Path) -> list[tuple[str, Any]]:
    """Return state and reason of the incident events of provider waits in order."""
    found = records(directory / "incident-events.jsonl")
    return [
        (record["state"], record["evidence"].get("reason")) for record in found if record["category"] == "provider_wait"
    ]


def categories(directory: Path) -> set[str]:
    """Return the categories of the incident events."""
    return {record["category"] for record in records(directory / "incident-events.jsonl")}


def wait_for_retry(run: UntracedRun, attempt: int) -> None:
    """Wait until the agent has announced a retry."""
    wait_for(lambda: any(record.get("attempt") == attempt for record in run.records("executor-events.jsonl")))


def test_a_dead_connection_is_a_wait_for_the_provider(host: Host, provider: Provider, run: UntracedRun) -> None:
    """Dropped again and again: one incident however often it is looked at; it is no stall, and nothing is signalled."""
    host.settings = replace(host.settings, interrupt_stalled=True, terminate_stalled=True)
    for number in range(3):
        provider.take().close()
        wait_for_retry(run, number + 1)

    for _ in range(3):
        host.look(700)
        host.look_anew(700)

    assert [("open", "network")] == waits(run.directory)
    assert {"provider_wait"} == categories(run.directory)
    assert [] == run.records("remediation-events.jsonl")
    assert run.executor.poll() is None


def test_a_first_retry_is_everyday(host: Host, provider: Provider, run: UntracedRun) -> None:
    """A retry that the provider answers soon is no incident."""
    provider.take().close()
    wait_for_retry(run, 1)
    host.look(1)

    provider.take().sendall(b"the answer\n")
    wait_for(lambda: len(run.records("executor-events.jsonl")) == 2)
    host.look(1)

    assert set() == categories(run.directory)


def test_an_answer_ends_the_wait(host: Host, provider: Provider, run: UntracedRun) -> None:
    """Long silence after a retry is an incident; the first word of the model resolves it."""
    provider.take().close()
    wait_for_retry(run, 1)
    host.look(1)
    connection = provider.take()  # kept, without a word
    host.look(200)
    host.look(30)
    opened = waits(run.directory)

    connection.sendall(b"the answer\n")
    wait_for(lambda: len(run.records("executor-events.jsonl")) == 2)
    host.look(30)

    assert [("open", "network")] == opened
    assert ["open", "resolved"] == [state for state, _ in waits(run.directory)]


def test_a_silent_connection_without_a_retry_is_a_stall(host: Host, provider: Provider, run: UntracedRun) -> None:
    """An agent that never says that it waits is only silent: then no reason is made up."""
    provider.take()

    for _ in range(4):
        host.look(400)

    assert {"process_alive_no_progress"} == categories(run.directory)


def test_the_provider_is_not_quoted(host: Host, provider: Provider, run: UntracedRun) -> None:
    """Incidents name the reason by a closed word and keep nothing of the stream."""
    for number in range(3):
        provider.take().close()
        wait_for_retry(run, number + 1)
    report = host.look(700)

    written = [path for path in run.directory.iterdir() if path.name != "executor-events.jsonl"]
    assert [("open", "network")] == waits(run.directory)
    assert [] == [path.name for path in written if SECRET in path.read_text()]
    assert SECRET not in json.dumps(report.to_document())


def test_a_traced_agent_waits(host: Host) -> None:
    """Pi's own words, in the raw stream of a traced run; they end with the model's next word."""
    agent = TracedAgent.start(host)
    try:
        host.look()
        agent.record(type="auto_retry_start", attempt=3, maxAttempts=3, delayMs=8000, errorMessage=f"529 {SECRET}")
        host.look(30)
        host.look_anew(30)
        opened = waits(agent.run_directory)
        agent.record(type="auto_retry_end", success=True, attempt=3)
        host.look(30)
        ended = waits(agent.run_directory)
    finally:
        agent.stop()

    assert [("open", "overloaded")] == opened
    assert ["open", "resolved"] == [state for state, _ in ended]
    assert SECRET not in "".join(path.read_text() for path in agent.run_directory.iterdir() if path.is_file())
