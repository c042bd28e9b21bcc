"""``trace import`` and ``usage`` as commands: what they find, say and end with."""

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tracer_lab import Project

SESSION = "1b1c60c2-0b2f-4f86-8c4e-0f0c4c3f7a11"
AT = "2026-03-01T23:30:00.000Z"


PROGRAM = [sys.executable, "-c", "from agent_workflow.cli import main; main()"]


class Told(NamedTuple):
    """What a command said and ended with."""

    code: int
    out: str
    err: str


def cli(project: Project, *arguments: str) -> Told:
    """Run the command in the repository."""
    done = subprocess.run(
        [*PROGRAM, *arguments], cwd=project.root, env=project.environment, capture_output=True, text=True
    )
    return Told(done.returncode, done.stdout, done.stderr)


def transcript(path: Path, text: str = "Build it") -> Path:
    """Write a session of Claude Code of one turn."""
    usage = {"input_tokens": 100, "output_tokens": 10}
    answer = {"id": "msg_01AbCdEfGhIjKlMnOpQr", "model": "claude-sonnet-4-5", "usage": usage, "stop_reason": "end_turn"}
    records = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": text}},
        {"type": "assistant", "uuid": "u2", "requestId": "r", "message": {**answer, "content": []}},
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    common = {"sessionId": SESSION, "timestamp": AT, "cwd": "/home/dev/repo"}
    path.write_text("".join(json.dumps({**record, **common}) + "\n" for record in records))
    return path


def test_discovered_sessions_are_in_the_list(project: Project) -> None:
    """What the agents have kept in the home, into the database that is found from here."""
    transcript(Path(project.environment["HOME"]) / ".claude/projects/-home-dev-repo" / f"{SESSION}.jsonl")

    first = cli(project, "trace", "import", "--discover")
    again = cli(project, "trace", "import", "--discover", "--json")
    listed = json.loads(cli(project, "trace", "sessions", "--json").out)
    shown = cli(project, "trace", "sessions").out

    assert (0, 0) == (first.code, again.code)
    assert "1 session written" in first.out
    assert "(1 of claude_code)" in first.out
    document = json.loads(again.out)
    assert ("agent-workflow/trace-import/v1", []) == (document["schema"], document["written"])
    assert [f"claude_code-{SESSION}"] == [row["adw_id"] for row in listed["sessions"]]
    assert " ~$0.0004 " in shown  # an estimate never looks like a bill


@pytest.mark.parametrize("is_first", [True, False], ids=["before", "after"])
def test_a_state_root_that_is_named_gets_the_evidence(project: Project, is_first: bool) -> None:
    """In front of the subcommand and behind it; the one of the environment gets nothing."""
    transcript(project.root / "old.jsonl")
    named = ["--state-root", str(project.root / "named")]
    words = ["trace", "import", "old.jsonl"]

    told = cli(project, *(named + words if is_first else words + named))

    assert (0, "evidence: 1 run published") == (told.code, told.out.splitlines()[-1])
    assert [f"claude_code-{SESSION}"] == [run.name for run in (project.root / "named" / "runs").iterdir()]
    assert not project.state_root.exists()


def test_damage_is_told_and_ends_with_one(project: Project) -> None:
    """With file and line; everything else is there."""
    file = transcript(project.root / "old.jsonl")
    file.write_text(file.read_text() + '{"type":"assistant"\n')

    told = cli(project, "trace", "import", "old.jsonl")

    assert 1 == told.code
    assert f"damaged, everything else was imported: {file}, line 3: " in told.out
    assert "1 session written" in told.out


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["trace", "import"], 2, "name files or folders"),
        (["trace", "import", "nowhere"], 1, "nowhere: no such file or folder"),
        (["trace", "import", "--discover"], 1, "none of the agents has kept sessions here"),
        (["trace", "rebuild", "--db", "nowhere/sssf.db"], 1, "neither session directories nor a database"),
        (["usage", "--tz", "Mars/Olympus"], 2, "no such time zone"),
        (["usage", "--tz", "../../etc/passwd"], 2, "no such time zone"),
        (["usage", "--since", "soon"], 2, "neither a day"),
        (["usage", "--by", "mood"], 2, "Invalid value"),
        (["usage", "--db", "nowhere.db"], 1, "no trace database"),
    ],
)
def test_what_is_wrong_is_said(project: Project, arguments: list[str], code: int, words: str) -> None:
    """A line on standard error and the exit code."""
    told = cli(project, *arguments)

    assert code == told.code
    assert words in told.err


