"""What a call of run asks for, and what is loaded before its command starts."""

import os
import subprocess
import sys

import pytest

from agent_workflow.tracer._ending import MARK
from agent_workflow.tracer._processes import find
from agent_workflow.tracer.agents import coding_agent
from agent_workflow.tracer.running import AGENTS, Options, parse
from agent_workflow.tracer.running import _launch as launch


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--", "claude", "-p", "hi"], ["claude", "-p", "hi"]),
        (["claude", "-p", "--", "hi"], ["claude", "-p", "--", "hi"]),
        (["--", "--"], ["--"]),
        (["--name", "x", "--", "a"], ["a"]),
        (["--name=--", "a", "--name", "b"], ["a", "--name", "b"]),
        (["--verbose", "a"], ["a"]),
    ],
)
def test_command(words: list[str], command: list[str]) -> None:
    """The command begins behind ``--`` or with the first word that is no option; all of it is its own."""
    options = parse(words)

    assert options is not None
    assert command == options.command


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--"],
        ["--", ""],
        ["--help"],
        ["-x", "a"],
        ["--name"],
        ["--agent", "somebody", "a"],
        ["--grace", "-1", "a"],
        ["--grace", "nan", "a"],
        ["--grace", "soon", "a"],
        ["--verbose=yes", "a"],
    ],
)
def test_no_such_call(words: list[str]) -> None:
    """A call that is not understood is left to those who explain it."""
    assert parse(words) is None


def test_options() -> None:
    """Each option is read, in both ways of writing it."""
    words = ["--agent", "claude", "--name=n", "--request", "r", "--db=d", "--state-root", "s", "--grace", "0.5"]
    options = parse([*words, "--verbose", "x"])

    assert options is not None
    assert ("claude_code", "n", "r", "d", "s", 0.5, True) == (
        options.agent,
        options.name,
        options.request,
        options.db,
        options.state_root,
        options.grace_seconds,
        options.is_verbose,
    )


def test_agents_are_known() -> None:
    """Every agent that may be named has an adapter."""
    assert [name for name in AGENTS if name != "auto"] == [coding_agent(name).name for name in AGENTS if name != "auto"]


def test_mark_is_that_of_the_tracer() -> None:
    """What is written without loading the tracer is what the tracer looks for."""
    living = find(os.getpid())

    assert living is not None
    assert MARK == launch.MARK
    assert f"abc:{os.getpid()}:{living.start_marker}/1" == launch.mark_of("abc", os.getpid())


def test_little_is_loaded_before_the_command_starts() -> None:
    """Nothing that takes long: no typing, no enumerations, no regular expressions, no threading, no database."""
    program = """
import sys
before = set(sys.modules)
from agent_workflow.tracer.running import parse
import agent_workflow.tracer.running._launch
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    others = [name for name in done.stdout.split() if not name.startswith("agent_workflow")]

    assert {"errno", "select"} >= set(others)


def test_module_alone_says_how_it_is_called() -> None:
    """Those who have the tracer alone are told the options."""
    run = [sys.executable, "-m", "agent_workflow.tracer.running"]
    wrong = subprocess.run([*run, "--nothing"], capture_output=True, text=True, check=False)
    asked = subprocess.run([*run, "--help"], capture_output=True, text=True, check=False)

    assert (2, 0) == (wrong.returncode, asked.returncode)
    assert wrong.stderr == asked.stderr
    assert all(f"--{name.replace('_', '-')}" in asked.stderr for name in ("agent", "name", "request", "db", "grace"))


def test_no_command() -> None:
    """A call without a command is none."""
    with pytest.raises(ValueError, match="not a call"):
        Options([])
