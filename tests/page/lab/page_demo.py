"""Demo traces: real runs with scripted agents, one for each way a run ends. For the tests and the screenshots."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REQUESTS = {
    "demo0001": "Add a greeting module with a test — naïve café ✓",
    "demo0002": "Rename the configuration key, and leave its readers alone",
    "demo0003": "Run the checks before the release",
    "demo0004": "Say whether main is green",
    "demo0005": "Wait for the nightly data, then import it",
    "demo0006": "Wait for the nightly data, then import it",
    "demo0007": "Add a greeting module, and have it reviewed",
}

CONFIG = """\
agents:
  - {name: planner, coding_agent: scripted, model: scripted/planner.json, color: "#a78bfa", thinking: low,
     purpose: Turn a request into a plan}
  - {name: builder, coding_agent: scripted, model: scripted/builder.json, color: "#34d399", thinking: medium,
     purpose: Write the code that a plan asks for}
  - {name: reviewer, coding_agent: scripted, model: scripted/reviewer.json, color: "#f59e0b", thinking: high,
     purpose: Read the change as its maintainer would}
  - {name: breaker, coding_agent: scripted, model: scripted/breaker.json, purpose: Claims what it did not do}
  - {name: slow, coding_agent: scripted, model: scripted/slow.json, color: "#60a5fa", purpose: Takes its time}
evidence: {publish: false}
"""

Turns = list[dict[str, Any]]


def turn(text: str = "", *tools: tuple[str, dict[str, Any]], seconds: float = 0.05, **usage: int) -> dict[str, Any]:
    """Write one turn of a scripted agent."""
    calls = [{"name": name, "arguments": arguments} for name, arguments in tools]
    return {"text": text, "tools": calls, "seconds": seconds, **usage}


def bash(command: str) -> tuple[str, dict[str, Any]]:
    """Call the shell."""
    return "bash", {"command": command}


def write(path: str, content: str) -> tuple[str, dict[str, Any]]:
    """Write a file."""
    return "write", {"path": path, "content": content}


def envelope(summary: str, *artifacts: str, **more: Any) -> str:
    """Write the reply that an agent hands over."""
    return json.dumps({"status": "success", "summary": summary, "artifacts": list(artifacts), **more})


TEST_FILE = 'from greet import greet\n\n\ndef test_greet() -> None:\n    assert greet("world") == "hello, world"\n'

SCRIPTS: dict[str, list[Turns]] = {
    "planner": [
        [
            turn("I look around first.", ("read", {"path": "README.md"}), bash("ls -la"), input=2100, output=120),
            turn(envelope("Plan written", "specs/missing.md"), seconds=0.15, input=900, output=140),
        ],
        [
            turn("", write("specs/greeting.md", "# Greeting\n\nOne function, one test.\n"), input=620, output=90),
            turn(
                envelope("Plan written", "specs/greeting.md", notes_for_next_agent="see the plan"), input=700, output=80
            ),
        ],
    ],
    "builder": [
        [
            turn("", ("read", {"path": "specs/greeting.md"}), input=1400, output=60),
            turn(
                "",
                write("greet.py", 'def greet(name: str) -> str:\n    return f"hello, {name}"\n'),
                input=1300,
                output=160,
            ),
            turn("", bash("python3 -c 'import greet; print(greet.greet(\"world\"))'"), input=1200, output=70),
            turn("", bash("cat does-not-exist.txt"), input=1150, output=40),
            turn("Done, I think.", seconds=0.2, input=1100, output=90),
        ],
        [
            turn("", write("test_greet.py", TEST_FILE), input=900, output=110),
            turn(
                envelope(
                    "Built greet",
                    "greet.py",
                    "test_greet.py",
                    changed_files=["greet.py", "test_greet.py"],
                    commit_message="feat: greet",
                ),
                input=850,
                output=90,
            ),
        ],
    ],
    "reviewer": [
        [
            turn(
                "", bash("git diff --stat || true"), ("read", {"path": "greet.py"}), seconds=0.2, input=3100, output=210
            ),
            turn(envelope("Reads well; one name could be shorter", "greet.py"), seconds=0.2, input=2800, output=260),
        ]
    ],
    "breaker": [
        [
            turn("", bash("echo trying"), input=1500, output=60),
            turn(envelope("All done", "nope.txt"), input=1400, output=70),
        ],
        [turn(envelope("Done for sure", "nope.txt"), input=1300, output=60)],
    ],
    "slow": [
        [
            *[
                turn(f"Step {number}", bash(f"echo step {number}"), seconds=0.4, input=800, output=50)
                for number in range(1, 4)
            ],
            turn("", bash("cat step-4.txt"), seconds=0.3, input=800, output=50),
            *[turn("", bash("sleep 600"), seconds=0.2, input=700, output=20)],
            turn(envelope("Never gets here")),
        ]
    ],
}

PREAMBLE = """\
import os, signal, sys, time
from pathlib import Path
from agent_workflow.tracer import *
run = ensure(load_config("adws/sssf.config.yaml"), sys.argv[1])
def phase(name, kind, owner, description, retries=0):
    return run.phase(PhaseParams(name=name, kind=kind, owner=owner, description=description, retries=retries))
