"""What the tests stand on: a scripted model server, and workflows run as programs of their own."""

import contextlib
import io
import json
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from unittest import mock

from model_formats import events, refusal

from agent_workflow.cli._app import run

ROOT = Path(__file__).parents[3]
PI_CLI = ROOT / ".tools/pi/node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
TABLES = ("sessions", "phases", "events", "envelopes", "gate_results", "processes", "agent_sessions")
ENVELOPE = json.dumps({"summary": "done", "artifacts": ["out.md"]})


def usage(number: int) -> dict[str, Any]:
    """Make up the usage of a model call: 100 + 10n fresh, 50 + n out (20 of it thinking), 1000n from the cache."""
    cached = 1000 * number
    prompt, completion = 100 + 10 * number + cached, 50 + number
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": cached},
        "completion_tokens_details": {"reasoning_tokens": 20},
    }


@dataclass
class Turn:
    """One answer of the model server."""

    text: str = ""
    tools: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    status: int = 200
    error: str = "scripted failure"
    finish: str = ""
    hold: float = 0.0
    usage: dict[str, Any] | None = None


class ModelServer:
    """Answers as several providers do, with the turns of a script, in order; afterwards repeats the last.

    ``/v1/chat/completions`` is OpenAI's, ``/v1/responses`` its newer one, ``/v1/messages`` Anthropic's, ``/v1beta/…``
    Google's. A request to name a conversation takes no turn.
    """

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.requests: list[dict[str, Any]] = []
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                """Say nothing."""

            def do_POST(self) -> None:
                """Play the next turn."""
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                asks_for_title = b"You are a title generator" in json.dumps(body).encode()
                number, turn = (0, Turn("A title")) if asks_for_title else server.next_turn(body)
                try:
                    self._answer(number, turn)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True

            def _answer(self, number: int, turn: Turn) -> None:
                time.sleep(turn.hold)
                if turn.status != 200:
                    data = json.dumps(refusal(self.path, turn.status, turn.error)).encode()
                    self.send_response(turn.status)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                    return
                self.send_response(200)
                self.send_header("content-type", "text/event-stream")
                self.send_header("connection", "close")
                self.end_headers()
                if self.path.startswith("/v1/chat/completions"):
                    for chunk in chunks(number, turn):
                        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
                    self.wfile.write(b"data: [DONE]\n\n")
                else:
                    for name, event in events(self.path, number, turn):
                        head, kind = (f"event: {name}\n", {"type": name}) if name else ("", {})
                        self.wfile.write(f"{head}data: {json.dumps({**kind, **event})}\n\n".encode())
                self.close_connection = True

        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._httpd.daemon_threads = True
        self.port = self._httpd.server_address[1]
        threading.Thread(target=self._httpd.serve_forever, daemon=True).start()

    def next_turn(self, body: dict[str, Any]) -> tuple[int, Turn]:
        """Take a request and say how to answer it."""
        with self._lock:
            self.requests.append(body)
            number = len(self.requests) - 1
            return number, self.turns[min(number, len(self.turns) - 1)]

    def close(self) -> None:
        """Stop."""
        self._httpd.shutdown()
        self._httpd.server_close()


