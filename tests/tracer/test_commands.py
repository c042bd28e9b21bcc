"""How the trace commands talk: JSON, errors, exit codes, closed pipes."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tracer_lab import Project

CLI = str(Path(sys.executable).with_name("agent-workflow"))


@pytest.fixture
def recorded(project: Project) -> Project:
    """A repository with one good run of three phases."""
    body = "for name in ('one', 'two', 'three'):\n    with phase(name) as ph:\n        ph.log(text='x' * 500)\nsys.exit(run.finish())\n"  # noqa: E501 - a program or a schema in one piece
    project.run(body, "run1")
    return project


@pytest.mark.parametrize(
    ("arguments", "schema"),
    [
        (["sessions"], "trace-sessions"),
        (["phases", "run1"], "trace-phases"),
        (["events", "run1"], "trace-events"),
        (["tail", "run1"], "trace-tail"),
        (["procs"], "trace-processes"),
        (["rebuild"], "trace-rebuild"),
        (["archive", "run1"], "trace-archive"),
        (["kill", "run1"], "trace-kill"),
    ],
)
def test_json_is_one_document(recorded: Project, arguments: list[str], schema: str) -> None:
    """With --json, before or after the command, standard output is exactly one document."""
    behind = recorded.cli("trace", *arguments, "--json").out
    before = recorded.cli("trace", "--json", *arguments).out

    assert f"agent-workflow/{schema}/v1" == json.loads(behind)["schema"] == json.loads(before)["schema"]


def test_events_are_paged_and_filtered(recorded: Project) -> None:
    """A page ends at its limit, the cursor leads on, and types can be chosen."""
    first = json.loads(recorded.cli("trace", "events", "run1", "--limit", "4", "--json").out)
    rest = json.loads(recorded.cli("trace", "events", "run1", "--after", str(first["cursor"]), "--json").out)
    logs = json.loads(recorded.cli("trace", "events", "run1", "--type", "log", "--json").out)

    assert (4, True, 5, False) == (len(first["events"]), first["has_more"], len(rest["events"]), rest["has_more"])
    assert {"log"} == {event["type"] for event in logs["events"]}


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["phases", "nobody"], 1, "no session nobody"),
        (["sessions", "--db", "nowhere.db"], 1, "no trace database"),
        (["sessions", "--limit", "0"], 2, "Invalid value"),
        (["tail", "run1", "-f", "--json"], 2, "one JSON document"),
        (["events"], 2, "Missing argument"),
    ],
)
def test_errors(recorded: Project, arguments: list[str], code: int, words: str) -> None:
    """What is wrong is said on standard error, with an exit code for its kind."""
    assert words in recorded.cli("trace", *arguments, code=code).err


def test_error_as_json(recorded: Project) -> None:
    """With --json an error is a document too."""
    done = recorded.cli("trace", "phases", "nobody", "--json", code=1)

    assert "no_such_session" == json.loads(done.out)["error"]["code"]
    assert 1 == done.err.count("\n")


def test_tables_fit_the_terminal(recorded: Project) -> None:
    """Long values are shortened to the width of the terminal, and shown whole when asked."""
    recorded.environment["COLUMNS"] = "80"
    wide = recorded.cli("trace", "events", "run1", "--wide").out
    narrow = recorded.cli("trace", "events", "run1").out

    assert max(map(len, narrow.splitlines())) <= 80
    assert "three" in wide


def test_closed_pipe(recorded: Project) -> None:
    """Nobody reading on is no error."""
    done = subprocess.run(
        f"'{CLI}' trace events run1 | head -n 1; echo ${{PIPESTATUS[0]}}",
        shell=True,
        executable="/bin/bash",
        cwd=recorded.root,
        env=recorded.environment,
        capture_output=True,
        text=True,
    )

    assert ("0", "") == (done.stdout.splitlines()[-1], done.stderr)


def test_tail_follows_to_the_end(project: Project) -> None:
    """``tail -f`` prints what comes and ends with the session."""
    body = "with phase('work') as ph:\n    for n in range(6):\n        ph.event('log', f'step {n}', {})\n        time.sleep(0.3)\nsys.exit(run.finish())\n"  # noqa: E501 - a program or a schema in one piece
    process = project.start(body, "run1")
    project.wait_for(lambda: project.rows("events", "run1"))

    followed = project.cli("trace", "tail", "run1", "-f").out
    process.communicate(timeout=120)

    assert all(f"step {n}" in followed for n in range(6))
    assert "phase_end" in followed.splitlines()[-1]


def test_output_of_an_agent_cannot_command_the_terminal(project: Project) -> None:
    """Control characters in names are not passed on."""
    project.run(
        "with phase('work') as ph:\n    ph.event('log', 'a\\x1b[31mb\\nc', {})\nsys.exit(run.finish())\n", "run1"
    )

    for command in ("events", "tail"):
        assert "\x1b" not in project.cli("trace", command, "run1").out


def test_wide_characters_keep_the_columns(project: Project) -> None:
    """A name in Chinese takes two columns of the terminal for each character, and what follows stays aligned."""
    body = "with phase('work') as ph:\n    ph.event('log', '计划', {})\n    ph.event('log', 'plan', {})\n"
    project.run(body + "sys.exit(run.finish())\n", "run1")

    wide, narrow = project.cli("trace", "events", "run1", "--type", "log").out.splitlines()[1:3]

    assert narrow.partition("log")[2].replace("plan", "计划") == wide.partition("log")[2]