with phase("request", "engineer", "dev", "Take the ask from the engineer") as ph:
    ph.log(input=REQUEST)
"""

PLAN_AND_BUILD = """
with phase("plan", "agent", "planner", "Turn the ask into a written plan", retries=2) as ph:
    plan = ph.call(AgentCall(output_type=PlanOutput, prompt="Plan it", gates=[artifacts_exist, files_non_empty]))
with phase("build", "agent", "builder", "Write the code that the plan asks for", retries=1) as ph:
    gates = [artifacts_exist, diff_matches_claims]
    built = ph.call(AgentCall(output_type=BuildOutput, prompt="Build it", previous=plan, gates=gates))
with phase("commit", "code", "git", "Record the change in the history") as ph:
    ph.log(committed=True)
"""

NOT_ACCEPTED = """
with phase("test", "code", "quality", "Run the test suite and report") as ph:
    ph.log(passed=3, failed=2)
sys.exit(run.finish(accepted=False, reason="2 tests failed"))
"""

WORKFLOWS = {
    "demo0001": PLAN_AND_BUILD + "time.sleep(6)" + NOT_ACCEPTED,
    "demo0002": """
with phase("break", "agent", "breaker", "Try something whose gate will fail", retries=1) as ph:
    ph.call(AgentCall(output_type=GenericOutput, prompt="Break it", gates=[artifacts_exist]))
sys.exit(run.finish())
""",
    "demo0003": """
with phase("quality", "code", "quality", "Run the checks; this one raises") as ph:
    raise RuntimeError("ruff exited 1")
""",
    "demo0004": NOT_ACCEPTED,
    "demo0005": """
with phase("wait", "code", "quality", "Wait far too long") as ph:
    Path("waiting").touch(); time.sleep(600)
""",
    "demo0006": """
with phase("wait", "code", "quality", "Wait far too long") as ph:
    Path("waiting").touch(); time.sleep(600)
""",
    "demo0007": PLAN_AND_BUILD
    + """
with phase("review", "agent", "reviewer", "Read the change as its maintainer would") as ph:
    ph.call(AgentCall(output_type=GenericOutput, prompt="Review it", previous=built, gates=[artifacts_exist]))
with phase("test", "code", "quality", "Run the test suite and report") as ph:
    ph.log(passed=5, failed=0)
sys.exit(run.finish())
""",
    "live0001": """
with phase("plan", "agent", "planner", "Turn the ask into a written plan", retries=2) as ph:
    ph.call(AgentCall(output_type=PlanOutput, prompt="Plan it", gates=[artifacts_exist]))
with phase("build", "agent", "slow", "Write the code, step by step") as ph:
    ph.call(AgentCall(output_type=GenericOutput, prompt="Build it"))
