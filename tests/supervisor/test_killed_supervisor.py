"""A supervisor is killed at any write: the next one goes on where it was, repeats nothing and loses nothing."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from supervisor_lab import Host, UntracedRun

MORTAL = Path(__file__).with_name("lab") / "mortal_supervisor.py"


def look_and_die(host: Host, number: int, how: str, *words: str) -> bool:
    """Let a supervisor look that dies at its so manieth write; tell whether it did."""
    done = subprocess.run(
        [sys.executable, str(MORTAL), str(host.root), str(number), how, *words], capture_output=True, timeout=120
    )
    if done.returncode == 0:
        assert b"done\n" == done.stdout
        return False
    assert -signal.SIGKILL == done.returncode, done.stderr
    return True


def told(run: UntracedRun) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what incidents and remediations say."""
    incidents = [(item["category"], item["state"]) for item in run.records("incident-events.jsonl")]
    done = [(item["rule_id"], item["outcome"]) for item in run.records("remediation-events.jsonl")]
    return incidents, done


@pytest.mark.slow
@pytest.mark.parametrize("how", ["half", "whole"])
def test_killed_while_it_closes_a_lost_run(host: Host, how: str) -> None:
    """Whatever was written: one incident that opens and ends, one attempt, one lifecycle event, one end."""
    rule = "finalize-lost/v1"
    number, died = 0, True
    while died:
        number += 1
        run = host.run(f"run-{number}")
        host.look_anew()
        for process in (run.runner, run.executor):
            process.kill()
            process.wait()

        died = look_and_die(host, number, how)
        host.look_anew()
        host.look_anew()

        incidents, done = told(run)
        assert [("process_missing", "open"), ("process_missing", "resolved")] == incidents, number
        assert [(rule, "intended"), (rule, "applied")] == done, number
        assert 1 == len({item["incident_id"] for item in run.records("remediation-events.jsonl")}), number
        assert (
            "lost"
            == run.document("status.json")["executor_result"]
            == run.document("final-status.json")["executor_result"]
        )
        assert ["prepared", "launched", "running", "failed"] == [item["new"] for item in run.records("events.jsonl")]
    assert number > 6  # sample, incident, intent, lifecycle, final status, resolution, outcome, status


@pytest.mark.slow
@pytest.mark.parametrize("how", ["half", "whole"])
def test_killed_while_it_makes_a_status_again(host: Host, how: str) -> None:
    """The status is there, and one attempt says so."""
    rule = "rebuild-status/v1"
    number, died = 0, True
    while died and number < 4:
        number += 1
        run = host.run(f"run-{number}")
        (run.directory / "status.json").unlink()

        died = look_and_die(host, number, how)
        host.look_anew()
        host.look_anew()

        assert [(rule, "intended"), (rule, "applied")] == told(run)[1], number
        assert "running" == run.document("status.json")["status"]
        for process in (run.runner, run.executor):
            process.kill()
            process.wait()
        host.look_anew()
    assert number > 2


@pytest.mark.slow
def test_killed_between_intent_and_signal(host: Host) -> None:
    """Whether it had signalled nobody knows: the attempt is closed as unverified, and is not made again as the same."""
    rule = "terminate-stalled/v1"
    seen = set()
    for number in range(1, 6):
        run = host.run(f"run-{number}")
        host.look_anew()
        look_and_die(host, number, "whole", "terminate")
        host.look_anew()
        host.look_anew()

        done = told(run)[1]
        assert done in ([], [(rule, "intended"), (rule, "applied")], [(rule, "intended"), (rule, "unverified")]), number
        seen.add(tuple(done))
        for process in (run.runner, run.executor):
            process.kill()
            process.wait()
        host.look_anew()
    assert {(), ((rule, "intended"), (rule, "unverified"))} <= seen
