"""Measure the page's server against a bare Starlette route that returns the same bytes, in the same run.

usage: python bench.py [--small] [--rounds N] [--trace FILE] [--sessions N] [--events N] [--large-every N]

Both servers are uvicorn processes of their own with the same settings; one process with a few connections kept alive
asks them in turns. Figures are medians over the rounds, because a shared machine changes its speed. Arguments of other
benchmarks are ignored.
"""

import argparse
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
BIG = "b1600000"
CONNECTIONS = 4
TICK = os.sysconf("SC_CLK_TCK")


class Connection:
    """One connection kept alive: sends prepared requests and reads whole replies."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.port = port

    def ask(self, path: str, etag: str | None = None) -> tuple[int, dict[str, str], bytes]:
        """Send a request and return status, headers and body."""
        self.send(request(self.port, path, etag))
        return self.receive()

    def send(self, data: bytes) -> None:
        """Send a prepared request."""
        self.socket.sendall(data)

    def receive(self) -> tuple[int, dict[str, str], bytes]:
        """Read one reply."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._more()
        head, _, body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}
        wanted = int(headers.get("content-length", 0))
        parts = [body]
        missing = wanted - len(body)
        while missing > 0:
            parts.append(self._more())
            missing -= len(parts[-1])
        return int(lines[0].split()[1]), headers, b"".join(parts)

    def _more(self) -> bytes:
        more = self.socket.recv(262_144)
        if not more:
            raise SystemExit("a server closed the connection")
        return more


def request(port: int, path: str, etag: str | None = None) -> bytes:
    """Write a request."""
    known = f"if-none-match: {etag}\r\n" if etag else ""
    return f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{known}\r\n".encode("latin-1")


@dataclass
class Server:
    """A server process."""

    process: subprocess.Popen[str]
    port: int

    @property
    def memory(self) -> float:
        """Largest resident size so far, MiB."""
        found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text())
        return int(found[1]) / 1024 if found else float("nan")

    @property
    def cpu(self) -> float:
        """Seconds of CPU so far."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICK


@contextmanager
def started(*command: str) -> Iterator[Server]:
    """Start a server that prints its address."""
    process = subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        for line in process.stderr:
            found = re.search(r"http://127\.0\.0\.1:(\d+)", line)
            if found:
                break
        else:
            raise SystemExit(f"a server did not start: {' '.join(command)}")
        yield Server(process, int(found[1]))
    finally:
        process.terminate()
        process.wait()


@dataclass
class Rate:
    """Requests a second and latencies in milliseconds, one figure a round."""

    per_second: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def line(self) -> str:
        """Write the medians."""
        per_second, p50, p99 = (statistics.median(figures) for figures in (self.per_second, self.p50, self.p99))
        cpu = statistics.median(self.cpu)
        return f"{per_second:8.0f} /s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   {cpu:6.0f} µs of CPU each"


def load(server: Server, path: str, etag: str | None, seconds: float, rate: Rate) -> None:
    """Ask again and again over a few connections; each has one request on its way."""
    connections = [Connection(server.port) for _ in range(CONNECTIONS)]
    data = request(server.port, path, etag)
    took: list[float] = []
    sent = [0.0] * CONNECTIONS
    for number, connection in enumerate(connections):
        connection.send(data)
        sent[number] = time.perf_counter()
    began, cpu = time.perf_counter(), server.cpu
    while time.perf_counter() - began < seconds:
        for number, connection in enumerate(connections):
            connection.receive()
            took.append(time.perf_counter() - sent[number])
            sent[number] = time.perf_counter()
            connection.send(data)
    elapsed = time.perf_counter() - began
    rate.cpu.append((server.cpu - cpu) / len(took) * 1e6)
    for connection in connections:
        connection.receive()
        connection.socket.close()
    took.sort()
    rate.per_second.append(len(took) / elapsed)
    rate.p50.append(took[len(took) // 2] * 1000)
    rate.p99.append(took[int(len(took) * 0.99)] * 1000)


def compare(
    name: str,
    server: Server,
    path: str,
    etag: str | None,
    rounds: int,
    seconds: float,
    scratch: Path,
    *,
    judged: bool = True,
) -> float:
    """Load the page's server and the floor in turns, and print both; return page over floor."""
    status, headers, body = Connection(server.port).ask(path, etag)
    kept = scratch / "body"
    kept.write_bytes(body)
    floor_rate, page_rate = Rate(), Rate()
    with started(str(HERE / "floor.py"), str(kept), str(status), headers.get("etag", "")) as floor:
        for _ in range(rounds):
            load(floor, "/same", etag, seconds, floor_rate)
            load(server, path, etag, seconds, page_rate)
    ratios = [page / bare for page, bare in zip(page_rate.per_second, floor_rate.per_second, strict=True)]
    ratio = statistics.median(ratios)
    bound = f"   at least 0.50   {verdict(ratio >= 0.5)}" if judged else ""
    print(f"{name}: {status}, {len(body):,} bytes")
    print(f"    bare Starlette   {floor_rate.line()}")
    print(f"    the page's       {page_rate.line()}   ratio {ratio:.2f}{bound}")
    return ratio


