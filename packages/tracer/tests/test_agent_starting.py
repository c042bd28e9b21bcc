"""How the coding agents are started: arguments, stdin, resuming, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent_workflow.tracer import ConfigError
from agent_workflow.tracer.agents import Launch, Send, coding_agent
from agent_workflow.tracer.agents._places import (
    claude_folder,
    codex_folder,
    gemini_folder,
    opencode_database,
    pi_folder,
)

SEND = Send(
    prompt="Make a plan",
    system="",
    prompt_file=Path("/p/user.md"),
    system_file=Path("/p/system.md"),
    model="",
    thinking=None,
    session_id="sssf-run1-planner-0a1b",
    session_dir=Path("/p/sessions"),
    tools=None,
    harness_engineering=(),
    root=Path("/repository"),
)
THROUGH_STDIN = ["claude_code", "codex", "opencode"]
NEW = [*THROUGH_STDIN, "gemini"]
PLACES = (claude_folder, codex_folder, gemini_folder, opencode_database, pi_folder)


@pytest.fixture(autouse=True)
def usual_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the commands that the machine's own environment may name."""
    for name in ("CLAUDE_CODE", "CODEX", "GEMINI", "OPENCODE", "PI"):
        monkeypatch.delenv(f"AGENT_WORKFLOW_{name}", raising=False)


def launch(agent: str, **changes: object) -> Launch:
    """Say how an agent is started for a send."""
    return coding_agent(agent).launch(replace(SEND, **changes))  # type: ignore[arg-type] # each test knows its fields


@pytest.mark.parametrize("prompt", ["--help me", "@nobody said", "-", "x" * 150_000, "漢\u2028字 \ud800"])
@pytest.mark.parametrize("agent", THROUGH_STDIN)
def test_prompt_goes_through_stdin(agent: str, prompt: str) -> None:
    """A prompt that looks like an option, or is longer than an argument may be, comes through as it is."""
    started = launch(agent, prompt=prompt)

    assert prompt.encode("utf-8", "replace") == started.stdin
    assert prompt not in started.argv or prompt == "-"


def test_prompt_that_is_no_command() -> None:
    """Claude Code and gemini-cli take a slash for a command of their own, but not behind a line break."""
    prompts = [launch(agent, prompt="/clear").stdin for agent in THROUGH_STDIN]

    assert [b"\n/clear", b"/clear", b"/clear"] == prompts
    assert "--prompt=\n/clear" == launch("gemini", prompt="/clear").argv[-1]


@pytest.mark.parametrize(
    ("prompt", "argument"),
    [("--help me", "--prompt=--help me"), ("@nobody", "--prompt=@nobody")],
)
def test_prompt_of_gemini_is_one_argument(prompt: str, argument: str) -> None:
    """gemini-cli waits for stdin only so long: what fits is an argument that can be taken for nothing else."""
    started = launch("gemini", prompt=prompt)

    assert (argument, None) == (started.argv[-1], started.stdin)


def test_long_prompt_of_gemini() -> None:
    """What does not fit into an argument goes through stdin."""
    started = launch("gemini", prompt="x" * 150_000)

    assert b"x" * 150_000 == started.stdin
    assert max(map(len, started.argv)) < 1000


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("claude_code", "--resume own-id"),
        ("codex", "resume own-id -"),
        ("gemini", "--resume own-id"),
        ("opencode", "--session own-id"),
    ],
)
def test_resuming(agent: str, words: str) -> None:
    """A conversation is continued under the agent's own id, and begun without one."""
    resumed, fresh = launch(agent, continues=True, session_id="own-id"), launch(agent)

    assert words in " ".join(resumed.argv)
    assert not [word for word in fresh.argv if SEND.session_id in word or word in ("--resume", "resume", "--session")]


