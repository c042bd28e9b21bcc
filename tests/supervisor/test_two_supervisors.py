"""Two supervisors at once: one runs, the other says who; single looks take their turn and repeat nothing."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from supervisor_lab import PROGRAM, Host, command, wait_for

from agent_workflow.cli.supervisor.holder import cycle_lock


@contextmanager
def running(root: Path, *words: str) -> Iterator["subprocess.Popen[str]"]:
    """Start ``supervisor run`` and wait until it has looked."""
    process = subprocess.Popen(
        [PROGRAM, "--state-root", str(root), "supervisor", "run", "--no-sync-index", "--interval", "0.2", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for(lambda: process.poll() is not None or _holder(root) == process.pid)
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def _holder(root: Path) -> int | None:
    try:
        return int(json.loads((root / "supervisor.lock").read_bytes())["holder"]["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def test_second_run_names_the_first(host: Host) -> None:
    """The second ends with 1 and says which process supervises already."""
    with running(host.root) as first:
        second = command(host.root, "supervisor", "run", "--no-sync-index")

    assert 1 == second.returncode
    assert f"process {first.pid} (agent-workflow" in second.stderr
    assert 0 == first.returncode


def test_run_ends_cleanly_and_another_may_begin(host: Host) -> None:
    """SIGINT ends it with 0; a killed one leaves no lock behind either."""
    with running(host.root) as first:
        first.send_signal(signal.SIGINT)
        assert 0 == first.wait(timeout=60)
    with running(host.root) as second:
        os.kill(second.pid, signal.SIGKILL)
        second.wait(timeout=60)
    with running(host.root) as third:
        assert third.poll() is None


def test_once_beside_a_run(host: Host) -> None:
    """A single look takes its turn beside a supervisor that runs; a lost run is closed once."""
    run = host.run()
    host.look()
    with running(host.root):
        for process in (run.runner, run.executor):
            process.kill()
            process.wait()
        looks = [command(host.root, "supervisor", "once", "--no-sync-index") for _ in range(3)]

    assert [0, 0, 0] == [look.returncode for look in looks]
    assert ["open", "resolved"] == [record["state"] for record in run.records("incident-events.jsonl")]
    assert ["intended", "applied"] == [record["outcome"] for record in run.records("remediation-events.jsonl")]


def test_many_looks_at_once_repeat_nothing(host: Host) -> None:
    """Looks that begin together wait for each other."""
    run = host.run()
    host.look()
    for process in (run.runner, run.executor):
        process.kill()
        process.wait()
    words = [PROGRAM, "--state-root", str(host.root), "supervisor", "once", "--no-sync-index"]
    looks = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(5)]
    ended = [(look.communicate(timeout=120)[1], look.returncode) for look in looks]

    assert [("", 0)] * 5 == ended
    assert ["open", "resolved"] == [record["state"] for record in run.records("incident-events.jsonl")]
    assert ["intended", "applied"] == [record["outcome"] for record in run.records("remediation-events.jsonl")]


def test_run_waits_for_a_state_root_that_comes_later(tmp_path: Path) -> None:
    """Nothing to supervise is no error; a run that is published later is seen."""
    root = tmp_path / "state"
    process = subprocess.Popen(
        [PROGRAM, "--state-root", str(root), "supervisor", "run", "--no-sync-index", "--interval", "0.1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    (root / "runs/run-one").mkdir(parents=True)
    for path in (root, root / "runs"):
        path.chmod(0o700)
    status = {"session_id": "run-one", "status": "running"}
    (root / "runs/run-one/status.json").write_text(json.dumps(status))
    try:
        wait_for((root / "runs/run-one/run-health-samples.jsonl").exists)
    finally:
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=60)

    assert (0, "") == (process.returncode, err)


def test_stuck_cycle_is_named(host: Host) -> None:
    """While another supervisor stays in its cycle, a look does not squeeze in."""
    host.run()
    with cycle_lock(host.root):
        looked = subprocess.Popen(
            [PROGRAM, "--state-root", str(host.root), "supervisor", "once", "--no-sync-index"], stdout=subprocess.PIPE
        )
        try:
            looked.wait(timeout=3)
        except subprocess.TimeoutExpired:
            waited = True
        else:
            waited = False
    looked.communicate(timeout=60)

    assert (True, 0) == (waited, looked.returncode)


def test_run_prints_a_line_for_each_change(host: Host) -> None:
    """What begins, ends and is done is told once; what lasts and what could not be looked at too."""
    run = host.run()
    (host.root / "runs" / "bad").mkdir()
    (host.root / "runs" / "bad" / "status.json").write_text("{")
    host.look()
    with running(host.root) as supervisor:
        for process in (run.runner, run.executor):
            process.kill()
            process.wait()
        wait_for(lambda: "lost" == run.document("status.json").get("executor_result"))
        wait_for(lambda: len(run.records("remediation-events.jsonl")) == 2)
        supervisor.send_signal(signal.SIGTERM)
        out, err = supervisor.communicate(timeout=60)

    told = [line[9:] for line in out.splitlines()]
    assert "" == err
    assert ["incident opened", "incident resolved", "finalize-lost/v1 applied"] == [
        line.split(":")[0] for line in told if "run-one" in line
    ]
    assert 1 == sum(line.startswith("error: ") and "bad" in line for line in told)
