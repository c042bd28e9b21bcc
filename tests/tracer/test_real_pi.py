"""The real pi at work against a scripted model server: what the trace says about each way a call can go."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from published import document, stages
from tracer_lab import ENVELOPE, TABLES, ModelServer, Project, Turn, processes_below

from agent_workflow.trace_schema import PAYLOADS
from agent_workflow.tracer import rebuild

pytestmark = pytest.mark.real_agent

BUILD = """
with phase("build", kind="agent", owner="builder", retries={retries}) as ph:
    ph.call(AgentCall(output_type=BuildOutput, prompt="Build it", gates=[artifacts_exist, files_non_empty]))
sys.exit(run.finish())
"""
WRITE = Turn("Writing.", [("write", {"path": "out.md", "content": "hello\n"})])
DONE = Turn(ENVELOPE)


def build(project: Project, model: ModelServer, turns: list[Turn], retries: int = 1, code: int = 0) -> dict[str, Any]:
    """Run one build phase over a script, check what holds for every run, and return the ``agent_end`` payload."""
    model.turns = turns
    done = project.run(BUILD.format(retries=retries), "run1")
    assert code == done.code, done.err
    check_reconciles(project, "run1")
    check_published(project)
    check_rebuilds(project)
    return dict(project.events("run1", "agent_end")[-1]["payload"])


def check_reconciles(project: Project, adw_id: str) -> None:
    """Sum up pi's raw streams independently and compare with every level of the trace."""
    raw = raw_spend(project, adw_id)
    ends = [event["payload"] for event in project.events(adw_id, "agent_end")]
    for usage in [end["usage"] for end in ends] + [send["usage"] for end in ends for send in end["sends"]]:
        parts = [usage[f"{part}_tokens"] for part in ("input", "output", "cache_read", "cache_write")]
        costs = [usage[f"{part}_cost"] for part in ("input", "output", "cache_read", "cache_write")]
        assert sum(parts) == usage["total_tokens"]
        assert sum(costs) == pytest.approx(usage["total_cost"], abs=1e-12)
    for end in ends:
        sends = [send["usage"]["total_tokens"] for send in end["sends"]]
        assert sum(sends) == end["usage"]["total_tokens"]
    session = project.session(adw_id)
    assert raw["tokens"] == sum(end["tokens"] for end in ends) == session["total_tokens"]
    assert float(raw["cost"]) == pytest.approx(session["total_cost"], abs=1e-12)
    assert raw["turn_tokens"] == sum(end["usage"]["total_tokens"] for end in ends)


def check_published(project: Project) -> None:
    """The published run has the trace's totals, in the contract's own counting, and names the agent that worked."""
    total = stages(project.published("run1"))["total"]
    session = project.session("run1")
    assert session["total_tokens"] == total["provider_total_tokens"] == total["input_tokens"] + total["output_tokens"]
    assert session["total_cost"] == pytest.approx(total["provider_billed_cost"], abs=1e-12)
    provenance = document(project.published("run1"), "run-provenance.json")
    (agent,) = project.rows("agent_sessions", "run1")
    assert ("pi", agent["model"]) == (provenance["executor"], provenance["model"])


def raw_spend(project: Project, adw_id: str) -> dict[str, Any]:
    """Add up usage straight from ``raw_output.jsonl``, with nothing of the tracer."""
    tokens, turn_tokens, cost = 0, 0, Decimal(0)
    for file in project.files(adw_id).glob("*/raw_output.jsonl"):
        for line in file.read_bytes().split(b"\n")[:-1]:
            record = json.loads(line)
            if record["type"] == "message_end" and record["message"]["role"] == "assistant":
                spent = record["message"]["usage"]
                turn_tokens += spent["input"] + spent["output"] + spent["cacheRead"] + spent["cacheWrite"]
            elif record["type"] == "compaction_end" and "usage" in (record.get("result") or {}):
                spent = record["result"]["usage"]
            else:
                continue
            tokens += spent["input"] + spent["output"] + spent["cacheRead"] + spent["cacheWrite"]
            cost += sum(Decimal(repr(spent["cost"][part])) for part in ("input", "output", "cacheRead", "cacheWrite"))
    return {"tokens": tokens, "turn_tokens": turn_tokens, "cost": cost}