sys.exit(run.finish())
""",
    "live0002": """
with phase("steps", "agent", "stepper", "Do one thing after another when told to") as ph:
    ph.call(AgentCall(output_type=GenericOutput, prompt="Go"))
sys.exit(run.finish())
""",
}

STEPPER = "  - {name: stepper, coding_agent: scripted, model: scripted/stepper.json, purpose: Waits before each step}\n"


class DemoProject:
    """A repository in which the demo workflows run."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.running: list[subprocess.Popen[bytes]] = []
        if root.exists():
            return  # somebody else's recordings
        (root / "adws").mkdir(parents=True)
        subprocess.run(["git", "init", "-q", str(root)], check=True)
        (root / "README.md").write_text("# A small project\n")
        (root / "adws/sssf.config.yaml").write_text(CONFIG.replace("evidence:", STEPPER + "evidence:"))
        for agent, sends in SCRIPTS.items():
            self.script(agent, *sends)

    @property
    def db(self) -> Path:
        """The trace database."""
        return self.root / "adws/adw_data/sssf.db"

    def script(self, agent: str, *sends: Turns) -> None:
        """Write what an agent does: the turns of each send."""
        (self.root / f"{agent}.json").write_text(json.dumps({"sends": [{"turns": turns} for turns in sends]}))

    def start(self, adw_id: str, workflow: str | None = None) -> subprocess.Popen[bytes]:
        """Start a workflow as a program of its own."""
        script = self.root / "adws/adw_plan_build.py"
        request = REQUESTS.get(adw_id, REQUESTS["demo0001"])
        script.write_text(f"REQUEST = {request!r}\n" + PREAMBLE + (WORKFLOWS[adw_id] if workflow is None else workflow))
        environment = {**os.environ, "USER": "dev", "LOGNAME": "dev", "GIT_CONFIG_GLOBAL": "/dev/null"}
        for name in ("SSSF_DB", "AGENT_WORKFLOW_TRACE"):
            environment.pop(name, None)
        process = subprocess.Popen(
            [sys.executable, str(script), adw_id],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.running.append(process)
        return process

    def run(self, adw_id: str, workflow: str | None = None) -> int:
        """Run a workflow to its end."""
        return self.start(adw_id, workflow).wait(timeout=120)

    def run_and_signal(self, adw_id: str, number: signal.Signals) -> None:
        """Run a workflow into its wait, and end it with a signal."""
        waiting = self.root / "waiting"
        waiting.unlink(missing_ok=True)
        process = self.start(adw_id)
        wait_for(waiting.exists)
        time.sleep(0.3)
        process.send_signal(number)
        process.wait(timeout=60)

    def record_all(self) -> None:
        """Record every way a run ends, oldest first."""
        first = self.start("demo0001")
        # Then it is idle for some seconds, in which nothing looks at the files here.
        wait_for(lambda: len(self.events("demo0001", "phase_end")) == 4)
        for adw_id in ("demo0002", "demo0003", "demo0004"):
            self.run(adw_id)
        self.run_and_signal("demo0005", signal.SIGTERM)
        self.run("demo0007")
        first.wait(timeout=60)
        # The last one: any later run would find it dead and close it.
        self.run_and_signal("demo0006", signal.SIGKILL)

    def events(self, adw_id: str, kind: str) -> list[dict[str, Any]]:
        """Read events of one type."""
        connection = sqlite3.connect(f"file:{self.db}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            rows = connection.execute(
                "SELECT * FROM events WHERE adw_id = ? AND type = ? ORDER BY rowid", (adw_id, kind)
            ).fetchall()
            return [dict(row) for row in rows]
        finally:
            connection.close()

    def close(self) -> None:
        """End what still runs, agents and their tools included."""
        for process in self.running:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(timeout=60)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(timeout=60)


def wait_for(condition: Callable[[], Any], seconds: float = 60) -> Any:
    """Poll until something is true and return it."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            found = condition()
        except (sqlite3.Error, OSError):
            found = None
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("waited in vain")
