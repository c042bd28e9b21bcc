"""What the supervisor's tests stand on: a clock to set, real processes, and runs as another system records them."""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from agent_workflow.cli.supervisor.clock import stamp
from agent_workflow.cli.supervisor.cycle import Supervisor
from agent_workflow.cli.supervisor.report import Report
from agent_workflow.cli.supervisor.settings import Settings

Record = dict[str, Any]
PROGRAM = str(Path(sys.executable).with_name("agent-workflow"))
CONTAINED = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")


class SetClock:
    """A clock that only moves when it is told to.

    Real processes do not age with it: a test looks once before it lets time go by, so that a sample knows them.
    """

    def __init__(self) -> None:
        self.wall = datetime.now(UTC)
        self.ran = time.monotonic()

    def now(self) -> datetime:
        """Return the wall's time."""
        return self.wall

    def monotonic(self) -> float:
        """Return seconds of this boot."""
        return self.ran

    def boot(self) -> str:
        """Name the boot."""
        return "the boot of the tests"

    def pass_time(self, seconds: float) -> None:
        """Let time go by."""
        self.wall += timedelta(seconds=seconds)
        self.ran += seconds

    def set_wall(self, seconds: float) -> None:
        """Set the wall's clock forward, or back, without any time going by."""
        self.wall += timedelta(seconds=seconds)


@dataclass
class UntracedRun:
    """A live run as another system records it, of one runner and one executor that really run."""

    directory: Path
    runner: subprocess.Popen[bytes]
    executor: subprocess.Popen[bytes]

    @property
    def name(self) -> str:
        """The run's id."""
        return self.directory.name

    def say(self, file: str, text: str) -> None:
        """Let the executor print something."""
        with (self.directory / file).open("a") as stream:
            stream.write(text)

    def beat(self, at: datetime) -> None:
        """Write the heartbeat."""
        beat = {
            "schema": "agent-workflow/heartbeat/v2",
            "at": stamp(at),
            "executor_pid": self.executor.pid,
            "runner_pid": self.runner.pid,
        }
        (self.directory / "heartbeat.json").write_text(json.dumps(beat))

    def document(self, name: str) -> Record:
        """Read a document of the run."""
        return dict(json.loads((self.directory / name).read_bytes()))

    def records(self, name: str) -> list[Record]:
        """Read a journal of the run, none where it is missing."""
        return records(self.directory / name)


def records(path: Path) -> list[Record]:
    """Read a journal, none where it is missing."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


@dataclass
class Host:
    """A state root with its runs, a clock, and the processes that a test started.

    Attributes:
        settings: without the index, unless a test wants it.
    """

    root: Path
    clock: SetClock = field(default_factory=SetClock)
    settings: Settings = field(
        default_factory=lambda: Settings(sync_index=False, least_memory_bytes=0, least_disk_bytes=0)
    )
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _supervisor: Supervisor | None = None

    def start(self, *words: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a program that is killed with its group at the end of the test."""
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True, **options
        )
        self.started.append(process)
        return process

    def python(self, code: str) -> subprocess.Popen[bytes]:
        """Start a Python program and wait until it has begun."""
        mark = self.root.parent / f"began-{len(self.started)}"
        process = self.start(sys.executable, "-c", f"open({str(mark)!r}, 'w').close()\n{code}")
        wait_for(mark.exists)
        return process

    def sleeper(self) -> subprocess.Popen[bytes]:
        """Start a process that sleeps."""
        return self.start("sleep", "3600")

    def run(
        self, name: str = "run-one", executor: subprocess.Popen[bytes] | None = None, stream_format: str = "text"
    ) -> UntracedRun:
        """Record a live run."""
        directory = self.root / "runs" / name
        directory.mkdir(mode=0o700)
        made = UntracedRun(directory, self.sleeper(), executor or self.sleeper())
        (directory / "status.json").write_text(json.dumps(self._status(made)))
        (directory / "launch-contract.json").write_text(json.dumps(_launch(made, stream_format, self.clock.wall)))
        for prior, new in ((None, "prepared"), ("prepared", "launched"), ("launched", "running")):
            made.say("events.jsonl", json.dumps(_lifecycle(prior, new, self.clock.wall)) + "\n")
        for file in ("output.log", "executor-stderr.log", "executor-events.jsonl"):
            (directory / file).touch()
        made.beat(self.clock.wall)
        return made

    def _status(self, made: UntracedRun) -> Record:
        now = stamp(self.clock.wall)
        return {
            "schema": "agent-workflow/session-status/v2",
            "session_id": made.name,
            "status": "running",
            "created_at": now,
            "updated_at": now,
            "workdir": "/somewhere",
            "prompt_path": str(made.directory / "prompt.md"),
            "log_path": str(made.directory / "output.log"),
            "pane_pid": made.runner.pid,
        }

    def look(self, seconds: float = 0.0) -> Report:
        """Let time go by, then supervise once with the supervisor that remembers."""
        self.clock.pass_time(seconds)
        if self._supervisor is None or self._supervisor.settings != self.settings:
            self._supervisor = Supervisor(self.root, self.settings, self.clock)
        return self._supervisor.cycle()

    def look_anew(self, seconds: float = 0.0) -> Report:
        """Let time go by, then supervise once with a supervisor that was just started."""
        self._supervisor = None
        return self.look(seconds)

    def end_all(self) -> None:
        """Kill what was started, and what it started."""
        for process in self.started:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, 9)
            process.wait()


def _launch(made: UntracedRun, stream_format: str, created_at: datetime) -> Record:
    return {
        "schema": "agent-workflow/launch-contract/v2",
        "version": 2,
        "session": {"id": made.name, "created_at": stamp(created_at), "agent_name": "agent-01", "retry_of": None},
        "worktree": {"path": "/somewhere"},
        "prompt": {"stored": "prompt.md"},
        "command_plan": {"stream_format": stream_format, "executor": None},
        "expected_outputs": {"output_log": "output.log"},
    }


_numbers = {None: 1, "prepared": 2, "launched": 3}


def _lifecycle(prior: str | None, new: str, at: datetime) -> Record:
    return {
        "schema": "agent-workflow/lifecycle-event/v1",
        "sequence": _numbers[prior],
        "timestamp": stamp(at),
        "dimension": "execution",
        "prior": prior,
        "new": new,
        "actor": "runner",
        "reason": "executor state changed",
        "receipt_refs": [],
    }


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Poll until something is true and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := condition():
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")


def command(root: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run the installed command on a state root."""
    return subprocess.run(
        [PROGRAM, "--state-root", str(root), *words], capture_output=True, text=True, timeout=120, **options
    )


def can_contain() -> bool:
    """Tell whether we may make a pid namespace."""
    try:
        return subprocess.run([*CONTAINED, "true"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False
