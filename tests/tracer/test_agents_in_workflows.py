"""Claude Code, Codex, gemini-cli and opencode in a workflow, played by a stand-in: what the trace says of them."""

import json
from typing import Any

import pytest
from agent_stand_in import SESSIONS, StandIn, answer
from tracer_lab import ENVELOPE, Project

from agent_workflow.trace_schema import PAYLOADS
from agent_workflow.tracer import rebuild
from agent_workflow.tracer._processes import find

BUILD = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    for prompt in {prompts!r}:
        ph.call(AgentCall(prompt=prompt))
sys.exit(run.finish())
"""
RESUMES = {"claude_code": "--resume", "codex": "resume", "gemini": "--resume", "opencode": "--session"}
PRICED = ("claude_code", "opencode")


def build(project: Project, *prompts: str, code: int = 0) -> list[dict[str, Any]]:
    """Run one build phase with a call for each prompt and return the payloads of the calls' ends."""
    done = project.run(BUILD.format(prompts=prompts or ("Build it",)), "run1")
    assert code == done.code, done.err
    for event in project.events("run1"):
        PAYLOADS[event["type"]].model_validate(event["payload"])
    return [event["payload"] for event in project.events("run1", "agent_end")]


@pytest.mark.parametrize("agent", SESSIONS)
def test_good_send(project: Project, agent: str) -> None:
    """Calls, tokens by component, money with its basis and the agent's own session are in the trace."""
    StandIn(project, agent).say(*answer(agent, ENVELOPE))
    (end,) = build(project)

    (call,) = project.events("run1", "tool_call")
    assert (True, "t1" if agent != "codex" else "item_0") == (call["payload"]["ok"], call["payload"]["tool_call_id"])
    assert call["name"].endswith(": ls -la")
    usage = {name: end["usage"][f"{name}_tokens"] for name in ("input", "output", "cache_read", "cache_write", "total")}
    assert {"input": 110, "output": 50, "cache_read": 1000, "cache_write": 0, "total": 1160} == usage
    assert (0.25 if agent in PRICED else None, 1160) == (end["cost"], end["tokens"])
    assert ("agent_reported" if agent in PRICED else "none") == end["sends"][0]["cost_basis"]
    (row,) = project.rows("agent_sessions")
    assert (SESSIONS[agent], agent) == (row["session_id"], row["coding_agent"])
    assert (200_000 if agent == "claude_code" else None) == row["context_window"] == end["context_window"]
    assert (1160, "success") == (project.session("run1")["total_tokens"], project.session("run1")["status"])


@pytest.mark.parametrize("agent", SESSIONS)
def test_conversation_goes_on(project: Project, agent: str) -> None:
    """A reply that does not parse is asked for again in the same conversation, and so is a joined run's."""
    stand_in = StandIn(project, agent)
    stand_in.say(*answer(agent, "no JSON at all"))
    stand_in.say(*answer(agent, ENVELOPE, sends=2))
    stand_in.say(*answer(agent, ENVELOPE, sends=3))
    build(project)
    ends = build(project)

    first, *others = [" ".join(sent["argv"]) for sent in stand_in.sent()]
    assert RESUMES[agent] not in first.split()
    assert [True, True] == [f"{RESUMES[agent]} {SESSIONS[agent]}" in words for words in others]
    assert [2 * 1160, 1160] == [end["tokens"] for end in ends]
    assert 3 * 1160 == project.session("run1")["total_tokens"]
    assert 1 == len(project.rows("agent_sessions"))


@pytest.mark.parametrize("agent", SESSIONS)
def test_everything_is_rebuilt_from_the_files(project: Project, agent: str) -> None:
    """The database is a mirror of the files for these agents, too."""
    StandIn(project, agent).say(*answer(agent, ENVELOPE))
    build(project)
    before = project.everything()
    project.db.unlink()

    report = rebuild(project.db, project.data_dir)

    assert (True, before) == (report.lost_nothing, project.everything())


@pytest.mark.parametrize("agent", SESSIONS)
def test_prompts_arrive_whole(project: Project, agent: str) -> None:
    """A prompt may begin with a dash or an at sign, and be longer than an argument may be."""
    prompts = ("--help me", "@nobody said", "x" * 150_000 + " the end")
    stand_in = StandIn(project, agent)
    stand_in.say(*answer(agent, ENVELOPE))
    build(project, *prompts)

    given = [sent["stdin"] or sent["argv"][-1].removeprefix("--prompt=") for sent in stand_in.sent()]
    assert list(prompts) == [text[: len(prompt)] for text, prompt in zip(given, prompts, strict=True)]


def test_folder_is_the_repository_by_both_accounts(project: Project) -> None:
    """An agent that believes PWD works in the repository, wherever the workflow was started."""
    project.environment["PWD"] = "/somewhere/else"
    stand_in = StandIn(project, "opencode")
    stand_in.say(*answer("opencode", ENVELOPE))
    build(project)

    assert [[str(project.root)] * 2] == [sent["folders"] for sent in stand_in.sent()]


REFUSALS: dict[str, list[dict[str, Any]]] = {
    "claude_code": [
        {"type": "result", "subtype": "success", "is_error": True, "result": "400 prompt is bad", "session_id": "s"}
    ],
    "codex": [{"type": "turn.failed", "error": {"message": "prompt is bad"}}],
    "gemini": [{"type": "result", "status": "error", "error": {"message": "[API Error: prompt is bad]"}}],
    "opencode": [
        {"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": {"message": "prompt is bad"}}}
    ],
}


