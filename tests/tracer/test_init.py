"""A repository's first steps: init, the example workflow, and the recipes that look at it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_lab import Finished, Project, processes_below

LAB = Path(__file__).parent / "lab"


@pytest.fixture
def started(project: Project) -> Project:
    """An empty repository after init, with ``agent-workflow``, ``just`` and this Python on the path."""
    shutil.rmtree(project.root / "adws")
    bin_folder = Path(project.environment["HOME"]) / "bin"
    bin_folder.mkdir()
    command = bin_folder / "agent-workflow"
    command.write_text(f"#!/bin/sh\nexec '{Path(sys.executable).with_name('agent-workflow')}' \"$@\"\n")
    command.chmod(0o755)
    python = bin_folder / "python3"
    python.write_text(f"#!/bin/sh\nexec '{sys.executable}' \"$@\"\n")
    python.chmod(0o755)
    here = Path(sys.executable).parent
    project.environment["PATH"] = os.pathsep.join([str(bin_folder), str(here), project.environment["PATH"]])
    if shutil.which("just", path=project.environment["PATH"]) is None:
        pytest.skip("just is not installed")
    project.cli("init")
    return project


def just(project: Project, *arguments: str, code: int = 0) -> Finished:
    """Run a recipe."""
    done = subprocess.run(
        ["just", *arguments], cwd=project.root, env=project.environment, capture_output=True, timeout=120
    )
    finished = Finished(done.returncode, done.stdout.decode(), done.stderr.decode())
    assert code == finished.code, finished
    return finished


def test_from_nothing_to_a_recorded_run(started: Project) -> None:
    """After init the example runs without a model, and the recipes show what it did."""
    done = just(started, "example")
    adw_id = done.out.split()[1]

    assert adw_id in just(started, "sessions").out
    assert "success" in just(started, "sessions").out
    assert "build" in just(started, "phases", adw_id).out
    assert "write: greet.py" in just(started, "tail", adw_id).out
    assert "Hello, world" in (started.root / "greet.py").read_text()
    assert [0, 1] == sorted(
        row["passed"]
        for row in started.rows("gate_results")
        if row["gate"] == "artifacts_exist" and "build" in row["phase_id"]
    )
    ignored = subprocess.run(["git", "check-ignore", "adws/adw_data/sssf.db"], cwd=started.root, capture_output=True)
    assert 0 == ignored.returncode


def test_a_hung_run_is_found_and_stopped(started: Project) -> None:
    """``just procs`` names the hung agent and ``just kill`` ends it."""
    script = (
        '{"sends": [{"turns": [{"tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}]}]}'
    )
    (started.root / "adws/example.planner.json").write_text(script)
    process = subprocess.Popen(
        [sys.executable, "adws/adw_example.py", "Hang", "stuck"],
        cwd=started.root,
        env=started.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    started.wait_for_agent("stuck")

    listed = just(started, "procs", "stuck").out
    killed = just(started, "kill", "stuck").out
    process.communicate(timeout=120)

    assert "planner" in listed
    assert "alive" in listed
    assert "session stuck: fail" in killed
    assert {} == processes_below(started.root)


def test_repeating_init_keeps_what_is_there(started: Project) -> None:
    """A second init overwrites nothing, unless it is forced."""
    (started.root / "justfile").write_text("mine:\n    echo mine\n")

    again = started.cli("init")
    kept = (started.root / "justfile").read_text()
    started.cli("init", "--force")

    assert "written" not in again.out
    assert f"Try: {sys.executable} adws/adw_example.py" in again.out  # the python3 on this PATH is a script
    assert "mine" in kept
    assert "mine" not in (started.root / "justfile").read_text()
    assert 1 == (started.root / ".gitignore").read_text().count("adws/adw_data/")


def test_every_recipe_and_command_has_words(started: Project) -> None:
    """Each recipe and each command of the group says what it does."""
    listed = just(started, "--list").out.splitlines()[1:]
    helped = started.cli("trace", "--help").out

    assert all("#" in line for line in listed if line.split()[0] != "default")
    assert all(
        word in helped for word in ("sessions", "phases", "events", "tail", "procs", "kill", "rebuild", "archive")
    )


@pytest.mark.parametrize("words", [("init", "--json"), ("--json", "init")], ids=" ".join)
def test_init_is_one_document_where_one_is_asked_for(words: tuple[str, ...], started: Project) -> None:
    """In front of the command and behind it."""
    document = json.loads(started.cli(*words).out)

    assert "agent-workflow/init/v1" == document["schema"]
    assert {"kept"} == {file["outcome"] for file in document["files"]}
