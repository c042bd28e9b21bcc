"""Measure the page's server against a bare Starlette route that returns the same bytes, in the same run.

usage: python bench.py [--small] [--rounds N] [--trace FILE] [--sessions N] [--events N] [--large-every N]

Both servers are uvicorn processes of their own with the same settings; one process with a few connections kept alive
asks them in turns. Figures are medians over the rounds, because a shared machine changes its speed. Arguments of other
benchmarks are ignored.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from bench_servers import Connection, Server, request, started

HERE = Path(__file__).parent
BIG = "b1600000"
CONNECTIONS = 4


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
        return f"{per_second:8.0f} /s   p50 {p50:6.2f} ms   p99 {p99:6.2f} ms   {self.cpu_each:6.0f} µs of CPU each"

    @property
    def cpu_each(self) -> float:
        """Microseconds of CPU for a request; steadier than the rate where others use the machine."""
        return statistics.median(self.cpu)


def load(server: Server, paths: Sequence[str], etag: str | None, seconds: float, rate: Rate) -> None:
    """Ask one path after the other, again and again, over a few connections; each has one request on its way."""
    connections = [Connection(server.port) for _ in range(CONNECTIONS)]
    requests = cycle([request(server.port, path, etag) for path in paths])
    took: list[float] = []
    sent = [0.0] * CONNECTIONS
    for number, connection in enumerate(connections):
        connection.send(next(requests))
        sent[number] = time.perf_counter()
    began, cpu = time.perf_counter(), server.cpu
    while time.perf_counter() - began < seconds:
        for number, connection in enumerate(connections):
            connection.receive()
            took.append(time.perf_counter() - sent[number])
            sent[number] = time.perf_counter()
            connection.send(next(requests))
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
    paths: Sequence[str],
    etag: str | None,
    rounds: int,
    seconds: float,
    scratch: Path,
    *,
    judged: bool = True,
) -> float:
    """Load the page's server and the floor in turns, and print both; return page over floor.

    Paths are asked one after the other and must be answered with the same bytes.
    """
    status, headers, body = Connection(server.port).ask(paths[0], etag)
    kept = scratch / "body"
    kept.write_bytes(body)
    floor_rate, page_rate = Rate(), Rate()
    with started(str(HERE / "floor.py"), str(kept), str(status), headers.get("etag", "")) as floor:
        for _ in range(rounds):
            load(floor, ["/same"], etag, seconds, floor_rate)
            load(server, paths, etag, seconds, page_rate)
    ratios = [page / bare for page, bare in zip(page_rate.per_second, floor_rate.per_second, strict=True)]
    ratio = statistics.median(ratios)
    bound = f"   at least 0.50   {verdict(ratio >= 0.5)}" if judged else ""
    print(f"{name}: {status}, {len(body):,} bytes")
    print(f"    bare Starlette   {floor_rate.line()}")
    print(f"    the page's       {page_rate.line()}   ratio {ratio:.2f}{bound}")
    print(f"    by CPU alone the ratio is {floor_rate.cpu_each / page_rate.cpu_each:.2f}")
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


class Poll(NamedTuple):
    """A poll to measure.

    Attributes:
        name: for the report.
        back: so many events are new to the reader.
        asked_before: the same poll again and again, as by several tabs; else one that nobody has asked since the last
            write, and that must be read from the database.
        judged: a page of many events costs by the event; where nobody asked before, that figure is only shown.
    """

    name: str
    back: int
    asked_before: bool
    judged: bool


POLLS = (
    Poll("idle poll of events", 0, True, True),
    Poll("poll with 5 new events", 5, True, True),
    Poll("poll with 40 new events", 40, True, True),
    Poll("poll with 5 new events that nobody asked for before", 5, False, True),
    Poll("poll with 40 new events that nobody asked for before", 40, False, False),
)
FORGOTTEN = range(100, 700)
"""More different limits than the server keeps answers: the bytes are the same, and each is read again."""


def compare_polls(server: Server, kind: Poll, etag: str, rounds: int, seconds: float, scratch: Path) -> float:
    """Measure one kind of poll."""
    path = events_at_the_end(server, kind.back)
    paths = [path] if kind.asked_before else [f"{path}&limit={limit}" for limit in FORGOTTEN]
    known = etag if kind.back == 0 else None
    return compare(kind.name, server, paths, known, rounds, seconds, scratch, judged=kind.judged)


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
    ratios = [compare_polls(server, kind, etag, rounds, seconds, scratch) for kind in POLLS]
    share = idle(server, 10)
    print(f"one idle page: {share:.2%} of a core   at most 2%   {verdict(share < 0.02)}")
    print(
        f"memory of the server, at most so far: {server.memory:.0f} MiB   at most 150   {verdict(server.memory < 150)}"
    )
    held += [ratio >= 0.5 for ratio, kind in zip(ratios, POLLS, strict=True) if kind.judged]
    held += [share < 0.02, server.memory < 150]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