def verdict(holds: bool) -> str:
    """Write whether a figure is what it should be."""
    return "holds" if holds else "EXCEEDED"


def once(server: Server, name: str, path: str, limit: float) -> bool:
    """Time one request over a fresh connection, the best of three, and print it."""
    took = []
    size = 0
    for _ in range(3):
        connection = Connection(server.port)
        began = time.perf_counter()
        status, _, body = connection.ask(path)
        took.append(time.perf_counter() - began)
        size = len(body)
        if status != 200:
            raise SystemExit(f"{path}: {status} {body[:200]!r}")
    holds = min(took) <= limit
    print(f"    {name:<22} {took[0]:6.3f} s first, {min(took):6.3f} s best, {size / 1e6:5.2f} MB   {verdict(holds)}")
    return holds


def idle(server: Server, seconds: float) -> float:
    """Poll as one idle page does (list, session and events, twice a second); return the share of a core it costs."""
    connection = Connection(server.port)
    paths = ("/api/sessions?limit=50", f"/api/sessions/{BIG}", events_at_the_end(server))
    etags = [connection.ask(path)[1].get("etag") for path in paths]
    before, began = server.cpu, time.monotonic()
    while time.monotonic() - began < seconds:
        for path, etag in zip(paths, etags, strict=True):
            status, _, body = connection.ask(path, etag)
            if (status, body) != (304, b""):
                raise SystemExit(f"an idle poll was no 304: {path} {status}")
        time.sleep(0.5)
    return (server.cpu - before) / (time.monotonic() - began)


def events_at_the_end(server: Server, back: int = 0) -> str:
    """Return the poll of somebody who has read all events, or all but the last so many."""
    import json

    connection = Connection(server.port)
    page = json.loads(connection.ask(f"/api/sessions/{BIG}/events?newest=true&limit={back + 1}")[2])
    last = page["events"][0]
    place = f"after={last['rowid']}&generation={page['generation']}&anchor={last['event_id']}"
    return f"/api/sessions/{BIG}/events?{place}"


def main() -> int:
    """Measure and print; 1 where a figure is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tenth of everything, for a look")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load, a round and server")
    parser.add_argument("--trace", type=Path, help="a database that workload.py made")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--large-every", type=int, default=50)
    given, _ = parser.parse_known_args()
    with tempfile.TemporaryDirectory(prefix="agent-workflow-bench-") as name:
        scratch = Path(name)
        trace = given.trace or scratch / "sssf.db"
        if given.trace is None:
            share = 10 if given.small else 1
            sizes = (given.sessions // share, given.events // share, given.large_every)
            options = (
                f"--{name}={size}" for name, size in zip(("sessions", "events", "large-every"), sizes, strict=True)
            )
            subprocess.run([sys.executable, str(HERE / "workload.py"), str(trace), *options], check=True)
        print(f"trace: {trace.stat().st_size / 1e6:,.0f} MB")
        serving = ("-m", "agent_workflow.visualizer", "--port", "0", "--state-root", str(scratch / "none"))
        with started(*serving, "--db", str(trace)) as server:
            return measure(server, given.rounds, given.seconds, scratch)


def measure(server: Server, rounds: int, seconds: float, scratch: Path) -> int:
    """Measure one server."""
    print("one request:")
    big = f"/api/sessions/{BIG}"
    held = [
        once(server, "list of 200", "/api/sessions", 1),
        once(server, "page 100 of the list", "/api/sessions?limit=50&offset=5000", 1),
        once(server, "search in the list", "/api/sessions?q=number%20777&limit=50", 1),
        once(server, "what to filter by", "/api/facets", 1),
        once(server, "the big session", big, 1),
        once(server, "its timeline", f"{big}/timeline", 1),
        once(server, "500 of its events", f"{big}/events?limit=500", 1),
        once(server, "its last 500 events", f"{big}/events?limit=500&newest=true", 1),
        once(server, "search in its events", f"{big}/events?q=nowhere&limit=100", 1.5),
    ]
    etag = Connection(server.port).ask(events_at_the_end(server))[1]["etag"]
    ratios = [
        compare("idle poll of events", server, events_at_the_end(server), etag, rounds, seconds, scratch),
        compare("poll with 5 new events", server, events_at_the_end(server, 5), None, rounds, seconds, scratch),
        compare(
            "poll with 40 new events",
            server,
            events_at_the_end(server, 40),
            None,
            rounds,
            seconds,
            scratch,
            judged=False,
        ),
    ]
    share = idle(server, 10)
    print(f"one idle page: {share:.2%} of a core   at most 2%   {verdict(share < 0.02)}")
    print(
        f"memory of the server, at most so far: {server.memory:.0f} MiB   at most 150   {verdict(server.memory < 150)}"
    )
    # A page of many events costs by the event: its figure is shown, the two polls of an open page are judged.
    held += [ratio >= 0.5 for ratio in ratios[:2]] + [share < 0.02, server.memory < 150]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