def check_rebuilds(project: Project) -> None:
    """Delete the database: rebuilding it gives the same rows of all seven tables."""
    before = project.everything()
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)
    report = rebuild(project.db, project.data_dir)
    assert report.lost_nothing, report
    for table in TABLES:
        assert before[table] == project.everything()[table]


def test_good_run(pi_project: Project, model: ModelServer) -> None:
    """A run that goes well is a success with every event typed, nested and priced."""
    end = build(pi_project, model, [Turn("Look.", [("bash", {"command": "ls -la"})]), WRITE, DONE])

    assert "success" == pi_project.session("run1")["status"]
    assert ["bash: ls -la", "write: out.md"] == [event["name"] for event in pi_project.events("run1", "tool_call")]
    assert (2172, 128000) == (end["context_tokens"], end["context_window"])
    for event in pi_project.events("run1"):
        PAYLOADS[event["type"]].model_validate(event["payload"])
    start = pi_project.events("run1", "agent_start")[0]
    assert {start["event_id"]} == {event["parent_id"] for event in pi_project.events("run1", "tool_call")}
    assert pi_project.events("run1", "phase_start")[0]["event_id"] == start["parent_id"]


def test_reply_that_is_no_json(pi_project: Project, model: ModelServer) -> None:
    """A reply without JSON is kept as an invalid envelope and asked for again in the same conversation."""
    build(pi_project, model, [WRITE, Turn("All done, boss."), DONE])

    assert [0, 1] == [row["valid"] for row in pi_project.rows("envelopes")]
    assert 1 == pi_project.rows("phases")[0]["attempt"]
    roles = [message["role"] for message in model.requests[-1]["messages"]]
    assert 2 == roles.count("user")
    prompts = sorted(path.name for path in (pi_project.files("run1") / "builder/prompts").iterdir())
    assert {"01_build.1.user.md", "01_build.2.user.md", "user.md"} <= set(prompts)


def test_gate_that_fails_then_passes(pi_project: Project, model: ModelServer) -> None:
    """A failed gate is recorded with what it looked at, and the agent is asked again."""
    build(pi_project, model, [DONE, WRITE, DONE])

    gates = [
        (event["type"], event["name"], event["payload"]["attempt"])
        for event in pi_project.events("run1", "gate_pass", "gate_fail")
    ]
    assert ("gate_fail", "artifacts_exist", 1) == gates[0]
    assert ("gate_pass", "artifacts_exist", 2) in gates
    assert json.loads(pi_project.rows("gate_results")[0]["checks_json"]) == [
        {"item": "out.md", "ok": False, "note": "declared artifact does not exist"}
    ]


def test_gate_that_never_passes(pi_project: Project, model: ModelServer) -> None:
    """When the retries are used up the phase fails, and what was spent is recorded."""
    end = build(pi_project, model, [DONE], code=1)

    phase = pi_project.rows("phases")[0]
    assert ("fail", 1, 1) == (phase["status"], phase["attempt"], phase["retries"])
    assert "declared artifact does not exist" in phase["error"]
    assert 2 == len(end["sends"])
    assert "fail" == pi_project.session("run1")["status"]


def test_failing_bash(pi_project: Project, model: ModelServer) -> None:
    """A command that exits with 3 is a failed call, and the run goes on."""
    build(pi_project, model, [Turn("", [("bash", {"command": "echo oops; exit 3"})]), WRITE, DONE])

    call = pi_project.events("run1", "tool_call")[0]["payload"]
    assert (False, "call_0_0") == (call["ok"], call["tool_call_id"])
    assert "oops" in call["result_snippet"]


