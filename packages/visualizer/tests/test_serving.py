"""The server as a process of its own: many readers beside a writer, and its ways out."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from trace_playground import Trace, fill

from agent_workflow.trace_schema import migrate

COMMAND = (sys.executable, "-m", "agent_workflow.visualizer")


class Running:
    """A server process and its port."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen([*COMMAND, *arguments], stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        line = self.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert found, line
        self.port = int(found[1])

    def get(self, path: str) -> tuple[int, bytes]:
        """Ask over a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", path)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def end(self) -> int:
        """Interrupt it as Ctrl-C does, and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            return self.process.wait(timeout=60)
        finally:
            self.process.kill()
            if self.process.stderr is not None:
                self.process.stderr.close()


@pytest.fixture
def running(trace: Trace, tmp_path: Path) -> Iterator[Running]:
    """Serve a filled trace of ours."""
    fill(trace)
    migrate(trace.connection)
    server = Running("--db", str(trace.path), "--port", "0", "--state-root", str(tmp_path / "none"))
    yield server
    server.end()


def test_a_page_that_stays_open_does_not_let_the_log_grow(running: Running, trace: Trace) -> None:
    """Between its polls no reader holds a snapshot: the writer's log can be taken over and emptied at any time."""
    trace.session("aaaa0002", status="running")
    for path in ("/api/sessions", "/api/facets", "/api/sessions/aaaa0002", "/api/sessions/aaaa0002/events") * 2:
        trace.event("aaaa0002")
        assert 200 == running.get(path)[0]

    busy, _, _ = trace.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    assert 0 == busy
    assert 0 == trace.path.with_name(trace.path.name + "-wal").stat().st_size


def test_readers_and_a_writer_do_not_disturb_each_other(running: Running, trace: Trace) -> None:
    """Twelve readers poll while a writer commits: every reply is 200, and at the end every event is there once."""
    trace.session("aaaa0002", status="running")
    statuses: list[int] = []
    followed: dict[int, list[str]] = {}
    done = threading.Event()

    def follow(number: int) -> None:
        mine = followed.setdefault(number, [])
        place = ""
        while True:
            is_last = done.is_set()
            status, body = running.get(f"/api/sessions/aaaa0002/events?limit=50{place}")
            statuses.append(status)
            page = json.loads(body)
            mine += [event["event_id"] for event in page["events"]]
            place = f"&after={page['cursor']}&generation={page['generation']}&anchor={page['anchor']}"
            statuses.append(running.get(("/api/sessions", "/api/sessions/aaaa0002", "/api/facets")[number % 3])[0])
            if is_last and not page["has_more"]:
                return

    readers = [threading.Thread(target=follow, args=(number,)) for number in range(12)]
    for reader in readers:
        reader.start()
    written = [trace.event("aaaa0002", "tool_call", {"ok": True}) for _ in range(400)]
    done.set()
    for reader in readers:
        reader.join()

    assert {200} == set(statuses)
    assert [written] * 12 == list(followed.values())


def test_it_answers_as_soon_as_it_has_told_its_address(running: Running) -> None:
    """Nobody has to wait and try again."""
    assert 200 == running.get("/api/health")[0]
    assert 200 == running.get("/")[0]


def test_an_interrupt_ends_it_well(running: Running) -> None:
    """Ctrl-C is how it is ended."""
    running.get("/api/sessions")

    assert 0 == running.end()


def test_a_taken_port_is_told_in_one_line(trace: Trace) -> None:
    """With what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([*COMMAND, "--db", str(trace.path), "--port", port], capture_output=True, text=True)

    assert 2 == done.returncode
    assert 1 == len(done.stderr.strip().splitlines())
    assert "--port" in done.stderr
