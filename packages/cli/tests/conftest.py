"""The real command in a real process, behind pipes or in a terminal, and a state root to ask."""

import fcntl
import json
import os
import re
import signal
import struct
import subprocess
import sys
import tarfile
import termios
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

sys.path.insert(0, str(Path(__file__).parent / "lab"))

from invented_runs import sample_runs, write_runs

PROGRAM = str(Path(sys.executable).with_name("agent-workflow"))
BEGIN = datetime(2026, 3, 1, 14, 0, tzinfo=UTC)
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class Ended(NamedTuple):
    """How a process ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """Standard output as the one JSON document that it must be."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        """Standard output by line, without colours."""
        return _COLOURS.sub("", self.out).splitlines()


class CommandLine:
    """Runs the command with an empty home and nothing of the caller's environment that it would obey."""

    def __init__(self, scratch: Path) -> None:
        self.home = scratch / "home"
        self.home.mkdir(exist_ok=True)
        ours = (
            "AGENT_WORKFLOW_STATE_ROOT",
            "XDG_STATE_HOME",
            "COLUMNS",
            "LINES",
            "NO_COLOR",
            "SSSF_DB",
            "PYTHONWARNINGS",
        )
        of_others = (name for name in os.environ if name not in ours and not name.startswith("OTEL_"))
        self.environment = {name: os.environ[name] for name in of_others}
        self.environment |= {"HOME": str(self.home), "TERM": "xterm-256color", "PYTHONWARNINGS": "error"}

    def run(self, *arguments: str, prefix: tuple[str, ...] = (), **environment: str) -> Ended:
        """Run behind pipes."""
        done = subprocess.run(
            [*prefix, PROGRAM, *arguments],
            env=self.environment | environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=240,
            stdin=subprocess.DEVNULL,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def run_in_terminal(self, columns: int, *arguments: str, **environment: str) -> Ended:
        """Run in a terminal so many columns wide; both streams come back as ``out``."""
        master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen(
            [PROGRAM, *arguments],
            env=self.environment | environment,
            cwd=self.home,
            stdin=slave,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        written = _read_all(master)
        os.close(master)
        return Ended(process.wait(timeout=240), written.decode(), "")

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start behind pipes and do not wait."""
        return subprocess.Popen(
            [PROGRAM, *arguments],
            env=self.environment,
            cwd=self.home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


def _read_all(descriptor: int) -> bytes:
    parts = []
    while True:
        try:
            part = os.read(descriptor, 65_536)
        except OSError:  # the last process has closed its side
            break
        if not part:
            break
        parts.append(part)
    return b"".join(parts)


@pytest.fixture(scope="session", autouse=True)
def signals_are_not_ignored() -> Iterator[None]:
    """Let what is started take SIGINT and SIGHUP; in the background or under nohup it would not, by inheritance."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session")
def genuine_streams(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The streams of the real programs, unpacked; tests read them where they are."""
    corpus = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not corpus or not (packed := Path(corpus) / "agent-streams.tar.xz").is_file():
        pytest.skip("AGENT_WORKFLOW_CORPUS names no folder with the genuine streams")
    folder = tmp_path_factory.mktemp("streams")
    with tarfile.open(packed) as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(folder)
    return folder / "streams"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A state root with the four invented runs, not indexed yet."""
    write_runs(tmp_path / "state", sample_runs(BEGIN))
    return tmp_path / "state"


@pytest.fixture
def cli(tmp_path: Path) -> CommandLine:
    """The installed command in an environment of its own."""
    return CommandLine(tmp_path)


@pytest.fixture
def indexed(root: Path, cli: CommandLine) -> Path:
    """A state root with the four invented runs and their index."""
    assert cli.run("index", "sync", "--state-root", str(root)).code == 0
    return root