def test_parallel_tools(pi_project: Project, model: ModelServer) -> None:
    """Calls that run side by side are told apart by their ids, each with its own start and end."""
    tools = [("bash", {"command": "sleep 0.3; echo slow"}), ("bash", {"command": "echo fast"})]
    build(pi_project, model, [Turn("", tools), WRITE, DONE])

    calls = pi_project.events("run1", "tool_call")[:2]
    assert ["call_0_1", "call_0_0"] == [call["payload"]["tool_call_id"] for call in calls]
    assert calls[1]["started_at"] < calls[0]["ended_at"] < calls[1]["ended_at"]
    assert calls[1]["payload"]["duration_ms"] >= 300 > calls[0]["payload"]["duration_ms"]


def test_provider_recovers(pi_project: Project, model: ModelServer) -> None:
    """Two refusals that pi gets over by itself are recorded as waits, and cost nothing."""
    build(pi_project, model, [Turn(status=500), Turn(status=500), WRITE, DONE])

    waits = [event["name"] for event in pi_project.events("run1", "log") if event["name"].startswith("auto_retry")]
    assert ["auto_retry_start", "auto_retry_start", "auto_retry_end"] == waits
    assert "success" == pi_project.session("run1")["status"]


@pytest.mark.parametrize(("status", "words"), [(500, "out of order"), (400, "bad prompt")])
def test_provider_refuses(pi_project: Project, model: ModelServer, status: int, words: str) -> None:
    """A permanent refusal fails the phase with the provider's words though pi exits with 0; it is not asked again."""
    end = build(pi_project, model, [Turn(status=status, error=words)], code=1)

    phase = pi_project.rows("phases")[0]
    assert ("fail", 0) == (phase["status"], phase["attempt"])
    assert words in phase["error"]
    assert ("provider_error", "error") == (end["sends"][0]["verdict"], end["sends"][0]["stop_reason"])
    assert [] == pi_project.rows("envelopes")


def test_reply_cut_at_the_limit(pi_project: Project, model: ModelServer) -> None:
    """A reply that was cut at the output limit is no reply, even if it parses."""
    end = build(pi_project, model, [Turn(ENVELOPE, finish="length")], retries=0, code=1)

    assert "cut_off" == end["sends"][-1]["verdict"]
    assert "output limit" in pi_project.rows("phases")[0]["error"]


def test_compaction(pi_project: Project, model: ModelServer) -> None:
    """Compaction is an event of its own, and its model call a line of its own in the spend."""
    pi_project.configure(
        (pi_project.root / "adws/sssf.config.yaml").read_text().replace("local/scripted", "local/small")
    )
    big = {"prompt_tokens": 18000, "completion_tokens": 100, "total_tokens": 18100}
    filler = [("bash", {"command": "seq 1 12000"})]
    settings = Path(pi_project.environment["HOME"]) / ".pi/agent/settings.json"
    settings.write_text(json.dumps({"compaction": {"reserveTokens": 4000, "keepRecentTokens": 100}}))
    end = build(pi_project, model, [Turn("a", filler), Turn("b", filler, usage=big), Turn("Summary."), WRITE, DONE])

    compactions = [event["payload"] for event in pi_project.events("run1", "log") if event["name"] == "compaction"]
    assert compactions
    assert end["compaction_usage"]["total_tokens"] > 0
    assert end["tokens"] == end["usage"]["total_tokens"] + end["compaction_usage"]["total_tokens"]


def test_resumed_session(pi_project: Project, model: ModelServer) -> None:
    """A joined run continues the agent's conversation and the sequence of phases; totals add up."""
    build(pi_project, model, [WRITE, DONE])
    done = pi_project.run(BUILD.format(retries=1), "run1")

    assert 0 == done.code, done.err
    assert [1, 2] == [row["seq"] for row in pi_project.rows("phases")]
    assert 1 == len({event["payload"]["session_id"] for event in pi_project.events("run1", "agent_start")})
    assert 2 == [message["role"] for message in model.requests[-1]["messages"]].count("user")
    check_reconciles(pi_project, "run1")
    check_rebuilds(pi_project)


