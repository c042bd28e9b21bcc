"""Gates, and the rights that an agent has to write."""

import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer import (
    BuildOutput,
    GateContext,
    GenericOutput,
    ReviewOutput,
    artifacts_exist,
    diff_matches_claims,
    files_non_empty,
    json_parses,
    tests_pass,
    verdict_consistent,
)
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._worktree import compare, forbidden, snapshot


def context(root: Path, envelope: Any, **changes: Any) -> GateContext:
    """Make what a gate is given."""
    return GateContext(envelope, root, changes, root)


def test_gates_on_files(tmp_path: Path) -> None:
    """Each gate tells everything it looked at; looking at nothing is a verdict of its own."""
    (tmp_path / "good.json").write_text("{}")
    (tmp_path / "empty.md").touch()
    (tmp_path / "bad.json").write_text("{")
    (tmp_path / "lines.jsonl").write_text("{}\n[]\n")
    envelope = GenericOutput(artifacts=["good.json", "empty.md", "bad.json", "lines.jsonl", "none.md"])

    exist, filled, parse = (
        gate(context(tmp_path, envelope)) for gate in (artifacts_exist, files_non_empty, json_parses)
    )

    assert ["none.md: declared artifact does not exist"] == exist.violations
    assert ["empty.md: is empty"] == filled.violations
    assert (["good.json", "bad.json", "lines.jsonl"], 1) == ([c.item for c in parse.checks], len(parse.violations))
    assert "inspected_nothing" == artifacts_exist(context(tmp_path, GenericOutput())).verdict


def test_claims_are_compared_with_the_changes(tmp_path: Path) -> None:
    """What was deleted was changed, whatever way its path is written; what nobody touched or named is a false claim."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/new.py").write_text("x")
    envelope = BuildOutput(
        artifacts=["./src/new.py"], changed_files=[str(tmp_path / "gone.py"), "untouched.py", "../outside.py"]
    )
    changes = {"src/new.py": "created", "gone.py": "deleted", "silent.py": "modified"}
    ignored = {"run.log": "created", "src/__pycache__/new.pyc": "created"}

    report = diff_matches_claims(context(tmp_path, envelope, **changes, **ignored))

    outside = str(tmp_path.parent / "outside.py")
    assert {"src/new.py": True, "gone.py": True, "untouched.py": False, "silent.py": False, outside: False} == {
        check.item: check.ok for check in report.checks
    }
    assert [] == artifacts_exist(context(tmp_path, envelope)).violations  # a deletion that is told is no missing file
    assert "inspected_nothing" == diff_matches_claims(context(tmp_path, BuildOutput())).verdict


@pytest.mark.parametrize(
    ("verdict", "issues", "expected"),
    [("pass", [], "passed"), ("pass", ["x"], "failed"), ("fail", ["x"], "passed"), ("fail", [], "failed")],
)
def test_verdict_and_issues(tmp_path: Path, verdict: Any, issues: list[str], expected: str) -> None:
    """A review's verdict and its blocking issues must agree."""
    envelope = ReviewOutput(verdict=verdict, blocking_issues=issues)

    assert expected == verdict_consistent(context(tmp_path, envelope)).verdict


def test_test_commands(tmp_path: Path) -> None:
    """The command's exit decides; a missing command, a missing program and a slow one are failures."""
    envelope = BuildOutput()
    gates = [
        tests_pass("true"),
        tests_pass(["false"]),
        tests_pass("no-such-program"),
        tests_pass("sleep 5", timeout_seconds=0.1),
    ]

    verdicts = [gate(context(tmp_path, envelope)).verdict for gate in gates]

    assert ["passed", "failed", "failed", "failed"] == verdicts
    assert "failed" == tests_pass(context(tmp_path, envelope)).verdict
    assert "passed" == tests_pass(GateContext(envelope, tmp_path, {}, tmp_path, ("true",))).verdict


def test_what_tests_leave_running_holds_nothing_up(tmp_path: Path) -> None:
    """A server that the tests started keeps their output open; the gate ends with the tests, and shows their end."""
    command = ["sh", "-c", "sleep 300 & echo $! > server; yes no | head -c 99999; echo the end"]

    report = tests_pass(command)(context(tmp_path, BuildOutput()))

    os.kill(int((tmp_path / "server").read_text()), signal.SIGKILL)
    assert "passed" == report.verdict
    assert report.checks[0].note.endswith("no\nthe end")
    assert 2_100 > len(report.checks[0].note)


def test_slow_tests_are_ended_with_what_they_started(tmp_path: Path) -> None:
    """The command and what runs below it are gone when the gate has failed."""
    command = ["sh", "-c", "sleep 300 & echo $! > below; wait"]
    pid = ""
    for seconds in (1, 10, 60):  # on a busy machine it may take its time to start
        report = tests_pass(command, timeout_seconds=seconds)(context(tmp_path, BuildOutput()))
        pid = (tmp_path / "below").read_text().strip() if (tmp_path / "below").exists() else ""
        if pid:
            break

    assert [f"took longer than {seconds} s"] == [check.note for check in report.checks]
    below = find(int(pid))
    assert below is None or below.is_zombie


def test_changes_of_a_tree(tmp_path: Path) -> None:
    """Created, modified and deleted files are told apart; a rewrite of the same size is seen, links stay links."""
    for name in ("same", "rewritten", "deleted"):
        (tmp_path / name).write_text("aa")
    (tmp_path / ".git").mkdir()
    before = snapshot(tmp_path)
    (tmp_path / "rewritten").write_text("bb")
    (tmp_path / "deleted").unlink()
    (tmp_path / "new").symlink_to("/")
    (tmp_path / ".git/x").touch()

    assert {"deleted": "deleted", "new": "created", "rewritten": "modified"} == compare(before, snapshot(tmp_path))


@pytest.mark.parametrize(
    ("path", "writes", "protected", "is_breach"),
    [
        ("a.py", None, (), False),
        ("a.py", (), (), True),
        ("specs/deep/a.md", ("specs/",), (), False),
        ("specs.md", ("specs/",), (), True),
        ("src/x/a.py", ("src/**",), (), False),
        ("src/x/a.py", ("src/*.py",), (), False),
        ("a.py", (".",), (), False),
        (".env", None, (".env",), True),
        ("conf/.env", None, ("*.env",), True),
        ("a.py", ("*",), ("*.lock",), False),
    ],
)
def test_rights_of_an_agent(path: str, writes: Any, protected: Any, is_breach: bool) -> None:
    """Nothing said means everything, nothing listed means nothing, and protected files win."""
    assert ([path] if is_breach else []) == forbidden([path], writes, protected)
