"""Agents that wait: one at a prompt in a pseudo-terminal, and a traced one that prints what a test tells it to."""

import fcntl
import json
import os
import select
import shlex
import signal
import struct
import subprocess
import sys
import termios
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from supervisor_lab import Host, UntracedRun, wait_for
from tracer_lab import Project

from agent_workflow.cli.supervisor._permission_screen import visible_lines
from agent_workflow.cli.supervisor.clock import stamp

_AGENT = """
import json, sys, termios
script, answers = json.loads(sys.argv[1]), sys.argv[2]
for part in script:
    sys.stdout.write(part)
    sys.stdout.flush()
    line = sys.stdin.readline()
    with open(answers, "a") as file:
        file.write(line)
"""


@dataclass
class TerminalAgent:
    """A program in a real pseudo-terminal: prints a part of its script, waits for a line, prints the next one.

    Attributes:
        process: the program.
        answers: the file into which it writes what it was answered.
    """

    process: "subprocess.Popen[bytes]"
    answers: Path
    _master: int
    _shown: bytes = b""

    @classmethod
    def start(cls, host: Host, *script: str) -> "TerminalAgent":
        """Start a program that plays a script; it ends with the test."""
        answers = host.root.parent / f"answers-{len(host.started)}"
        return cls.start_program(host, [sys.executable, "-c", _AGENT, json.dumps(script), str(answers)], answers)

    @classmethod
    def start_program(cls, host: Host, words: list[str], answers: Path, **options: Any) -> "TerminalAgent":
        """Start any program in a terminal of 36 lines of 110 columns; it ends with the test."""
        master, slave = os.openpty()
        settings = termios.tcgetattr(slave)
        settings[3] &= ~termios.ECHO  # as programs do that draw their own input line
        termios.tcsetattr(slave, termios.TCSANOW, settings)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 110, 0, 0))
        process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, **options)
        os.close(slave)
        host.started.append(process)
        return cls(process, answers, master)

    def close(self) -> None:
        """Give the terminal back."""
        os.close(self._master)

    def wait_to_show(self, text: str, times: int = 1) -> None:
        """Wait until the terminal has received a text so many times."""
        wait_for(lambda: self._received().count(text.encode()) >= times)

    def wait_to_stand(self, text: str) -> None:
        """Wait until a text can be read on the screen, however it was drawn."""
        wait_for(lambda: any(text in line for line in visible_lines(self._received())))

    def _received(self) -> bytes:
        while select.select([self._master], [], [], 0)[0]:
            self._shown += os.read(self._master, 65536)
        return self._shown

    def answer(self, line: str) -> None:
        """Answer with a line as a person does, at the keyboard."""
        self.press(f"{line}\n")

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    @property
    def was_answered(self) -> str:
        """What it read from its keyboard so far."""
        return self.answers.read_text() if self.answers.exists() else ""

    def capture(self, run: UntracedRun, at: str) -> None:
        """Keep what the terminal received as evidence, as a recorder of terminals does."""
        content = self._shown.decode()
        event = {
            "schema": "agent-workflow/terminal-event/v1",
            "session_id": run.name,
            "recorded_at": at,
            "pane_id": "%1",
            "content_sha256": sha256(self._shown).hexdigest(),
            "content_bytes": len(self._shown),
            "content": content,
        }
        run.say("terminal-events.jsonl", json.dumps(event) + "\n")


_TRACED_AGENT = """
import json, sys, time
from pathlib import Path
inbox = Path(sys.argv[1])
read = 0
while True:
    lines = inbox.read_bytes().split(b"\\n")[:-1] if inbox.exists() else []
    for line in lines[read:]:
        message = json.loads(line)
        stream = sys.stdout if message["to"] == "stdout" else sys.stderr
        stream.write(message["text"])
        stream.flush()
    read = len(lines)
    time.sleep(0.02)
"""

_WORKFLOW = """
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(agent="builder", prompt="Wait"))
run.finish(accepted=True)
"""

_CONFIG = """\
agents:
  - {name: builder, coding_agent: pi, model: local/scripted}
"""


@dataclass
class TracedAgent:
    """A traced run, recorded by a real workflow process, whose agent speaks as pi and prints what it is told to."""

    project: Project
    host: Host
    workflow: "subprocess.Popen[bytes]"
    inbox: Path

    @classmethod
    def start(cls, host: Host) -> "TracedAgent":
        """Start the workflow, and wait until its agent runs and the run is published."""
        base = host.root.parent
        root, inbox = base / "project", base / "inbox"
        root.mkdir()
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        environment = {name: value for name, value in os.environ.items() if name not in ("SSSF_DB",)}
        environment |= {
            "AGENT_WORKFLOW_STATE_ROOT": str(host.root),
            "AGENT_WORKFLOW_PI": shlex.join([sys.executable, "-c", _TRACED_AGENT, str(inbox)]),
            "HOME": str(base),
        }
        project = Project(root, environment)
        project.configure(_CONFIG)
        workflow = project.start(_WORKFLOW, "traced1", start_new_session=True)
        host.started.append(workflow)
        project.wait_for(lambda: [row for row in project.rows("processes") if row["kind"] == "agent"], 60)
        return cls(project, host, workflow, inbox)

    @property
    def run_directory(self) -> Path:
        """The published run."""
        (directory,) = (self.host.root / "runs").iterdir()
        return directory

    def say(self, text: str, to: str = "stdout") -> None:
        """Let the agent print something, and wait until it stands in its raw file."""
        name = "raw_output.jsonl" if to == "stdout" else "stderr.log"
        file = self.project.files("traced1") / "builder" / name
        with self.inbox.open("a") as inbox:
            inbox.write(json.dumps({"to": to, "text": text}) + "\n")
        wait_for(lambda: file.exists() and text.encode() in file.read_bytes())

    def record(self, **fields: object) -> None:
        """Let the agent print a record of its stream."""
        self.say(json.dumps(fields) + "\n")

    def stop(self) -> None:
        """End the workflow, and with it its agent."""
        self.workflow.send_signal(signal.SIGTERM)
        self.workflow.communicate(timeout=60)


def now(host: Host) -> str:
    """Return the time of the test's clock as records have it."""
    return stamp(host.clock.wall)
