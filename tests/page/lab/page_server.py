"""The page's server as a process of its own, and the browser that looks at it."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

expect.set_options(timeout=60_000)  # a busy machine may take its time; nothing here is judged by the clock

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


class Server:
    """``python -m agent_workflow.visualizer`` on a port that the system chooses, the same one when it starts again."""

    def __init__(self, databases: list[Path], state_root: Path, home: Path) -> None:
        self.port = 0
        self._command = [sys.executable, "-m", "agent_workflow.visualizer"]
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
        """Start it; once it has told its address it answers. What it tells later goes to a file: a pipe would fill."""
        environment = {**os.environ, "XDG_STATE_HOME": str(self._home)}
        with tempfile.NamedTemporaryFile("r", prefix="page-server-") as told:
            command = [*self._command, "--port", str(self.port)]
            with open(told.name, "w") as writing:  # noqa: PTH123 - the same file, to write
                self._process = subprocess.Popen(command, env=environment, stderr=writing)
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline:
                told.seek(0)
                if found := re.search(r"http://127\.0\.0\.1:(\d+)/", told.read()):
                    self.port = int(found[1])
                    return
                if self._process.poll() is not None:
                    break
                time.sleep(0.02)
            told.seek(0)
            raise AssertionError(f"the server did not start: {told.read()}")

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(timeout=60)
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
        page.set_default_timeout(60_000)
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
