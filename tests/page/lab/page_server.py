"""The page's server as a process of its own, and the browser that looks at it."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def chromium_path() -> str | None:
    """Find the machine's Chromium."""
    for path in (os.environ.get("AGENT_WORKFLOW_CHROMIUM"), "/usr/bin/chromium"):
        if path and Path(path).exists():
            return path
    return None


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Server:
    """``python -m agent_workflow.visualizer`` on a port of its own."""

    def __init__(self, databases: list[Path], state_root: Path, home: Path, port: int | None = None) -> None:
        self.port = port or free_port()
        self._command = [sys.executable, "-m", "agent_workflow.visualizer", "--port", str(self.port)]
        for database in databases:
            self._command += ["--db", str(database)]
        self._command += ["--state-root", str(state_root)]
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def address(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}/"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self._home)}
        self._process = subprocess.Popen(self._command, env=environment, stderr=subprocess.PIPE)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                with urllib.request.urlopen(f"{self.address}api/projects", timeout=2):
                    return
            except OSError:
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        told = self._process.stderr.read().decode() if self._process.stderr and self._process.poll() is not None else ""
        raise AssertionError(f"the server did not start: {told}")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(timeout=10)
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None


@contextmanager
def browser(path: str) -> Iterator[Browser]:
    """Start the machine's Chromium."""
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


class Looker:
    """Opens pages and remembers everything that went wrong on them."""

    def __init__(self, started: Browser) -> None:
        self._browser = started
        self._contexts: list[BrowserContext] = []
        self.faults: list[str] = []

    def open(
        self, address: str, *, width: int = 1440, height: int = 900, dark: bool = False, still: bool = False
    ) -> Page:
        """Open an address in a profile of its own."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
            timezone_id="UTC",
            locale="en-US",
        )
        self._contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda message: self._heard(message.type, message.text))
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        page.on("requestfailed", lambda request: self._failed(request.url, request.failure))
        page.on("response", lambda reply: self._answered(reply.status, reply.url))
        page.goto(address)
        return page

    def close(self) -> None:
        """Close all pages."""
        for context in self._contexts:
            context.close()

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.faults.append(f"console {kind}: {text}")

    def _failed(self, url: str, reason: str | None) -> None:
        # A poll that its own screen gave up, because somebody went elsewhere, is no fault.
        if reason != "net::ERR_ABORTED":
            self.faults.append(f"failed request: {url} {reason}")

    def _answered(self, status: int, url: str) -> None:
        if status >= 400:
            self.faults.append(f"{status}: {url}")
