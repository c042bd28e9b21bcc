"""What the tracer's README shows works as it says."""

import json
import re
import subprocess
import sys

from tracer_lab import ROOT, Project

README = (ROOT / "packages/tracer/README.md").read_text()


def test_workflow(project: Project) -> None:
    """The workflow of the README runs, with agents that play what it asks of them."""
    envelope = json.dumps({"summary": "done", "artifacts": ["out.md"]})
    write = {"tools": [{"name": "write", "arguments": {"path": "out.md", "content": "x"}}]}
    (project.root / "script.json").write_text(json.dumps({"sends": [{"turns": [write, {"text": envelope}]}]}))
    agents = [
        f"{{name: {name}, coding_agent: scripted, model: scripted/script.json}}" for name in ("planner", "builder")
    ]
    project.configure(f"agents: [{', '.join(agents)}]\n")
    program = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]

    done = subprocess.run(
        [sys.executable, "-c", program, "readme"], cwd=project.root, env=project.environment, capture_output=True
    )

    assert (0, b"") == (done.returncode, done.stderr)
    assert ["request", "plan", "build"] == [row["name"] for row in project.rows("phases")]
    assert ("success", "Add a greeting") == (project.session("readme")["status"], project.session("readme")["request"])


def test_commands_that_are_named_exist(project: Project) -> None:
    """Every command of the group that the documents name has a help text."""
    text = README + (ROOT / "docs/tracer.md").read_text()
    named = set(re.findall(r"agent-workflow trace (\w+)", text))

    assert {"kill", "rebuild"} <= named
    for command in named:
        assert "Usage" in project.cli("trace", command, "--help").out