def chunks(number: int, turn: Turn) -> Iterator[dict[str, Any]]:
    """Write a turn as the chunks of a streamed completion."""
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}

    def choice(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    for start in range(0, len(turn.text), 4000):
        yield choice({"role": "assistant", "content": turn.text[start : start + 4000]})
    for index, (name, arguments) in enumerate(turn.tools):
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": index, "id": f"call_{number}_{index}", "type": "function", "function": function}
        yield choice({"role": "assistant", "tool_calls": [call]})
    yield choice({}, turn.finish or ("tool_calls" if turn.tools else "stop"))
    yield {**head, "choices": [], "usage": turn.usage or usage(number)}


@dataclass
class Project:
    """A repository with a configuration, in which workflows are run.

    Attributes:
        root: its folder.
        environment: of every workflow.
        is_tampered_with: a test has damaged what was published, on purpose.
    """

    root: Path
    environment: dict[str, str]
    is_tampered_with: bool = False

    @property
    def db(self) -> Path:
        """The trace database."""
        return self.root / "adws/adw_data/sssf.db"

    @property
    def data_dir(self) -> Path:
        """Where the sessions are."""
        return self.root / "adws/adw_data"

    @property
    def state_root(self) -> Path:
        """Where its runs are published."""
        return Path(self.environment["AGENT_WORKFLOW_STATE_ROOT"])

    def published(self, session_id: str) -> Path:
        """Return a published run's directory."""
        return self.state_root / "runs" / session_id

    def files(self, adw_id: str) -> Path:
        """Return a session's directory."""
        return self.data_dir / "sessions" / adw_id

    def configure(self, text: str) -> None:
        """Write the configuration."""
        (self.root / "adws").mkdir(exist_ok=True)
        (self.root / "adws/sssf.config.yaml").write_text(text)

    def script(self, *sends: Sequence[Any]) -> None:
        """Configure a builder that plays a script: the turns of each send."""
        self.configure(SCRIPTED_CONFIG)
        (self.root / "script.json").write_text(json.dumps({"sends": [{"turns": turns} for turns in sends]}))

    def start(self, workflow: str, adw_id: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a workflow (its body; ``run`` is there already) as a program of its own."""
        script = self.root / f"adws/adw_{adw_id}.py"
        script.write_text(PREAMBLE + workflow)
        return subprocess.Popen(
            [sys.executable, str(script), adw_id],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def run(self, workflow: str, adw_id: str, timeout: float = 120) -> "Finished":
        """Run a workflow to its end."""
        process = self.start(workflow, adw_id)
        out, err = process.communicate(timeout=timeout)
        return Finished(process.returncode, out.decode(), err.decode())

    def cli(self, *arguments: str, code: int = 0) -> "Finished":
        """Run an agent-workflow command in the repository, within this process: starting Python costs more than it."""
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.chdir(self.root),
            mock.patch.dict(os.environ, self.environment, clear=True),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            ended = run(arguments)
        finished = Finished(ended, out.getvalue(), err.getvalue())
        assert code == finished.code, finished
        return finished

    def rows(self, table: str, adw_id: str | None = None) -> list[dict[str, Any]]:
        """Read rows of a table in their order."""
        connection = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            condition = "" if adw_id is None else " WHERE adw_id = ?"
            found = connection.execute(f"SELECT * FROM {table}{condition} ORDER BY rowid", [adw_id] if adw_id else [])
            return [dict(row) for row in found.fetchall()]
        finally:
            connection.close()

    def session(self, adw_id: str) -> dict[str, Any]:
        """Read the row of a session."""
        return self.rows("sessions", adw_id)[0]

    def events(self, adw_id: str, *types: str) -> list[dict[str, Any]]:
        """Read events with their payloads parsed."""
        found = [{**row, "payload": json.loads(row["payload_json"])} for row in self.rows("events", adw_id)]
        return [row for row in found if not types or row["type"] in types]

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        """Read all seven tables, each sorted, for comparison."""
        return {table: sorted((tuple(row.values()) for row in self.rows(table)), key=repr) for table in TABLES}

    def wait_for(self, condition: Callable[[], Any], seconds: float = 120) -> Any:
        """Poll until something is true and return it."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                found = condition()
            except (sqlite3.Error, IndexError, OSError):
                found = None
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError("waited in vain")

    def wait_for_agent(self, adw_id: str = "run1") -> None:
        """Wait until the agent's tool has made the file ``started`` and the agent's process is in the database.

        The agent is recorded once it runs, so that its tool may be faster than its row.
        """
        self.wait_for((self.root / "started").exists)
        self.wait_for(lambda: [row for row in self.rows("processes", adw_id) if row["kind"] == "agent"])


@dataclass
class Finished:
    """How a workflow ended."""

    code: int
    out: str
    err: str


PREAMBLE = """\
import json, os, signal, subprocess, sys, time
from pathlib import Path
from agent_workflow.tracer import *
run = ensure(load_config("adws/sssf.config.yaml"), sys.argv[1])
def phase(name, kind="code", owner="ci", description="Do what the test asks for", retries=0):
    return run.phase(PhaseParams(name=name, kind=kind, owner=owner, description=description, retries=retries))
"""

SCRIPTED_CONFIG = """\
agents:
  - {name: builder, coding_agent: scripted, model: scripted/script.json}
"""

PI_CONFIG = """\
agents:
  - name: builder
    coding_agent: pi
    model: local/scripted
    thinking: medium
    color: "#34d399"
    purpose: Build it
"""


def processes_below(root: Path) -> dict[int, str]:
    """Find living processes that work in a folder."""
    found = {}
    for entry in Path("/proc").iterdir() if Path("/proc/self").exists() else ():
        if not entry.name.isdigit():
            continue
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and (entry / "cwd").readlink().is_relative_to(root):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found