def test_long_run_with_large_and_foreign_text(pi_project: Project, model: ModelServer) -> None:
    """Sixty calls, a 200 KB result and text of every script come through whole."""
    scripts = "naïve café ✓ 漢字 عربى עברית हिन्दी 🙂 \u2028 \u2029 \x85 end"
    (pi_project.root / "scripts.txt").write_text(scripts)
    (pi_project.root / "big.sh").write_text("head -c 200000 /dev/zero | tr '\\0' x\n")
    calls = [Turn("", [("bash", {"command": f"echo {n}"})]) for n in range(58)]
    calls += [Turn("", [("read", {"path": "scripts.txt"})]), Turn("", [("bash", {"command": "sh big.sh"})])]
    build(pi_project, model, [*calls, WRITE, DONE])

    events = pi_project.events("run1", "tool_call")
    assert 61 == len(events)
    assert scripts in next(
        event["payload"]["result_snippet"] for event in events if event["name"] == "read: scripts.txt"
    )
    big = next(event["payload"] for event in events if event["name"] == "bash: sh big.sh")
    assert 20_000 < len(big["result_snippet"]) < 21_000
    assert b"x" * 200_000 in (pi_project.files("run1") / "builder/raw_output.jsonl").read_bytes()


def test_tool_calls_are_in_the_database_while_pi_runs(pi_project: Project, model: ModelServer) -> None:
    """A call can be read from the database before the agent has gone on to its next step."""
    model.turns = [
        Turn("", [("bash", {"command": "echo first"})]),
        Turn("", [("bash", {"command": "touch go; until test -e on; do sleep 0.05; done"})]),
        WRITE,
        DONE,
    ]
    process = pi_project.start(BUILD.format(retries=0), "run1")
    try:
        pi_project.wait_for((pi_project.root / "go").exists)
        seen = pi_project.wait_for(lambda: [event["name"] for event in pi_project.events("run1", "tool_call")])
        is_running = process.poll() is None
    finally:
        (pi_project.root / "on").touch()
        process.communicate(timeout=120)

    assert (["bash: echo first"], True) == (seen, is_running)


def test_prompts_that_look_like_options(pi_project: Project, model: ModelServer) -> None:
    """A prompt may begin with a dash or an at sign, and be longer than an argument may be."""
    body = """
with phase("build", kind="agent", owner="builder") as ph:
    for prompt in ("--help me", "@nobody said", "x" * 150_000 + " the end"):
        ph.call(AgentCall(prompt=prompt))
sys.exit(run.finish())
"""
    model.turns = [DONE]
    done = pi_project.run(body, "run1")

    assert 0 == done.code, done.err
    sent = [json.dumps(request["messages"]) for request in model.requests]
    assert ["--help me" in sent[0], "@nobody said" in sent[1], "xxx the end" in sent[2]] == [True] * 3


def test_hung_pi_is_killed(pi_project: Project, model: ModelServer) -> None:
    """A pi that waits for its model is recognised under the title that it gave itself, and ended."""
    model.turns = [Turn("", hold=300)]
    process = pi_project.start(BUILD.format(retries=0), "run1")
    pi_project.wait_for(lambda: model.requests)
    listed = json.loads(pi_project.cli("trace", "procs", "run1", "--json").out)["processes"]

    killed = json.loads(pi_project.cli("trace", "kill", "run1", "--grace", "60", "--json").out)
    process.communicate(timeout=120)

    assert [("adw", "alive"), ("agent", "alive")] == [(row["kind"], row["state"]) for row in listed]
    assert "fail" == killed["status"]
    check_reconciles(pi_project, "run1")
    check_rebuilds(pi_project)


def test_pi_does_not_outlive_a_killed_workflow(pi_project: Project, model: ModelServer) -> None:
    """When the workflow is killed with SIGKILL, pi and the tool in its own group are ended too."""
    model.turns = [Turn("", [("bash", {"command": "touch started; sleep 300"})])]
    process = pi_project.start(BUILD.format(retries=0), "run1")
    pi_project.wait_for((pi_project.root / "started").exists)

    process.kill()
    process.communicate(timeout=120)

    assert pi_project.wait_for(lambda: not processes_below(pi_project.root))