def test_usage_by_day_in_a_time_zone(project: Project) -> None:
    """Half past eleven at night in London is the next day in Berlin."""
    transcript(project.root / "old.jsonl")
    cli(project, "trace", "import", "old.jsonl")

    london = json.loads(cli(project, "usage", "--tz", "Europe/London", "--json").out)
    berlin = cli(project, "usage", "--tz", "Europe/Berlin")
    later = json.loads(cli(project, "usage", "--tz", "Europe/London", "--since", "2026-03-02", "--json").out)

    assert ["2026-03-01"] == [row["key"] for row in london["rows"]]
    assert (110, 110) == (london["total"]["total_tokens"], london["total"]["raw"]["total_tokens"])
    assert berlin.out.splitlines()[1].split()[:2] == ["2026-03-02", "1"]
    assert [] == later["rows"]


def test_estimated_money_is_under_its_own_name(project: Project) -> None:
    """Never under billed; with a subscription under that."""
    transcript(project.root / "old.jsonl")
    cli(project, "trace", "import", "old.jsonl")

    plain = json.loads(cli(project, "usage", "--by", "agent", "--json").out)
    covered = json.loads(cli(project, "usage", "--by", "agent", "--subscription", "claude_code", "--json").out)

    assert [(None, 0.00045, None)] == [(row["billed"], row["estimated"], row["subscription"]) for row in plain["rows"]]
    assert (None, None, 0.00045) == tuple(covered["total"][name] for name in ("billed", "estimated", "subscription"))
    assert plain["price_catalogue"].startswith("genai-prices ")


def test_control_characters_do_not_reach_the_terminal(project: Project) -> None:
    """A path or a model may hold anything."""
    file = transcript(project.root / "old.jsonl")
    file.write_text(file.read_text().replace("claude-sonnet-4-5", "evil\\u001b[2J"))
    cli(project, "trace", "import", "old.jsonl")

    told = cli(project, "usage", "--by", "model")

    assert "\x1b" not in told.out
    assert r"evil\x1b[2J" in told.out


def test_the_readme_s_import_works(project: Project) -> None:
    """The program that the tracer's README shows, as it stands there."""
    readme = (Path(__file__).parents[2] / "packages/tracer/README.md").read_text(encoding="utf-8")
    (program,) = [
        block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "import_sessions" in block
    ]
    transcript(Path(project.environment["HOME"]) / ".claude/projects/-home-dev-repo" / f"{SESSION}.jsonl")

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=project.root, env=project.environment, capture_output=True, text=True
    )

    assert "" == done.stderr
    assert "110 None 0.00045" in done.stdout


def test_progress_is_for_terminals(project: Project, tmp_path: Path) -> None:
    """A long import draws a line on a terminal and removes it; the answer is the same."""
    for number in range(400):
        transcript(tmp_path / "many" / f"{number}.jsonl", f"prompt {number}")
    above, below = pty.openpty()
    command = [*PROGRAM, "trace", "import", str(tmp_path / "many")]
    with subprocess.Popen(
        command, cwd=project.root, env=project.environment | {"TERM": "xterm"}, stdout=subprocess.PIPE, stderr=below
    ) as process:
        os.close(below)
        answer = process.stdout.read() if process.stdout else b""
    drawn = b""
    while True:
        try:
            part = os.read(above, 65_536)
        except OSError:
            break
        if not part:
            break
        drawn += part
    os.close(above)

    assert b"session written" in answer
    assert b"\x1b" not in drawn
    if drawn:  # a fast machine may be through before the first line is due
        assert drawn.endswith(b"\r")
        assert b" MB" in drawn or b"sessions" in drawn
