"""However a run ends, what the state root holds of it is complete, sealed, and says how it ended."""

import itertools
import json
import os
import signal
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from published import document, indexed, journal, moves, stages, verified
from tracer_lab import ENVELOPE, Project, processes_below

from agent_workflow.tracer import kill_session

GOOD = [{"text": '{"summary": "ok"}'}]
HUNG_TOOL = [{"text": "waiting", "tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}]
BUILD = """
with phase("build", kind="agent", owner="builder", retries=1) as ph:
    ph.call(AgentCall(prompt="go", gates=[%s]))
"""
CAUGHT = """
with phase("build", kind="agent", owner="builder") as ph:
    try:
        ph.call(AgentCall(prompt="go", gates=[artifacts_exist]))
    except GatesFailed:
        pass
"""
FINISH = "sys.exit(run.finish())\n"
WAIT = """
    deadline = time.monotonic() + 120
    while not Path("%s").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
"""


class End(NamedTuple):
    """What the final status of a run says."""

    status: str
    executor: str
    category: str | None
    policy: str
    exit_code: int | None
    classification: str


ENDINGS: dict[str, tuple[str, list[Any], End]] = {
    "success": (
        BUILD % "" + FINISH,
        GOOD,
        End("completed", "completed", None, "not_evaluated", 0, "acceptance-eligible"),
    ),
    "green gates": (
        BUILD % "artifacts_exist" + FINISH,
        GOOD,
        End("completed", "completed", None, "passed", 0, "acceptance-eligible"),
    ),
    "a red gate": (
        BUILD % "artifacts_exist" + FINISH,
        [{"text": ENVELOPE}],
        End("failed", "failed", "gate_failed", "failed", 1, "policy-failed"),
    ),
    "a red gate that is caught": (
        CAUGHT + FINISH,
        [{"text": ENVELOPE}],
        End("failed", "failed", "gate_failed", "failed", 1, "policy-failed"),
    ),
    "a gate that raises": (
        "def sharp(context):\n    raise ZeroDivisionError\n" + BUILD % "sharp",
        GOOD,
        End("failed", "failed", "gate_failed", "failed", 1, "policy-failed"),
    ),
    "an invalid reply": (
        BUILD % "",
        [{"text": "no JSON"}],
        End("failed", "failed", "invalid_reply", "not_evaluated", 1, "executor-failed"),
    ),
    "a provider's refusal": (
        BUILD % "",
        [{"error": "quota"}],
        End("failed", "failed", "provider_error", "not_evaluated", 1, "executor-failed"),
    ),
    "an agent that takes too long": (
        'with phase("build", kind="agent", owner="builder") as ph:\n    ph.call(AgentCall(timeout_seconds=1))\n',
        [{"seconds": 300}],
        End("failed", "failed", "agent_failed", "not_evaluated", 1, "executor-failed"),
    ),
    "no such agent": (
        'with phase("build", kind="agent", owner="nobody") as ph:\n    ph.call(AgentCall())\n',
        GOOD,
        End("failed", "failed", "configuration", "not_evaluated", 1, "executor-failed"),
    ),
    "not accepted": (
        'with phase("work"):\n    pass\nsys.exit(run.finish(accepted=False, reason="2 failed"))\n',
        GOOD,
        End("failed", "completed", "not_accepted", "not_evaluated", 1, "completed-not-accepted"),
    ),
    "an exception in a phase": (
        'with phase("work"):\n    raise ValueError("ruff exited 1")\n',
        GOOD,
        End("failed", "failed", "workflow_error", "not_evaluated", 1, "executor-failed"),
    ),
    "an exception between phases": (
        'with phase("work"):\n    pass\nraise KeyError("between")\n',
        GOOD,
        End("failed", "failed", "workflow_error", "not_evaluated", 1, "executor-failed"),
    ),
    "no finish": (
        'with phase("work"):\n    pass\n',
        GOOD,
        End("failed", "failed", "workflow_error", "not_evaluated", 1, "executor-failed"),
    ),
    "a signal": (
        'with phase("work"):\n    os.kill(os.getpid(), signal.SIGTERM)\n    time.sleep(60)\n',
        GOOD,
        End("interrupted", "interrupted", "interrupted", "not_evaluated", 143, "executor-interrupted"),
    ),
}


@pytest.mark.parametrize("name", ENDINGS)
def test_ending(project: Project, name: str) -> None:
    """The final status tells how the run ended, in closed words; the index calls the seal good."""
    body, turns, expected = ENDINGS[name]
    project.script(turns)

    project.run(body, "run1")

    row = verified(project.state_root)["run1"]
    run = project.published("run1")
    status = document(run, "final-status.json")
    found = End(
        status["status"],
        status["executor_result"],
        status["failure_category"],
        status["policy_result"],
        document(run, "process-result.json")["exit_code"],
        str(row["attempt_classification"]),
    )
    assert expected == found
    assert (expected.category is None) == status["acceptance_eligible"]
    assert ["prepared", "running", expected.status] == moves(run, "execution")
    assert status == document(run, "status.json")
    assert not (project.data_dir / "unsealed/run1").exists()


def test_permission_breach(project: Project) -> None:
    """An agent that writes where it may not ends the run with a word of its own."""
    project.script([{"tools": [{"name": "write", "arguments": {"path": "a.txt", "content": "x"}}]}, *GOOD])
    project.configure("agents:\n  - {name: builder, coding_agent: scripted, model: scripted/script.json, writes: []}\n")

    project.run(BUILD % "", "run1")

    assert "permission_breach" == document(project.published("run1"), "final-status.json")["failure_category"]
    assert "run1" in verified(project.state_root)


def test_configuration_that_cannot_be_used(project: Project) -> None:
    """It is published like any other failed run."""
    project.configure("agents: [{name: builder, thinking: loud}]\n")

    project.run("", "run1")

    status = document(project.published("run1"), "final-status.json")
    assert ("failed", "configuration") == (status["status"], status["failure_category"])
    assert "the configuration cannot be used" == status["terminal_error"]
    assert "run1" in verified(project.state_root)


def test_phases_are_told_as_they_begin_and_end(project: Project) -> None:
    """A failed phase carries its category, and every event of a phase leads to it in the trace."""
    project.script([{"text": ENVELOPE}])
    project.run('with phase("plan"):\n    pass\n' + BUILD % "artifacts_exist", "run1")

    run = project.published("run1")
    assert ["running", "success"] == moves(run, "phase:plan")
    assert ["running", "fail"] == moves(run, "phase:build")
    events = [event for event in journal(run) if event["dimension"].startswith("phase:")]
    phases = {row["phase_id"] for row in project.rows("phases")}
    assert phases == {event["correlation_id"] for event in events}
    assert ["gate_failed"] == [event["failure_category"] for event in events if "failure_category" in event]


def test_what_an_agent_used_is_told_by_stage(project: Project) -> None:
    """The total is what the trace says, its input with the cache; reported money is billed, nothing is estimated."""
    project.script(
        [{"text": "no JSON"}], [{"text": "more", "tools": [{"name": "bash", "arguments": {"command": "ls"}}]}, *GOOD]
    )
    project.run(BUILD % "" + FINISH, "run1")

    session = project.session("run1")
    usage = project.events("run1", "agent_end")[0]["payload"]["usage"]
    total, child = (stages(project.published("run1"))[name] for name in ("total", "child:builder"))
    for stage in (total, child):
        assert stage["input_tokens"] == usage["input_tokens"] + usage["cache_read_tokens"] + usage["cache_write_tokens"]
        assert stage["cached_input_tokens"] == usage["cache_read_tokens"] > 0
        assert stage["input_tokens"] + stage["output_tokens"] == stage["provider_total_tokens"]
        assert (session["total_tokens"], session["total_cost"]) == (stage["provider_total_tokens"], stage["cost"])
        assert (stage["cost"], None) == (stage["provider_billed_cost"], stage["local_estimated_cost"])
        assert ("USD", 1) == (stage["currency"], stage["retry_count"])
        assert 0 < stage["first_output_latency_seconds"] <= stage["elapsed_seconds"]
    provenance = document(project.published("run1"), "run-provenance.json")
    assert ("scripted", "scripted/script.json") == (provenance["executor"], provenance["model"])


def test_a_run_without_agents_used_nothing_that_is_known(project: Project) -> None:
    """Unknown is not zero, and money that was not spent has no currency."""
    project.run('with phase("work"):\n    pass\n' + FINISH, "run1")

    (total,) = stages(project.published("run1")).values()
    assert {None} == {total[name] for name in ("input_tokens", "output_tokens", "cost", "currency")}
    provenance = document(project.published("run1"), "run-provenance.json")
    assert (None, None, None) == (provenance["executor"], provenance["model"], provenance["first_output_at"])
    assert ["adw_run1.py"] == provenance["argv"]


def start_hung(project: Project) -> int:
    """Start a workflow whose agent hangs, kill it, and wait until nothing of it is left; return its pid."""
    project.script(HUNG_TOOL)
    process = project.start(BUILD % "", "run1", start_new_session=True)
    project.wait_for_agent()
    assert ["prepared", "running"] == moves(project.published("run1"), "execution")
    assert "running" == document(project.published("run1"), "status.json")["status"]
    assert 0 == indexed(project.state_root)["run1"]["evidence_complete"]
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    project.wait_for(lambda: processes_below(project.root) == {})
    return process.pid


def check_lost(project: Project, reason: str) -> None:
    """The killed run is sealed as lost, with what it used up to then unknown."""
    run = project.published("run1")
    row = verified(project.state_root)["run1"]
    status = document(run, "final-status.json")
    words = (status["status"], status["executor_result"], status["failure_category"], row["attempt_classification"])
    assert ("failed", "lost", "lost", "executor-lost") == words
    assert reason in status["terminal_error"]
    assert ["prepared", "running", "failed"] == moves(run, "execution")
    assert ["running", "fail"] == moves(run, "phase:build")
    assert not (run / "process-result.json").exists()
    assert (None, None) == (stages(run)["total"]["cost"], stages(run)["child:builder"]["input_tokens"])
    assert None is document(run, "run-provenance.json")["finished_at"]
    before = itertools.takewhile(lambda event: event["type"] != "error", events_in_file(project))
    last_sign = datetime.fromisoformat(list(before)[-1]["ts"])
    began = datetime.fromisoformat(document(run, "launch-contract.json")["session"]["created_at"])
    assert (last_sign - began).total_seconds() == stages(run)["total"]["elapsed_seconds"]


def events_in_file(project: Project) -> list[dict[str, Any]]:
    """Read the events of the session from its journal."""
    lines = (project.files("run1") / "events.jsonl").read_bytes().split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


def test_killed_then_next_run(project: Project) -> None:
    """The next workflow of the repository completes and seals what a killed one left behind."""
    start_hung(project)

    project.run(FINISH, "run2")

    assert {"run1", "run2"} == set(verified(project.state_root))
    check_lost(project, "process is gone")


def test_killed_then_trace_kill(project: Project) -> None:
    """So does ``trace kill``, once."""
    start_hung(project)

    kill_session(project.db, project.data_dir, "run1", print)
    receipt = (project.published("run1") / "final-receipt.json").read_bytes()
    kill_session(project.db, project.data_dir, "run1", print)

    assert receipt == (project.published("run1") / "final-receipt.json").read_bytes()
    check_lost(project, "trace kill")


def test_stopped_by_trace_kill(project: Project) -> None:
    """A living workflow that is told to end publishes its own end."""
    process = project.start('with phase("work"):\n    Path("in").touch()' + WAIT % "never" + FINISH, "run1")
    project.wait_for((project.root / "in").exists)

    kill_session(project.db, project.data_dir, "run1", print, grace_seconds=60)
    process.communicate(timeout=120)

    assert "executor-interrupted" == verified(project.state_root)["run1"]["attempt_classification"]


def test_trace_kill_of_a_workflow_whose_agent_fails_first(project: Project) -> None:
    """Agents are ended before their workflow: what it makes of that is not its own end."""
    project.script([{"tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}])
    call = 'with phase("build", kind="agent", owner="builder") as ph:\n    ph.call(AgentCall(prompt="go"))\n'
    quiet = "import contextlib\nsignal.signal(signal.SIGTERM, lambda *_: None)\nwith contextlib.suppress(Exception):\n"
    body = "".join(f"    {line}\n" for line in call.splitlines())
    process = project.start(quiet + body + FINISH, "run1")
    project.wait_for_agent()

    kill_session(project.db, project.data_dir, "run1", print, grace_seconds=60)
    process.communicate(timeout=120)

    status = document(project.published("run1"), "final-status.json")
    assert "executor-interrupted" == verified(project.state_root)["run1"]["attempt_classification"]
    assert ("interrupted", "it was ended by trace kill") == (status["failure_category"], status["terminal_error"])
    assert ["interrupted"] == [
        event["failure_category"] for event in journal(project.published("run1")) if "failure_category" in event
    ]


def test_killed_then_joined(project: Project) -> None:
    """Joining a session whose run was lost seals that run, and is published as another that names it."""
    start_hung(project)

    project.run('with phase("again"):\n    pass\n' + FINISH, "run1")

    check_lost(project, "process is gone")
    (second,) = set(verified(project.state_root)) - {"run1"}
    assert "run1" == document(project.published(second), "launch-contract.json")["session"]["retry_of"]
    assert ["running", "success"] == moves(project.published(second), "phase:again")
    assert [] == moves(project.published(second), "phase:build")
    status = document(project.published(second), "final-status.json")
    assert ("not_accepted", "an earlier run of the session failed") == (
        status["failure_category"],
        status["terminal_error"],
    )


def test_joined_again_and_again(project: Project) -> None:
    """Each run that follows a sealed one has its own numbers and names the one before."""
    project.script(GOOD)
    for _ in range(3):
        project.run(BUILD % "" + FINISH, "run1")

    rows = verified(project.state_root)
    former = {name: row["retry_of_run_id"] for name, row in rows.items()}
    assert 3 == len(rows)
    assert {None} | set(rows) - {max(rows, key=len)} == set(former.values())
    tokens = {stages(project.published(name))["total"]["provider_total_tokens"] for name in rows}
    assert 1 == len(tokens)
    assert project.session("run1")["total_tokens"] == 3 * tokens.pop()


def test_two_processes_in_one_session(project: Project) -> None:
    """Two workflows at work in one session share a run; the last one at work ends it."""
    first = project.start('with phase("one"):\n    Path("in").touch()' + WAIT % "go" + FINISH, "run1")
    project.wait_for((project.root / "in").exists)
    second = project.start('with phase("two"):\n    Path("in2").touch()' + WAIT % "go2" + FINISH, "run1")
    project.wait_for((project.root / "in2").exists)

    (project.root / "go").touch()
    first.communicate(timeout=120)
    run = project.published("run1")
    assert not (run / "final-receipt.json").exists()
    (project.root / "go2").touch()
    second.communicate(timeout=120)

    assert {"run1"} == set(verified(project.state_root))
    assert ["prepared", "running", "running", "completed"] == moves(run, "execution")
    assert (["running", "success"],) * 2 == (moves(run, "phase:one"), moves(run, "phase:two"))
    assert Path(document(run, "launch-contract.json")["trace"]["session_directory"]) == project.files("run1")
