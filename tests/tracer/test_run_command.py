"""``agent-workflow run``: the whole command, in front of the genuine streams of every agent and of scripted ones."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from agent_streams import ROWS
from tracer_lab import Project

from agent_workflow.cli._app import application
from agent_workflow.tracer._account import account
from agent_workflow.tracer._agent_process import Lines
from agent_workflow.tracer.agents import Send, ToolReturned, coding_agent

AGENT_WORKFLOW = str(Path(sys.executable).with_name("agent-workflow"))
AGENTS = {"claude": "claude_code", "codex": "codex", "gemini": "gemini", "opencode": "opencode", "pi": "pi"}
CHOSEN = [
    case
    for case in ROWS
    if case.partition("/")[2]
    in ("basic", "a_basic", "subagent", "fail_400", "g_fail_400", "kill_term", "denied", "pipe_slow")
]


def run(project: Project, *words: str, **how: Any) -> "subprocess.CompletedProcess[bytes]":
    """Run the command in a project."""
    return subprocess.run(
        [AGENT_WORKFLOW, *words], cwd=project.root, env=project.environment, capture_output=True, timeout=120, **how
    )


def newest(project: Project) -> str:
    """Return the id of the newest session."""
    return str(project.rows("sessions")[-1]["adw_id"])


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--name", "n", "--", "sh", "-c", "cat; echo err >&2; exit 3"),
        ("--json", "run", "--name", "n", "sh", "-c", "cat; echo err >&2; exit 3"),
        ("run", "--name=n", "sh", "-c", "cat; echo err >&2; exit 3"),
    ],
)
def test_every_way_of_calling(project: Project, words: tuple[str, ...]) -> None:
    """The short way and the one with options in front pass everything through and record the same."""
    done = run(project, *words, input=b"in\n")

    assert (3, b"in\n", b"err\n") == (done.returncode, done.stdout, done.stderr)
    session = project.session(newest(project))
    assert ("n", "fail") == (session["adw_name"], session["status"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run",), "Missing argument"),
        (("run", "--agent", "somebody", "--", "true"), "there is no agent 'somebody'"),
        (("run", "--nothing", "--", "true"), "No such option: --nothing"),
    ],
)
def test_wrong_call(project: Project, words: tuple[str, ...], told: str) -> None:
    """A call that is wrong is explained, and starts nothing."""
    done = run(project, *words)

    assert (2, b"") == (done.returncode, done.stdout)
    assert told in done.stderr.decode()
    assert not project.db.exists()


def test_short_way_loads_nothing_else(project: Project) -> None:
    """The call goes around Typer and all that it brings; even after the command's end the front has not loaded it."""
    program = (
        "import sys; from agent_workflow.cli import main; sys.argv = ['agent-workflow', 'run', '--', 'true']; main()"
    )
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", program],
        cwd=project.root,
        env=project.environment,
        capture_output=True,
        text=True,
        check=True,
    )

    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "agent_workflow.tracer.running._front" in loaded
    assert not loaded & {"typer", "typing", "re", "enum", "signal", "pathlib", "subprocess", "threading", "sqlite3"}


def test_help() -> None:
    """The command is in the help, with all options that the short way knows."""
    words = subprocess.run([AGENT_WORKFLOW, "run", "--help"], capture_output=True, text=True, check=True).stdout

    for option in ("--agent", "--name", "--request", "--db", "--grace", "--state-root", "--verbose"):
        assert option in words
    assert "run" in {command.name for command in application().registered_commands}


def test_other_commands_find_it(project: Project) -> None:
    """``trace`` shows a recorded command like any run."""
    run(project, "run", "--request", "Say hi", "--", "echo", "hi")

    (session,) = json.loads(project.cli("trace", "sessions", "--json").out)["sessions"]
    assert ("echo", "Say hi", "success") == (session["adw_name"], session["request"], session["shown_status"])
    assert project.db.exists()  # where the configuration says


def test_scripted_agent(project: Project) -> None:
    """A real agent's program behind run: its tools run, its stream comes through, its calls are recorded."""
    turn = {"text": "making", "tools": [{"name": "bash", "arguments": {"command": "echo made > made.txt"}}]}
    (project.root / "script.json").write_text(json.dumps({"sends": [{"turns": [turn, {"text": "done"}]}]}))
    agent = [sys.executable, "-m", "agent_workflow.tracer.scripted_agent", "--session-id", "s-1"]
    done = run(project, "run", "--", *agent, "--session-dir", "kept", "--", "script.json", "Make it")

    session = newest(project)
    assert (0, b"") == (done.returncode, done.stderr)
    assert b"agent_settled" in done.stdout
    assert "made\n" == (project.root / "made.txt").read_text()
    (call,) = project.events(session, "tool_call")
    assert ("bash: echo made > made.txt", True) == (call["name"], call["payload"]["ok"])
    assert 1311 == project.session(session)["total_tokens"]


@pytest.mark.corpus
@pytest.mark.parametrize("case", CHOSEN)
def test_genuine_stream(project: Project, streams: Path, case: str) -> None:
    """A genuine stream comes through byte for byte, and the trace has what the agent's adapter reads in it."""
    agent = AGENTS[case.partition("/")[0]]
    stream = streams / f"{case}.jsonl"
    code = int(stream.with_suffix(".exit").read_text())
    shutil.copy(stream, project.root / "stream")
    project.environment |= {"CLAUDE_CONFIG_DIR": str(project.root), "CODEX_HOME": str(project.root)}
    how = f"exit {code}" if code >= 0 else f"kill {code} $$"
    done = run(project, "run", "--", "sh", "-c", f"cat stream; {how}")

    payload, tokens, calls = read_alone(agent, stream, code, project)
    end = project.events(newest(project), "agent_end")[-1]
    recorded = project.events(newest(project), "tool_call")
    assert (code, stream.read_bytes(), b"") == (done.returncode, done.stdout, done.stderr)
    assert tokens == end["tokens"]
    assert payload == {name: end["payload"][name] for name in payload}
    assert sorted(calls) == sorted((call["payload"]["tool"], call["payload"]["ok"]) for call in recorded)
    assert (ROWS[case].verdict == "answered") == (project.session(newest(project))["status"] == "success")


def read_alone(
    agent: str, stream: Path, code: int, project: Project
) -> tuple[dict[str, Any], int, list[tuple[str, bool]]]:
    """Read a stream without any process; return what it comes to, and its calls."""
    nothing, errors = Path(os.devnull), project.root / "errors"
    errors.touch()  # nothing is printed there
    send = Send("", "", nothing, nothing, "", None, "", nothing, None, (), project.root, stderr_file=errors)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in project.environment.items():
            patch.setenv(name, value)
        reader = coding_agent(agent).reader(send)
        at = "2026-01-01T00:00:00.000+00:00"
        seen = [item for line in lines_of(stream) for item in reader.read(line, at)]
        seen += reader.complete()
        outcome = reader.outcome(code, at)
    payload, tokens, _ = account([outcome])
    calls = [item for item in (*seen, *outcome.interrupted) if isinstance(item, ToolReturned)]
    return json.loads(json.dumps(payload)), tokens, [(call.tool, call.ok) for call in calls]


def lines_of(stream: Path) -> list[bytes]:
    """Split a stream as the recorder does."""
    with stream.open("rb") as file:
        lines = Lines(file)
        return [*lines.split(stream.read_bytes()), *lines.split(b"")]
