"""The tracer is installed alone into other people's repositories: it brings little and starts quickly."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_lab import ROOT

import agent_workflow.tracer


@pytest.mark.slow
def test_wheel_alone(tmp_path: Path) -> None:
    """In an empty environment the wheel brings at most eight distributions, and a run can be recorded with it."""
    for package in ("evidence-schemas", "tracer"):
        build = ["uv", "build", "--wheel", "-q", "--out-dir", str(tmp_path), str(ROOT / "packages" / package)]
        subprocess.run(build, check=True)
    python = tmp_path / "venv/bin/python"
    subprocess.run(["uv", "venv", "-q", "--python", sys.executable, str(tmp_path / "venv")], check=True)
    wheel = next(tmp_path.glob("agent_workflow_tracer-*.whl"))
    install = ["uv", "pip", "install", "-q", "--python", str(python), "--find-links", str(tmp_path), str(wheel)]
    subprocess.run(install, check=True)
    listed = subprocess.run(
        ["uv", "pip", "list", "--python", str(python), "--format", "json"], capture_output=True, check=True
    )
    program = """
from agent_workflow.tracer import *
import sys
run = ensure(load_config("sssf.config.yaml"), "alone")
with run.phase(PhaseParams(name="work", kind="code", owner="ci", description="Do a thing")) as ph:
    ph.log(n=1)
sys.exit(run.finish())
"""
    (tmp_path / "sssf.config.yaml").write_text("agents: []\n")
    done = subprocess.run([str(python), "-c", program], cwd=tmp_path, capture_output=True)

    others = {item["name"] for item in json.loads(listed.stdout)} - {"agent-workflow-tracer"}
    assert len(others) <= 8, others
    assert (0, b"") == (done.returncode, done.stderr)


def test_import_brings_nothing_heavy() -> None:
    """Importing the package loads neither pydantic nor YAML nor SQLite: what a name needs comes with the name."""
    heavy = "('pydantic', 'yaml', 'sqlite3', 'typer')"
    program = f"import sys, agent_workflow.tracer; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


def test_every_public_name_is_there() -> None:
    """Each name that the package announces can be imported from it."""
    missing = [name for name in agent_workflow.tracer.__all__ if not hasattr(agent_workflow.tracer, name)]

    assert [] == missing
    assert sorted(agent_workflow.tracer.__all__) == sorted(dir(agent_workflow.tracer))
