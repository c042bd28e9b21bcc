"""What is silent: a sleeping agent is an incident, one that works is none, and each condition is told once."""

import dataclasses
import json

import psutil
import pytest
from supervisor_lab import Host, UntracedRun, wait_for

from agent_workflow.cli.supervisor.clock import SystemClock
from agent_workflow.cli.supervisor.cycle import Supervisor
from agent_workflow.cli.supervisor.settings import Settings

STALLED = "process_alive_no_progress"


def states(run: UntracedRun, category: str = STALLED) -> list[str]:
    """Return the states of a category's incident events in order."""
    return [record["state"] for record in run.records("incident-events.jsonl") if record["category"] == category]


def test_sleeping_agent_is_told_once(host: Host) -> None:
    """Silence, three samples of it, no work: one event however often it is looked at, by whichever supervisor."""
    run = host.run()
    host.look()

    for _ in range(3):
        host.look(400)
    for _ in range(3):
        host.look_anew(30)

    assert ["open"] == states(run)
    assert ["open"] == [item.change for item in host.look(30).incidents]


def test_silence_needs_its_samples(host: Host) -> None:
    """One long gap between two looks is not three silent samples."""
    run = host.run()
    host.look()

    host.look(10_000)

    assert [] == states(run)


def test_incident_ends_and_comes_again(host: Host) -> None:
    """Output ends the incident; the same silence later is the same incident with a new event."""
    run = host.run()
    host.look()
    for _ in range(3):
        host.look(300)
    run.say("output.log", "on it goes\n")
    host.look(30)
    for _ in range(4):
        host.look(300)

    events = run.records("incident-events.jsonl")
    assert ["open", "resolved", "open"] == [event["state"] for event in events]
    assert 1 == len({event["fingerprint"] for event in events})
    assert all(event["incident_id"] == event["fingerprint"][:24] for event in events)


@pytest.mark.parametrize(
    "file", ["output.log", "executor-stderr.log", "executor-events.jsonl", "terminal-events.jsonl"]
)
def test_growing_channel_is_progress(host: Host, file: str) -> None:
    """Whatever the agent prints to, it is no stall while it grows, however old the clock on the file is."""
    run = host.run()
    host.look()
    for _ in range(5):
        run.say(file, "{}\n")
        host.look(400)

    assert [] == states(run)


def test_heartbeat_and_our_own_journals_are_no_progress(host: Host) -> None:
    """A run that only beats is silent."""
    run = host.run()
    host.look()
    for _ in range(4):
        run.beat(host.clock.wall)
        run.say("events.jsonl", json.dumps({"dimension": "execution", "new": "running"}) + "\n")
        host.look(300)

    assert ["open"] == states(run)


def test_open_tool_call_is_work(host: Host) -> None:
    """An agent whose stream is known works while a call is open, and is silent once that came back."""
    run = host.run(stream_format="claude-stream-json")
    use = {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Bash"}]}}
    run.say("executor-events.jsonl", json.dumps(use) + "\n")
    host.look()
    for _ in range(4):
        host.look(400)
    while_open = states(run)
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1"}]}}
    run.say("executor-events.jsonl", json.dumps(result) + "\n")
    for _ in range(5):
        host.look(400)

    assert [] == while_open
    assert ["open"] == states(run)


def test_silent_child_of_an_unknown_program_is_work(host: Host) -> None:
    """Of a program without a known stream, a child that began after the last sign counts; once it ended, no more."""
    agent = host.python(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])\n"
        "child.wait()\ntime.sleep(3600)"
    )
    wait_for(lambda: psutil.Process(agent.pid).children())
    run = host.run(executor=agent)
    host.look()
    for _ in range(4):
        host.look(400)

    assert [] == states(run)
    assert host.look(30).health[0].condition == "working"


def real_time(host: Host) -> Supervisor:
    """Return a supervisor by the real clock, for what burns a real processor."""
    settings = dataclasses.replace(
        host.settings, stall_seconds=0.2, spin_seconds=0.4, stall_samples=3, busy_fraction=0.02
    )
    return Supervisor(host.root, settings, SystemClock())


def look_until(host: Host, supervisor: Supervisor, enough: int, run: UntracedRun) -> None:
    """Look until so many samples of more than the silence that counts are there."""

    def silent() -> int:
        seconds = [record["seconds_since_semantic_progress"] for record in run.records("run-health-samples.jsonl")]
        return sum(1 for value in seconds if value > 1.0)

    while silent() < enough:
        supervisor.cycle()
        _pause()


def _pause() -> None:
    import time

    time.sleep(0.5)  # a processor is burnt meanwhile; what is asserted does not depend on how long this takes


BURN = "while True: pass"


def test_spinning_agent_is_an_incident_of_its_own_kind(host: Host) -> None:
    """A known agent thinks elsewhere: one that burns a processor and prints nothing is told, with its share."""
    run = host.run(executor=host.python(BURN), stream_format="claude-stream-json")

    look_until(host, real_time(host), 4, run)

    assert ["open"] == states(run)
    evidence = run.records("incident-events.jsonl")[0]["evidence"]
    assert "spinning" == evidence["pattern"]
    assert evidence["processor_share"] >= 0.02


def test_unknown_program_that_computes_works(host: Host) -> None:
    """A program that we know nothing of may compute in silence."""
    run = host.run(executor=host.python(BURN))

    look_until(host, real_time(host), 4, run)

    assert [] == states(run)


def test_busy_tool_below_a_known_agent_works(host: Host) -> None:
    """What burns a processor below an agent is its work, whoever looks: with and without a memory."""
    agent = host.python(
        f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN!r}])",
    )
    wait_for(lambda: psutil.Process(agent.pid).children())
    run = host.run(executor=agent, stream_format="claude-stream-json")

    look_until(host, real_time(host), 4, run)
    real_time(host).cycle()

    assert [] == states(run)


def test_sample_is_what_the_contract_says(host: Host) -> None:
    """A sample validates, and holds the boot-relative start of both processes."""
    from agent_workflow.evidence_schemas import RunHealthSample

    run = host.run()
    host.look()

    sample = run.records("run-health-samples.jsonl")[0]
    RunHealthSample.model_validate(sample)
    assert (run.runner.pid, run.executor.pid) == (sample["runner"]["pid"], sample["executor"]["pid"])
    assert sample["executor"]["alive"] is True
    assert sample["executor"]["process_start_ticks"] > 0


def test_settings_of_a_supervisor_do_not_let_it_signal(host: Host) -> None:
    """Unless it is asked to, nothing is signalled, however long the stall."""
    run = host.run()
    host.look()
    for _ in range(5):
        host.look(600)

    assert Settings().interrupt_stalled is Settings().terminate_stalled is False
    assert (None, None) == (run.runner.poll(), run.executor.poll())
    assert [] == run.records("remediation-events.jsonl")
