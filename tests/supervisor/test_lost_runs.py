"""Processes that are gone: told, and closed once; what still lives, or may, is left alone."""

import json
import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psutil
import pytest
from supervisor_lab import Host, UntracedRun, wait_for

from agent_workflow.cli.supervisor.process_table import Expected, ProcessTable
from agent_workflow.cli.supervisor.samples import sample_process
from agent_workflow.cli.supervisor.settings import Settings
from agent_workflow.evidence_schemas import SessionStatus
from agent_workflow.index_store import sync

MISSING = "process_missing"


def kill(process: "subprocess.Popen[bytes]") -> None:
    """Kill a process and collect it."""
    process.kill()
    process.wait()


def incidents(run: UntracedRun) -> list[tuple[str, str]]:
    """Return category and state of the incident events in order."""
    return [(record["category"], record["state"]) for record in run.records("incident-events.jsonl")]


def outcomes(run: UntracedRun) -> list[tuple[str, str]]:
    """Return rule and outcome of the remediation events in order."""
    return [(record["rule_id"], record["outcome"]) for record in run.records("remediation-events.jsonl")]


CLOSED = [("finalize-lost/v1", "intended"), ("finalize-lost/v1", "applied")]


def test_run_whose_processes_are_gone_is_closed_once(host: Host) -> None:
    """Lifecycle, status and final status say lost; looking again changes nothing."""
    run = host.run()
    host.look()
    kill(run.runner)
    kill(run.executor)

    report = host.look(10)
    files = {path.name: path.read_bytes() for path in run.directory.iterdir()}
    for _ in range(3):
        host.look_anew(10)

    assert [(MISSING, "open"), (MISSING, "resolved")] == incidents(run)
    assert CLOSED == outcomes(run)
    for name in ("status.json", "final-status.json"):
        status = SessionStatus.model_validate(run.document(name))
        assert ("failed", "lost") == (status.status, status.executor_result)
    last = run.records("events.jsonl")[-1]
    assert (4, "running", "failed") == (last["sequence"], last["prior"], last["new"])
    assert ["opened", "resolved"] == [item.change for item in report.incidents]
    assert files == {path.name: path.read_bytes() for path in run.directory.iterdir()}
    assert not (run.directory / "final-receipt.json").exists()


def test_index_takes_the_closed_run(host: Host) -> None:
    """What a supervisor leaves behind is evidence: the index has no error about it."""
    run = host.run()
    host.look()
    kill(run.runner)
    kill(run.executor)
    host.look(10)
    (run.directory / "launch-contract.json").unlink()  # the lab's holds only what a supervisor reads

    report = sync(host.root)

    assert () == report.errors
    assert [run.name] == [item.session_id for item in report.indexed]


def test_zombie_is_dead(host: Host) -> None:
    """A runner that has ended and that nobody collects is gone, and the sample says so."""
    run = host.run()
    host.look()
    kill(run.executor)
    run.runner.send_signal(signal.SIGKILL)  # not waited for
    wait_for(lambda: psutil.Process(run.runner.pid).status() == psutil.STATUS_ZOMBIE)

    host.look(10)

    sample = run.records("run-health-samples.jsonl")[-1]["runner"]
    assert (False, "Z") == (sample["alive"], sample["state"])
    assert (MISSING, "open") in incidents(run)
    assert "lost" == run.document("status.json")["executor_result"]


def test_killed_runner_with_a_living_agent_is_told_and_left_alone(host: Host) -> None:
    """The incident counts what still runs; only when that has ended is the run closed. Nothing is signalled."""
    run = host.run()
    host.look()
    kill(run.runner)

    for _ in range(3):
        host.look(10)
    open_events, untouched = incidents(run), run.executor.poll()
    kill(run.executor)
    host.look(10)

    assert [(MISSING, "open")] == open_events
    assert untouched is None
    assert [(MISSING, "open"), (MISSING, "resolved")] == incidents(run)
    assert 1 == run.records("incident-events.jsonl")[0]["evidence"]["still_running"]
    assert CLOSED == outcomes(run)


