"""Measure what a tab of a real Chromium holds, and how soon it shows something: the list, and a long session.

usage: python tab.py [--trace FILE] [--sessions N] [--events N] [--large-every N]

By default every event of the session has a payload of 200 KB, but there are 5,000 of them (1 GB), not 50,000 (10 GB).
No developer tool looks on while memory is measured: it would keep every reply in the tab. Afterwards one is attached to
read from the screen that everything is there. Without Chromium nothing is measured.
"""

import argparse
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from bench_servers import Server, started
from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
BIG = "b1600000"
LIMIT_MB = 300
SERVER_LIMIT_MB = 150
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
QUIET = 0.02
"""The share of a core below which the server has nothing more to send than answers to idle polls."""


def chromium_path() -> str | None:
    """Find the machine's Chromium."""
    found = (os.environ.get("AGENT_WORKFLOW_CHROMIUM"), "/usr/bin/chromium")
    return next((path for path in found if path and Path(path).exists()), None)


@contextmanager
def browser(path: str, address: str) -> Iterator[tuple[psutil.Process, int]]:
    """Open an address in a browser of its own; gives its process and the port for developer tools."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = int(listener.getsockname()[1])
    with tempfile.TemporaryDirectory(prefix="agent-workflow-tab-", ignore_cleanup_errors=True) as profile:
        command = [path, *FLAGS, f"--user-data-dir={profile}", f"--remote-debugging-port={port}", address]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield psutil.Process(process.pid), port
        finally:
            process.terminate()
            process.wait()


def tab(process: psutil.Process) -> tuple[int, int]:
    """Return resident and private memory of the largest renderer, in MB."""
    largest = (0, 0)
    for child in process.children(recursive=True):
        try:
            if "--type=renderer" in child.cmdline():
                memory = child.memory_full_info()
                largest = max(largest, (memory.rss // 1_000_000, memory.uss // 1_000_000))
        except psutil.Error:
            continue
    return largest


def settle(process: psutil.Process, server: Server) -> tuple[int, int]:
    """Wait until the server rests for ten seconds, ten minutes at most; return the largest memory on the way."""
    most, rests, before = (0, 0), 0, server.cpu
    for _ in range(300):
        time.sleep(2)
        most = max(most, tab(process))
        now = server.cpu
        rests = rests + 1 if now - before < 2 * QUIET else 0
        before = now
        if rests == 5:
            break
    return most


def measure(path: str, server: Server, name: str, address: str, seen: str) -> bool:
    """Open an address, let it come to rest, and print what it took."""
    with browser(path, f"http://127.0.0.1:{server.port}/{address}") as (process, port):
        resident, private = settle(process, server)
        with sync_playwright() as playwright:
            attached = playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
            page = attached.contexts[0].pages[0]
            shown = page.locator(seen).first.inner_text().replace("\n", " ")[:60]
            first = paint(page)
            heap = page.context.new_cdp_session(page).send("Runtime.getHeapUsage")["usedSize"] / 1e6
    holds = resident < LIMIT_MB
    print(f"{name}: {resident} MB resident, {private} MB of its own, scripts {heap:.0f} MB   {verdict(holds)}")
    print(f"    first paint after {first:.2f} s; at the end it says: {shown}")
    return holds


def paint(page: Page) -> float:
    """Return the seconds from navigation to the first paint with content."""
    entries = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN"
    return float(page.evaluate(entries)) / 1000


def verdict(holds: bool) -> str:
    """Write whether a figure is what it should be."""
    return "holds" if holds else "EXCEEDED"


def main() -> int:
    """Measure and print; 1 where a figure is not what it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, help="a database that workload.py made")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=5_000)
    parser.add_argument("--large-every", type=int, default=1)
    given, _ = parser.parse_known_args()
    path = chromium_path()
    if path is None:
        print("no Chromium: not measured")
        return 0
    with tempfile.TemporaryDirectory(prefix="agent-workflow-bench-") as name:
        trace = given.trace or Path(name) / "sssf.db"
        if given.trace is None:
            sizes = (f"--sessions={given.sessions}", f"--events={given.events}", f"--large-every={given.large_every}")
            subprocess.run([sys.executable, str(HERE / "workload.py"), str(trace), *sizes], check=True)
        serving = ("-m", "agent_workflow.visualizer", "--port", "0", "--state-root", f"{name}/none", "--db", str(trace))
        with started(*serving) as server:
            held = [
                measure(path, server, "list of sessions", "", "h1"),
                measure(path, server, "session of large events", f"#/s/{BIG}", ".events-section .push"),
                server.memory < SERVER_LIMIT_MB,
            ]
            print(f"server: {server.memory:.0f} MiB at most   {verdict(held[-1])}")
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
