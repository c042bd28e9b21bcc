"""Recorded commands as evidence: good, failing, killed in every way, and what ``trace kill`` makes of one."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from published import document, moves, verified
from tracer_lab import Project

from agent_workflow.tracer import kill_session
from agent_workflow.tracer._processes import find

AGENT_WORKFLOW = str(Path(sys.executable).with_name("agent-workflow"))
SECONDS = 120.0


def run(project: Project, *words: str, options: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[bytes]":
    """Record a command in a project."""
    return subprocess.run(
        [AGENT_WORKFLOW, "run", *options, "--", *words],
        cwd=project.root,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
    )


def start(project: Project, script: str, *interpreter: str) -> "subprocess.Popen[bytes]":
    """Record a script, a shell's by default, that makes a file ``in`` at work; return once its process is recorded."""
    process = subprocess.Popen(
        [AGENT_WORKFLOW, "run", "--", *(interpreter or ("sh",)), "-c", script],
        cwd=project.root,
        env=project.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    project.wait_for((project.root / "in").exists)
    project.wait_for(lambda: "agent" in [row["kind"] for row in rows(project, "processes")])
    return process


def rows(project: Project, table: str) -> list[dict[str, Any]]:
    """Read a table, which may not be there yet."""
    return project.rows(table) if project.db.exists() and project.db.stat().st_size else []


def only_run(project: Project) -> Path:
    """Return the directory of the only run, whose seal the index finds good."""
    (name,) = verified(project.state_root)
    return project.published(name)


def is_sealed(project: Project) -> bool:
    """Tell whether the newest session's run is sealed."""
    return (project.published(project.rows("sessions")[-1]["adw_id"]) / "final-receipt.json").exists()


@pytest.mark.parametrize(
    ("script", "expected", "result"),
    [
        ("echo out; echo err >&2", ("completed", None), (0, None, "none")),
        ("echo out; echo err >&2; exit 3", ("failed", "agent_failed"), (3, None, "nonzero-exit")),
        ("echo out; echo err >&2; kill -KILL $$", ("failed", "agent_failed"), (137, 9, "signal")),
    ],
)
def test_how_a_command_ended(
    project: Project, script: str, expected: tuple[str, str | None], result: tuple[int, int | None, str]
) -> None:
    """Its own exit code or signal, and what it printed."""
    run(project, "sh", "-c", script)

    found = only_run(project)
    status, process = document(found, "final-status.json"), document(found, "process-result.json")
    assert expected == (status["executor_result"], status["failure_category"])
    assert result == (process["exit_code"], process["signal"], process["error_category"])
    assert (4, 4, False) == (process["stdout_bytes"], process["stderr_bytes"], process["cancelled"])
    assert result[0] == document(found, "run-provenance.json")["exit_code"]


def test_what_it_is_called(project: Project) -> None:
    """The name that the trace shows and the command's program; the repository's own agents are no part of it."""
    project.configure("agents: [{name: builder, coding_agent: pi}]\n")
    run(project, "sh", "-c", "true", options=("--name", "nightly"))

    launch = document(only_run(project), "launch-contract.json")
    assert ("nightly", []) == (launch["workflow"]["name"], launch["agents"])
    assert ["sh"] == document(only_run(project), "run-provenance.json")["argv"]
    assert ["nightly"] == [row["workflow_id"] for row in verified(project.state_root).values()]


def test_an_agent_that_is_named_is_in_the_launch_contract(project: Project) -> None:
    """So that whoever watches the run knows whose stream it prints."""
    run(project, "true", options=("--agent", "claude_code"))

    agents = document(only_run(project), "launch-contract.json")["agents"]
    assert [{"name": "claude_code", "coding_agent": "claude_code", "model": None}] == agents


def test_nothing_of_the_command_line_is_published(project: Project) -> None:
    """No argument, no request, nothing that was printed."""
    run(project, "sh", "-c", "echo SECRET-out; exit 1", "SECRET-argument", options=("--request", "SECRET-request"))

    assert not [path for path in only_run(project).iterdir() if b"SECRET" in path.read_bytes()]


def test_front_is_killed(project: Project) -> None:
    """The recorder ends the command and seals the run as interrupted."""
    with start(project, "touch in; sleep 300") as process:
        process.kill()
    project.wait_for(lambda: is_sealed(project))

    found = only_run(project)
    status, result = document(found, "final-status.json"), document(found, "process-result.json")
    assert ("interrupted", "interrupted") == (status["executor_result"], status["failure_category"])
    assert (9, True, 137) == (result["signal"], result["cancelled"], result["exit_code"])
    assert ["running", "fail"] == moves(found, "phase:run")


def test_recorder_is_killed(project: Project) -> None:
    """The next recorded command of the database closes and seals what it left."""
    with start(project, "touch in; while [ ! -e out ]; do sleep 0.05; done") as process:
        (recorder,) = [row["pid"] for row in project.rows("processes") if row["kind"] == "adw"]
        lost = project.rows("sessions")[-1]["adw_id"]
        os.kill(recorder, signal.SIGKILL)
        project.wait_for(lambda: getattr(find(recorder), "is_zombie", True))
        (project.root / "out").touch()
        assert 0 == process.wait(SECONDS)
    run(project, "true")

    found = verified(project.state_root)
    assert 2 == len(found)
    assert "executor-lost" == found[lost]["attempt_classification"]
    assert not (project.published(lost) / "process-result.json").exists()


@pytest.mark.parametrize("code", [0, 3])
def test_trace_kill_is_no_success(project: Project, code: int) -> None:
    """Though the command ends well when it is told to end; its caller gets its exit code all the same."""
    # No shell: dash may forget a signal that comes while it starts a program.
    script = f"""
import os, pathlib, signal
signal.signal(signal.SIGTERM, lambda *_: os._exit({code}))
pathlib.Path("in").touch()
while True:
    signal.pause()
"""
    with start(project, script, sys.executable) as process:
        adw_id = project.rows("sessions")[-1]["adw_id"]
        report = kill_session(project.db, project.data_dir, adw_id, print, grace_seconds=60)
        process.wait(SECONDS)

    found = only_run(project)
    status = document(found, "final-status.json")
    assert report.is_over
    assert "fail" == project.session(adw_id)["status"]
    assert ("interrupted", "interrupted") == (status["executor_result"], status["failure_category"])
    assert document(found, "process-result.json")["cancelled"]
    assert [True] == [event["payload"]["asked_to_end"] for event in project.events(adw_id, "log")]


def test_trace_kill_that_gave_up(project: Project) -> None:
    """A run that outlives it and ends well has ended well; the trace says that it was asked."""
    body = """
signal.signal(signal.SIGTERM, signal.SIG_IGN)
with phase("work"):
    Path("in").touch()
    while not Path("out").exists():
        time.sleep(0.02)
sys.exit(run.finish())
"""
    process = project.start(body, "run1")
    project.wait_for((project.root / "in").exists)
    report = kill_session(project.db, project.data_dir, "run1", print, grace_seconds=0.2)
    (project.root / "out").touch()
    process.communicate(timeout=SECONDS)

    notes = [event["payload"]["asked_to_end"] for event in project.events("run1", "log") if event["name"] == "kill"]
    assert (False, [True, False]) == (report.is_over, notes)
    assert (0, "success") == (process.returncode, project.session("run1")["status"])
    assert "acceptance-eligible" == verified(project.state_root)["run1"]["attempt_classification"]


def test_a_session_of_the_original_tracer_is_ended_without_a_note(project: Project) -> None:
    """It has no file of rows; one that holds the note alone would hide what the database has."""
    from agent_workflow.tracer._kill_request import note_kill

    folder = project.files("old")
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_text(json.dumps({"event_id": "evt_1", "ts": "x", "type": "log"}) + "\n")

    assert not note_kill(project.db, project.data_dir, "old", print, asked_to_end=True)
    assert not (folder / "state.jsonl").exists()
