"""Recorded workflows, published by the tracer while they run: watched, interrupted, and closed with their seal."""

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from supervisor_lab import CONTAINED, Host, Record, can_contain, command, records, wait_for
from tracer_lab import ENVELOPE, PREAMBLE, Project

from agent_workflow.index_store import query, sync

HANG = """
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(prompt="PLANTED-PROMPT-4711"))
sys.exit(run.finish())
"""
STALLED, MISSING = "process_alive_no_progress", "process_missing"


def start_hung(
    project: Project, tool: str = "touch started; sleep 3600", seconds: float = 0
) -> "subprocess.Popen[bytes]":
    """Start a workflow whose agent hangs: in a tool, or, with seconds, in its second answer."""
    second = {"text": ENVELOPE, "seconds": seconds}
    project.script(
        [{"text": "PLANTED-OUTPUT-4711", "tools": [{"name": "bash", "arguments": {"command": tool}}]}, second]
    )
    process = project.start(HANG, "run1")
    project.wait_for_agent("run1")
    return process


def run_of(host: Host) -> Path:
    """Return the published run's directory."""
    return host.root / "runs" / "run1"


def events(host: Host, name: str) -> list[Record]:
    """Read a journal of the run."""
    return records(run_of(host) / name)


def said(host: Host) -> list[tuple[str, str]]:
    """Return category and state of the incident events in order."""
    return [(item["category"], item["state"]) for item in events(host, "incident-events.jsonl")]


def test_busy_silent_tool_is_no_stall(host: Host, project: Project) -> None:
    """The agent's stream leaves a tool call open: it works, however long it is silent."""
    process = start_hung(project)
    for _ in range(5):
        report = host.look(700)
    process.kill()
    process.communicate(timeout=60)

    assert [] == said(host)
    assert ["working"] == [health.condition for health in report.health]
    sample = events(host, "run-health-samples.jsonl")[-1]
    assert process.pid == sample["runner"]["pid"]
    assert sample["executor"]["parent_pid"] == process.pid
    assert sample["output_bytes"] > 0


def test_dead_model_connection_is_a_stall_and_is_interrupted(host: Host, project: Project) -> None:
    """Alive, no tool open, nothing printed: told. When asked, SIGINT lets the workflow end itself and say why."""
    process = start_hung(project, "touch started", seconds=3600)
    wait_for(
        lambda: (
            b"turn_start" in (project.files("run1") / "builder/raw_output.jsonl").read_bytes().split(b"turn_end")[-1]
        )
    )
    host.look()
    host.settings = replace(host.settings, interrupt_stalled=True)
    for _ in range(3):
        host.look(400)
    process.communicate(timeout=60)
    wait_for((run_of(host) / "final-receipt.json").exists)

    assert (STALLED, "open") == said(host)[0]
    done = [(item["rule_id"], item["outcome"]) for item in events(host, "remediation-events.jsonl")]
    assert [("interrupt-stalled/v1", "intended"), ("interrupt-stalled/v1", "applied")] == done
    assert "interrupted" == json.loads((run_of(host) / "final-status.json").read_bytes())["status"]
    assert () == sync(host.root).errors


def test_killed_workflow_is_closed_with_its_incident_in_the_seal(host: Host, project: Project) -> None:
    """One look finds it, tells it, closes trace and run, and seals: the index verifies, and shows it."""
    process = start_hung(project)
    host.look()
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: [row["ended_at"] for row in project.rows("processes", "run1")] and not _agents_alive(project))

    done = command(host.root, "supervisor", "once")

    assert (0, "") == (done.returncode, done.stderr)
    assert [(MISSING, "open"), (MISSING, "resolved")] == said(host)
    rule = "finalize-lost/v1"
    assert [(rule, "intended"), (rule, "applied")] == [
        (item["rule_id"], item["outcome"]) for item in events(host, "remediation-events.jsonl")
    ]
    assert "fail" == project.session("run1")["status"]
    assert () == sync(host.root).errors
    rows: Any = query(host.root, "runs").to_document()["rows"]
    assert [("lost", 1, 0)] == [
        (row["executor_result"], row["evidence_complete"], row["open_incident_count"]) for row in rows
    ]
    assert "1 ended" in command(host.root, "supervisor", "once").stdout


@pytest.mark.skipif(not can_contain(), reason="only root, with util-linux, makes a pid namespace")
def test_run_in_a_container_is_lost_only_when_it_is(host: Host, project: Project) -> None:
    """Its pid is that of another program here. It is known by its start, and not taken for gone while it lives."""
    hang = {"name": "bash", "arguments": {"command": "touch started; sleep 3600"}}
    project.script([{"text": "", "tools": [hang]}])
    script = project.root / "adws/adw_run1.py"
    script.write_text(PREAMBLE + HANG)
    words = [*CONTAINED, sys.executable, str(script), "run1"]
    process = subprocess.Popen(words, cwd=project.root, env=project.environment, stdin=subprocess.DEVNULL)
    project.wait_for_agent("run1")

    alive = host.look_anew()
    process.kill()
    process.wait()
    wait_for(lambda: host.look_anew().remediations)

    assert ("unknown", []) == (alive.health[0].condition, alive.incidents)
    assert [(MISSING, "open"), (MISSING, "resolved")] == said(host)
    assert "fail" == project.session("run1")["status"]


def _agents_alive(project: Project) -> bool:
    return any(
        Path(f"/proc/{row['pid']}").exists() for row in project.rows("processes", "run1") if row["kind"] == "agent"
    )


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 3])
def test_supervisors_that_are_killed_one_after_the_other(host: Host, project: Project, step: int) -> None:
    """Each gets a few writes further; in the end there is one incident, one attempt, one seal that holds."""
    process = start_hung(project)
    host.look()
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not _agents_alive(project))
    mortal = Path(__file__).with_name("lab") / "mortal_supervisor.py"
    for number in range(40):
        words = [
            sys.executable,
            str(mortal),
            str(host.root),
            str(step + number // 4),
            "half" if number % 2 else "whole",
        ]
        done = subprocess.run(words, capture_output=True, timeout=120)
        if done.returncode == 0:
            break
        assert -signal.SIGKILL == done.returncode, done.stderr
    host.look_anew()

    assert (run_of(host) / "final-receipt.json").exists()
    assert [(MISSING, "open"), (MISSING, "resolved")] == said(host)
    assert ["intended", "applied"] == [item["outcome"] for item in events(host, "remediation-events.jsonl")]
    assert () == sync(host.root).errors


def test_nothing_of_a_run_is_copied(host: Host, project: Project) -> None:
    """Planted texts of prompt, reply, argument and tool are nowhere in the state root, nor in what is printed."""
    process = start_hung(project, "touch started; echo PLANTED-ARGUMENT-4711; sleep 3600")
    printed = command(host.root, "supervisor", "once")
    process.kill()
    process.communicate(timeout=60)
    wait_for(lambda: not _agents_alive(project))
    printed_json = command(host.root, "supervisor", "once", "--json")

    assert b"PLANTED-ARGUMENT-4711" in (project.files("run1") / "builder/raw_output.jsonl").read_bytes()
    assert 1 == len(json.loads(printed_json.stdout)["remediations"])
    for text in (printed.stdout, printed.stderr, printed_json.stdout, printed_json.stderr):
        assert "PLANTED" not in text
    for path in host.root.rglob("*"):
        assert path.is_dir() or b"PLANTED" not in path.read_bytes(), path
