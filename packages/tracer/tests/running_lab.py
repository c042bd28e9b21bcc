"""What the tests of running stand on: commands run bare and recorded, and what was recorded of them."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RUN = [sys.executable, "-m", "agent_workflow.tracer.running"]
SECONDS = 120.0
"""How long anything is waited for: the machine may be busy with other things."""


class Lab:
    """A folder in which commands are recorded.

    Attributes:
        root: the folder, a repository of its own.
        environment: of what is run there.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.environment = {
            key: value
            for key, value in os.environ.items()
            if key not in ("SSSF_DB", "AGENT_WORKFLOW_STATE_ROOT", "AGENT_WORKFLOW_TRACE")
        } | {"HOME": str(root / "home"), "XDG_STATE_HOME": str(root.parent / "state")}
        (root / ".git").mkdir()

    @property
    def data_dir(self) -> Path:
        """Where sessions are kept without a configuration."""
        return self.root / ".sssf/data"

    def recorded(
        self, *command: str, options: tuple[str, ...] = (), **how: Any
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command behind the recorder."""
        return self.bare(*RUN, *options, "--", *command, **how)

    def bare(self, *command: str, **how: Any) -> "subprocess.CompletedProcess[bytes]":
        """Run a command as it is."""
        if "stdout" not in how:
            how["capture_output"] = True
        if "input" not in how:
            how.setdefault("stdin", subprocess.DEVNULL)
        return subprocess.run(list(command), cwd=self.root, env=self.environment, timeout=SECONDS, check=False, **how)

    def start(self, *command: str, options: tuple[str, ...] = (), **how: Any) -> "subprocess.Popen[bytes]":
        """Start a command behind the recorder."""
        how = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **how}
        return subprocess.Popen([*RUN, *options, "--", *command], cwd=self.root, env=self.environment, **how)

    def rows(self, table: str, db: Path | None = None) -> list[dict[str, Any]]:
        """Read a table."""
        connection = sqlite3.connect(f"file:{db or self.data_dir / 'sssf.db'}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            return [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid")]
        finally:
            connection.close()

    def session(self) -> dict[str, Any]:
        """Read the newest session."""
        return self.rows("sessions")[-1]

    def events(self, *types: str) -> list[dict[str, Any]]:
        """Read events with their payloads parsed."""
        found = [{**row, "payload": json.loads(row["payload_json"])} for row in self.rows("events")]
        return [row for row in found if row["type"] in types]

    def end(self) -> dict[str, Any]:
        """Read the payload of the newest ``agent_end``."""
        payload: dict[str, Any] = self.events("agent_end")[-1]["payload"]
        return payload

    def stored(self, name: str = "raw_output.jsonl") -> bytes:
        """Read what is stored of the only command's output."""
        (file,) = self.data_dir.glob(f"sessions/*/*/{name}")
        return file.read_bytes()


def wait_for_pid(file: Path) -> int:
    """Wait until a file has a process's number and return it."""
    return int(wait_for(lambda: int(file.read_text()), str(file)))


def wait_for_end(pid: int) -> None:
    """Wait until a process has ended."""
    wait_for(lambda: not is_alive(pid), f"the end of process {pid}")


def wait_for(condition: Callable[[], Any], what: str) -> Any:
    """Poll until something is true and return it."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            found = condition()
        except (sqlite3.Error, OSError, ValueError, IndexError):
            found = None
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"waited in vain for {what}")


def is_alive(pid: int) -> bool:
    """Tell whether a process runs; a zombie does not."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.strip().startswith(b"Z")
