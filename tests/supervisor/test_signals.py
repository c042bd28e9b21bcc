"""Signals: only when asked for, only to a stalled run, only to what is its own, only so often."""

import json
import os
import signal
import sys
from dataclasses import replace

import psutil
import pytest
from supervisor_lab import Host, UntracedRun, wait_for

STUBBORN = (
    "import signal, time\n"
    "signal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "open(MARK, 'w').close()\ntime.sleep(3600)"
)


def outcomes(run: UntracedRun) -> list[tuple[str, str]]:
    """Return rule and outcome of the remediation events in order."""
    return [(record["rule_id"], record["outcome"]) for record in run.records("remediation-events.jsonl")]


def stall(host: Host, *, interrupt: bool = False, terminate: bool = False) -> None:
    """Let the runs be silent for so long that they are stalled, and look."""
    host.look()
    host.settings = replace(host.settings, interrupt_stalled=interrupt, terminate_stalled=terminate)
    for _ in range(3):
        host.look(400)


def test_stalled_agent_is_interrupted(host: Host) -> None:
    """SIGINT goes to the agent; its runner is left to record the end, and intent and outcome are on record."""
    run = host.run()

    stall(host, interrupt=True)

    assert -signal.SIGINT == run.executor.wait(timeout=60)
    assert run.runner.poll() is None
    assert [("interrupt-stalled/v1", "intended"), ("interrupt-stalled/v1", "applied")] == outcomes(run)
    details = run.records("remediation-events.jsonl")[-1]["details"]
    assert ("SIGINT", [run.executor.pid]) == (details["signal"], details["signalled"])


def test_stalled_group_is_terminated(host: Host) -> None:
    """SIGTERM goes to the agent and to what is in its group below it; what left the group is not signalled."""
    agent = host.python(
        "import subprocess, time\n"
        "subprocess.Popen(['sleep', '3601'])\n"
        "subprocess.Popen(['sleep', '3602'], start_new_session=True)\n"
        "time.sleep(3600)"
    )
    wait_for(
        lambda: {("3601",), ("3602",)} == {tuple(child.cmdline()[1:]) for child in psutil.Process(agent.pid).children()}
    )
    inside, outside = sorted(psutil.Process(agent.pid).children(), key=lambda child: child.cmdline()[-1])
    run = host.run(executor=agent, stream_format="claude-stream-json")  # so that its children are no sign of work
    try:
        stall(host, terminate=True)

        assert -signal.SIGTERM == agent.wait(timeout=60)
        signalled = run.records("remediation-events.jsonl")[-1]["details"]["signalled"]
        assert {inside.pid, agent.pid} == set(signalled)
        assert (None, True) == (run.runner.poll(), outside.is_running())
    finally:
        outside.kill()


def test_stubborn_agent_is_tried_so_often_and_then_left(host: Host) -> None:
    """Each attempt has its outcome; after the last one it is said once that a person has to look."""
    mark = host.root.parent / "mark"
    agent = host.start(sys.executable, "-c", STUBBORN.replace("MARK", repr(str(mark))))
    wait_for(mark.exists)
    run = host.run(executor=agent)
    host.settings = replace(host.settings, attempts=2)

    stall(host, interrupt=True)
    for _ in range(4):
        host.look_anew(30)

    rule = "interrupt-stalled/v1"
    tried = [(rule, "intended"), (rule, "unverified")]
    assert [*tried, *tried, (rule, "given_up")] == outcomes(run)
    assert (None, None) == (agent.poll(), run.runner.poll())


def test_both_flags_interrupt_once_and_then_terminate(host: Host) -> None:
    """A stall that an interrupt does not end is terminated in a later cycle."""
    mark = host.root.parent / "mark"
    agent = host.start(sys.executable, "-c", STUBBORN.replace("MARK", repr(str(mark))))
    wait_for(mark.exists)
    run = host.run(executor=agent)

    stall(host, interrupt=True, terminate=True)
    host.look(30)

    rules = [rule for rule, outcome in outcomes(run) if outcome == "intended"]
    assert ["interrupt-stalled/v1", "terminate-stalled/v1"] == rules[:2]
    assert 1 == rules.count("interrupt-stalled/v1")


@pytest.mark.parametrize("what", ["works", "waits"])
def test_run_that_is_not_stalled_is_never_signalled(host: Host, what: str) -> None:
    """Silence alone is no reason: an open tool call, or an open wait for the provider, is not stalled."""
    run = host.run(stream_format="claude-stream-json")
    line = {
        "works": '{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Bash"}]}}',
        "waits": '{"type":"system","subtype":"api_retry","attempt":4,"max_retries":10,"retry_delay_ms":9000,'
        '"error_status":529,"error":"overloaded_error"}',
    }[what]
    run.say("executor-events.jsonl", line + "\n")

    stall(host, interrupt=True, terminate=True)
    host.look(600)

    assert (None, None) == (run.runner.poll(), run.executor.poll())
    assert [] == outcomes(run)
    categories = {record["category"] for record in run.records("incident-events.jsonl")}
    assert {"works": set(), "waits": {"provider_wait"}}[what] == categories


def test_a_supervisor_below_the_run_does_not_signal_itself(host: Host) -> None:
    """A supervisor that an agent started spares itself and what it was started from."""
    run = host.run()
    beat = run.document("heartbeat.json") | {"executor_pid": os.getpid()}
    (run.directory / "heartbeat.json").write_text(json.dumps(beat))
    host.settings = replace(host.settings, stall_samples=1)

    stall(host, interrupt=True)

    assert [] == outcomes(run)


def test_process_that_may_be_a_stranger_is_never_signalled(host: Host) -> None:
    """A pid without any time beside it may belong to anybody by now: the stall is told, and nothing is signalled."""
    run = host.run()
    beat = run.document("heartbeat.json")
    del beat["at"]
    (run.directory / "heartbeat.json").write_text(json.dumps(beat))

    stall(host, interrupt=True, terminate=True)

    assert ["process_alive_no_progress"] == [item["category"] for item in run.records("incident-events.jsonl")]
    assert (None, None) == (run.runner.poll(), run.executor.poll())
    assert [] == outcomes(run)