def test_recycled_pid_is_gone_and_never_signalled(host: Host) -> None:
    """Another program that got the runner's number is told by its start, and is left alone."""
    run = host.run()
    host.look()
    sample = run.records("run-health-samples.jsonl")[-1]
    for role in ("runner", "executor"):
        sample[role]["process_start_ticks"] -= 1
    (run.directory / "run-health-samples.jsonl").write_text(json.dumps(sample) + "\n")
    host.settings = _everything_allowed(host)

    host.look_anew(5)

    assert [(MISSING, "open"), (MISSING, "resolved")] == incidents(run)
    assert "other" == run.records("incident-events.jsonl")[0]["evidence"]["found"]
    assert (None, None) == (run.runner.poll(), run.executor.poll())


def test_pid_that_began_after_its_heartbeat_is_another(host: Host) -> None:
    """Without a sample, a process that is younger than the heartbeat that names it is not the one."""
    run = host.run()
    host.clock.pass_time(60)  # real processes do not age with the clock

    host.look()

    assert [(MISSING, "open"), (MISSING, "resolved")] == incidents(run)


def _everything_allowed(host: Host) -> Settings:
    return replace(host.settings, interrupt_stalled=True, terminate_stalled=True, stall_seconds=1, stall_samples=1)


def test_run_without_a_runner_ends_with_its_agent(host: Host) -> None:
    """Where only the agent is known, the run is lost when that is gone."""
    run = host.run()
    beat = run.document("heartbeat.json")
    del beat["runner_pid"]
    (run.directory / "heartbeat.json").write_text(json.dumps(beat))
    status = run.document("status.json")
    del status["pane_pid"]
    (run.directory / "status.json").write_text(json.dumps(status))
    host.look()
    kill(run.executor)
    host.look(10)

    assert [(MISSING, "open"), (MISSING, "resolved")] == incidents(run)
    assert "lost" == run.document("status.json")["executor_result"]


def test_unknown_process_is_never_missing(host: Host) -> None:
    """A run that names no process is not known to be lost."""
    run = host.run()
    (run.directory / "heartbeat.json").unlink()
    status = run.document("status.json")
    del status["pane_pid"]
    (run.directory / "status.json").write_text(json.dumps(status))

    reports = [host.look(1000) for _ in range(4)]

    assert [] == incidents(run)
    assert {"unknown"} == {report.health[0].condition for report in reports}


def test_run_that_ends_while_it_is_looked_at_is_not_lost(host: Host) -> None:
    """The status is read again after the process was seen to be gone: a run that said how it ended keeps its word."""
    run = host.run()
    host.look()
    discovered = host.look(1)
    assert discovered.health
    kill(run.runner)
    kill(run.executor)
    status = run.document("status.json") | {"status": "completed", "executor_result": "completed"}
    (run.directory / "status.json").write_text(json.dumps(status))

    host.look(1)

    assert "completed" == run.document("status.json")["status"]
    assert [] == incidents(run)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_process_of_somebody_else_is_alive(host: Host) -> None:
    """What we may not look into is alive, with what is not known left open."""
    theirs = host.sleeper()

    seen = as_nobody(lambda: sample_of(theirs.pid))

    assert (True, "S") == (seen["alive"], seen["state"])
    assert (None, None, None) == (seen["open_fd_count"], seen["read_bytes"], seen["write_bytes"])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_hidden_process_is_alive(host: Host) -> None:
    """Where the pass did not see a process that the kernel knows, it is not taken for gone."""
    theirs = host.sleeper()

    found = as_nobody(lambda: {"identity": ProcessTable([]).identify(Expected(theirs.pid, None, 1))})

    assert "same" == found["identity"]


def sample_of(pid: int) -> dict[str, Any]:
    """Sample a process."""
    return sample_process(pid, "same", ProcessTable.scan()).to_record()


def as_nobody(ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a function in a child that gives its rights away."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
        os.write(writing, json.dumps(ask()).encode())
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as stream:
        return dict(json.loads(stream.read()))