@pytest.mark.parametrize("agent", SESSIONS)
def test_provider_refuses(project: Project, agent: str) -> None:
    """A refusal fails the phase with the provider's words, and nobody asks again."""
    stand_in = StandIn(project, agent)
    stand_in.say(*REFUSALS[agent], code=0)
    (end,) = build(project, code=1)

    assert "prompt is bad" in project.rows("phases")[0]["error"]
    assert ("provider_error", 1) == (end["sends"][0]["verdict"], len(stand_in.sent()))


@pytest.mark.parametrize("agent", SESSIONS)
def test_cut_stream(project: Project, agent: str) -> None:
    """A stream that stops is a failure although the agent exits with 0; spend that nobody told is null, not zero."""
    StandIn(project, agent).say(*answer(agent, ENVELOPE)[:2])
    (end,) = build(project, code=1)

    assert "incomplete" == end["sends"][0]["verdict"]
    assert end["sends"][0]["usage_known"] in ("partial", "unknown")
    assert (end["usage"] is None) == (end["sends"][0]["usage_known"] == "unknown")
    assert end["cost"] is None


def test_transcript_completes_what_was_killed(project: Project) -> None:
    """Claude Code's output tokens are in its transcript alone when no result came."""
    *lines, _ = answer("claude_code", ENVELOPE)
    spoken = {**lines[1]["message"], "stop_reason": "tool_use"}
    spoken["usage"] = {**spoken["usage"], "output_tokens": 50}
    record = json.dumps({"type": "assistant", "uuid": "u1", "message": spoken}) + "\n"
    name = f".claude/projects/-some-project/{SESSIONS['claude_code']}.jsonl"
    StandIn(project, "claude_code").say(*lines, code=143, files={name: record})
    (end,) = build(project, code=1)

    assert (50, 1160, "partial") == (
        end["usage"]["output_tokens"],
        end["context_tokens"],
        end["sends"][0]["usage_known"],
    )


def test_rollout_tells_model_window_and_denials(project: Project) -> None:
    """What Codex's stream lacks comes from its rollout, and calls that it hides are in the trace."""
    call = {"type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "c"}
    output = {"type": "function_call_output", "call_id": "c", "output": "exec command rejected by user"}
    records = [
        ("event_msg", {"type": "task_started", "model_context_window": 258_400}),
        ("turn_context", {"model": "model-2"}),
        ("response_item", call),
        ("response_item", output),
    ]
    lines = [{"timestamp": "2026-11-30T07:21:02.075Z", "type": kind, "payload": payload} for kind, payload in records]
    name = f".codex/sessions/2026/11/30/rollout-x-{SESSIONS['codex']}.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in lines)
    StandIn(project, "codex").say(*answer("codex", ENVELOPE), files={name: text})
    (end,) = build(project)

    assert (258_400, "model-2") == (end["context_window"], end["sends"][0]["model"])
    assert ["exec_command"] == [denial["tool"] for denial in end["sends"][0]["denials"]]
    assert [True, False] == [event["payload"]["ok"] for event in project.events("run1", "tool_call")]


def test_launcher_that_becomes_the_agent(project: Project) -> None:
    """An agent that runs under another command than it was started with is recognised, and ended when told so."""
    StandIn(project, "codex").say(*answer("codex", ENVELOPE)[:3], holds=True)
    process = project.start(BUILD.format(prompts=("Build it",)), "run1")
    project.wait_for((project.root / "ready").exists)
    project.wait_for(lambda: "player.py" in agent_row(project)["command"])
    killed = json.loads(project.cli("trace", "kill", "run1", "--grace", "60", "--json").out)
    process.communicate(timeout=120)

    outcomes = {row["pid"]: row["outcome"] for row in killed["processes"]}
    assert "ended" == outcomes[agent_row(project)["pid"]]


def agent_row(project: Project) -> dict[str, Any]:
    """Return the row of the agent's process."""
    return next(row for row in project.rows("processes") if row["kind"] == "agent")


def test_signal_while_the_agent_is_put_away(project: Project) -> None:
    """A workflow that is told to stop just when its agent has died still records what the agent left open."""
    stubborn = "exec >/dev/null 2>&1; trap '' TERM; touch ready; exec sleep 300"
    StandIn(project, "codex").say(*answer("codex", ENVELOPE)[:3], code=1, shell=stubborn)
    process = project.start(BUILD.format(prompts=("Build it",)), "run1")
    pid = project.wait_for(lambda: (project.root / "ready").exists() and agent_row(project)["pid"])
    project.wait_for(lambda: (found := find(pid)) is None or found.is_zombie)
    process.terminate()
    process.communicate(timeout=120)

    assert [True] == [event["payload"]["interrupted"] for event in project.events("run1", "tool_call")]
    assert agent_row(project)["ended_at"]
    assert "fail" == project.session("run1")["status"]


@pytest.mark.parametrize("agent", ["codex", "gemini", "opencode"])
def test_limit_that_cannot_be_kept(project: Project, agent: str) -> None:
    """A roster that limits tools of an agent that cannot be limited fails, and nothing is started."""
    stand_in = StandIn(project, agent)
    stand_in.say(*answer(agent, ENVELOPE))
    project.configure(f"agents:\n  - {{name: builder, coding_agent: {agent}, model: m, tools: [read]}}\n")
    build(project, code=1)

    assert [] == stand_in.sent()
    assert "cannot be limited to tools" in project.rows("phases")[0]["error"]