@pytest.mark.parametrize(
    ("agent", "model", "words"),
    [
        ("claude_code", "anthropic/claude-x", "--model claude-x"),
        ("claude_code", "opus", "--model opus"),
        ("codex", "openai/gpt-x", "-m gpt-x"),
        ("codex", "gpt-x", "-m gpt-x"),
        ("codex", "ollama/openai/gpt-oss", '-c model_provider="ollama" -m openai/gpt-oss'),
        ("gemini", "google/gemini-x", "-m gemini-x"),
        ("opencode", "fake/scripted", "--model fake/scripted"),
    ],
)
def test_models(agent: str, model: str, words: str) -> None:
    """A model is named as the agent wants it; none is left to the agent's own settings."""
    assert words in " ".join(launch(agent, model=model).argv)
    assert not {"--model", "-m"} & set(launch(agent).argv)


@pytest.mark.parametrize(
    ("agent", "level", "words"),
    [
        ("claude_code", "minimal", "--effort low"),
        ("codex", "max", '-c model_reasoning_effort="xhigh"'),
        ("opencode", "high", "--variant high"),
    ],
)
def test_thinking(agent: str, level: str, words: str) -> None:
    """The level of thinking is said in the agent's words."""
    assert words in " ".join(launch(agent, thinking=level).argv)


def test_system_text() -> None:
    """Where there is a way to add to the agent's own system text, it is taken; else the text comes first."""
    system = 'You "plan"\n\U0001f642'

    assert f"--append-system-prompt={system}" in launch("claude_code", system=system).argv
    assert 'developer_instructions="You \\"plan\\"\\n\U0001f642"' in launch("codex", system=system).argv
    assert f"--prompt={system}\n\nMake a plan" in launch("gemini", system=system).argv
    assert f"{system}\n\nMake a plan".encode() == launch("opencode", system=system).stdin
    assert b"Make a plan" == launch("opencode", system=system, continues=True).stdin


def test_long_system_text() -> None:
    """A system text that is longer than an argument may be still arrives."""
    system = "s" * 150_000

    assert ["--append-system-prompt-file", "/p/system.md"] == launch("claude_code", system=system).argv[-2:]
    for agent in ("codex", "gemini", "opencode"):
        assert system.encode() in (launch(agent, system=system).stdin or b"")


@pytest.mark.parametrize("agent", NEW)
def test_no_authority_is_given(agent: str) -> None:
    """What may run unasked is the user's to say: by the command's own options, which come first."""
    assert not [word for word in launch(agent).argv if "danger" in word or word in ("--yolo", "--auto", "--sandbox")]


def test_command_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable names the command and its options."""
    monkeypatch.setenv("AGENT_WORKFLOW_CODEX", "node '/a b/codex.js' -s workspace-write")

    assert ["node", "/a b/codex.js", "-s", "workspace-write", "exec"] == launch("codex").argv[:5]


def test_tools() -> None:
    """Claude Code is limited to the tools that are listed; no tools is a list of none."""
    assert ["--tools", "Read,Grep"] == launch("claude_code", tools=("Read", "Grep")).argv[-2:]
    assert ["--tools", ""] == launch("claude_code", tools=()).argv[-2:]


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_tools_that_cannot_be_limited(agent: str) -> None:
    """A limit that the agent cannot be held to is refused instead of left out."""
    with pytest.raises(ConfigError, match="cannot be limited to tools"):
        launch(agent, tools=("read",))


@pytest.mark.parametrize("agent", NEW)
def test_extensions_of_another_agent(agent: str) -> None:
    """Extensions of pi are for pi."""
    with pytest.raises(ConfigError, match="harness_engineering"):
        launch(agent, harness_engineering=("x.ts",))


def test_homes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The agents' own variables say where their files are, and else the home does."""
    variables = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "PI_CODING_AGENT_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in variables:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("OPENCODE_DB", raising=False)
    usual = [place() for place in PLACES]
    for name in variables:
        monkeypatch.setenv(name, "/elsewhere")
    monkeypatch.setenv("OPENCODE_DB", "mine.sqlite")

    moved = [place() for place in PLACES]

    home = [".claude", ".codex", ".gemini", ".local/share/opencode/opencode.db", ".pi/agent"]
    assert [tmp_path / folder for folder in home] == usual
    elsewhere = ["/elsewhere", "/elsewhere", "/elsewhere/.gemini", "/elsewhere/opencode/mine.sqlite", "/elsewhere"]
    assert elsewhere == [str(place) for place in moved]
