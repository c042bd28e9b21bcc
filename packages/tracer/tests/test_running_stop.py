"""A recorded command that is told to stop, or whose recorder is killed: nothing of it is left, and why is told."""

import os
import signal
import subprocess
import sys
from typing import Any

import pytest
from running_lab import SECONDS, Lab, is_alive, wait_for, wait_for_end, wait_for_pid

pytestmark = pytest.mark.slow

# What leaves its group is found by its environment, which only Linux shows.
FAMILY = f"""
{"setsid" if sys.platform == "linux" else ""} sh -c 'echo $$ > stray; sleep 300' &
sh -c 'echo $$ > child; sleep 300' &
echo $$ > root
wait
exit 9
"""
STUBBORN = """
import os, signal, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
open("pid", "w").write(str(os.getpid()))
print("ready", flush=True)
time.sleep(300)
"""
# No shell: dash may forget a signal that comes while it starts a program.
WILLING = """
import pathlib, os, signal, sys
def end(number, frame):
    pathlib.Path("asked").write_text("asked")
    print("bye", flush=True)
    os._exit(5)
signal.signal(signal.SIGTERM, end)
pathlib.Path("willing").write_text(str(os.getpid()))
print("ready", flush=True)
while True:
    signal.pause()
"""
COUNTING = """
import signal, sys, time
count = 0
def note(number, frame):
    global count
    count += 1
    print("got", number, flush=True)
for number in (signal.SIGINT, signal.SIGUSR1):
    signal.signal(number, note)
print("ready", flush=True)
sys.stdin.readline()
print("total", count)
"""


def family(lab: Lab) -> list[int]:
    """Wait for the three processes of ``FAMILY``."""
    names = ("root", "child", "stray")
    return [wait_for_pid(lab.root / name) for name in names]


def wait_until_recorded(lab: Lab) -> dict[str, Any]:
    """Wait until the agent's process is in the database and return its row."""
    rows = wait_for(lambda: [row for row in lab.rows("processes") if row["kind"] == "agent"], "the agent's row")
    return dict(rows[0])


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_told_to_stop(lab: Lab, number: signal.Signals) -> None:
    """The signal ends the command with all it has started, also what left its group, and the session names it."""
    with lab.start("sh", "-c", FAMILY) as process:
        pids = family(lab)
        process.send_signal(number)
        code = process.wait(SECONDS)

    assert -number == code
    assert [] == [pid for pid in pids if is_alive(pid)]
    assert "fail" == lab.session()["status"]
    assert number.name == lab.rows("phases")[-1]["error"]
    assert [] == [row for row in lab.rows("processes") if row["ended_at"] is None]


def test_command_that_does_not_want_to_stop(lab: Lab) -> None:
    """What is still there after the grace is killed; we end by the signal that was asked with."""
    with lab.start(sys.executable, "-c", STUBBORN, options=("--grace", "0.3")) as process:
        pid = wait_for_pid(lab.root / "pid")
        process.send_signal(signal.SIGTERM)

        assert -signal.SIGTERM == process.wait(SECONDS)
    assert not is_alive(pid)
    assert "SIGKILL" == lab.end()["signal"]


@pytest.mark.skipif(sys.platform != "linux", reason="what leaves its group is found by its environment")
def test_what_left_the_group_is_asked_and_then_killed(lab: Lab) -> None:
    """What the command started in a group of its own is asked like the rest; what does not listen there is killed."""
    script = f"""
setsid {sys.executable} -c '{WILLING}' &
setsid {sys.executable} -c '{STUBBORN}' &
wait
"""
    with lab.start("sh", "-c", script, options=("--grace", "6")) as process:
        pids = [wait_for_pid(lab.root / "willing"), wait_for_pid(lab.root / "pid")]
        process.send_signal(signal.SIGTERM)
        process.wait(SECONDS)

    assert "asked" == (lab.root / "asked").read_text()
    assert [] == [pid for pid in pids if is_alive(pid)]


def test_asked_twice(lab: Lab) -> None:
    """Asked for the second time, nobody waits for the grace."""
    with lab.start(sys.executable, "-c", STUBBORN, options=("--grace", "100000")) as process:
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(0.2)
            except subprocess.TimeoutExpired:
                continue

    assert -signal.SIGTERM == process.returncode


def test_command_that_ends_well_when_told(lab: Lab) -> None:
    """The exit code is the command's own, also when it takes a signal well."""
    with lab.start(sys.executable, "-c", WILLING) as process:
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGTERM)

        assert b"bye\n" == process.stdout.read()
        assert 5 == process.wait(SECONDS)
    assert "SIGTERM" == lab.rows("phases")[-1]["error"]


def test_other_signals_are_handed_on(lab: Lab) -> None:
    """A signal that means something to the command gets to it, once."""
    with lab.start(sys.executable, "-c", COUNTING, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGUSR1)
        assert b"got %d\n" % signal.SIGUSR1 == process.stdout.readline()
        process.stdin.write(b"\n")
        process.stdin.close()

        assert b"total 1\n" == process.stdout.read()


def test_ignored_hang_up(lab: Lab) -> None:
    """Behind nohup, neither we nor the command take a hang-up."""
    script = "echo ready; read line; echo got $line"
    ignoring = ["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *lab_run("sh", "-c", script)]
    with subprocess.Popen(
        ignoring, cwd=lab.root, env=lab.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        process.stdin.write(b"on\n")
        process.stdin.close()

        assert b"got on\n" == process.stdout.read()
    assert 0 == process.returncode


def test_front_is_killed(lab: Lab) -> None:
    """SIGKILL to the front: the command and all below it are ended, and the session is closed with the reason."""
    with lab.start("sh", "-c", FAMILY) as process:
        pids = family(lab)
        process.kill()
        process.wait(SECONDS)

    wait_for(lambda: not any(is_alive(pid) for pid in pids), "the end of the command")
    wait_for(lambda: lab.session()["status"] == "fail", "the end of the session")
    assert "was killed" in lab.rows("phases")[-1]["error"]


def test_front_is_killed_at_once(lab: Lab) -> None:
    """SIGKILL before the recorder has loaded anything: nothing of the command is left either."""
    for _ in range(3):
        (lab.root / "root").unlink(missing_ok=True)
        with lab.start("sh", "-c", "echo $$ > root; sleep 300") as process:
            pid = wait_for_pid(lab.root / "root")
            process.kill()
        wait_for_end(pid)


def test_recorder_is_killed(lab: Lab) -> None:
    """SIGKILL to the recorder: the command goes on, the user is told once, the next run closes the session."""
    with lab.start("sh", "-c", "echo before; read line; echo after; exit 4", stdin=subprocess.PIPE) as process:
        wait_until_recorded(lab)
        (recorder,) = [row["pid"] for row in lab.rows("processes") if row["kind"] == "adw"]
        os.kill(recorder, signal.SIGKILL)
        out, err = process.communicate(b"\n", timeout=SECONDS)

    assert (4, b"before\nafter\n") == (process.returncode, out)
    assert b"agent-workflow: the recorder has ended before the command; the session is not recorded in full\n" == err
    lost = lab.session()["adw_id"]
    lab.recorded("true")
    assert ["fail"] == [row["status"] for row in lab.rows("sessions") if row["adw_id"] == lost]


def test_recorder_is_told_to_stop(lab: Lab) -> None:
    """SIGTERM to the process that the trace names as the workflow ends the run like one to the front."""
    with lab.start("sh", "-c", FAMILY) as process:
        pids = family(lab)
        wait_until_recorded(lab)
        (recorder,) = [row["pid"] for row in lab.rows("processes") if row["kind"] == "adw"]
        os.kill(recorder, signal.SIGTERM)

        assert -signal.SIGTERM == process.wait(SECONDS)
    assert [] == [pid for pid in pids if is_alive(pid)]
    assert "SIGTERM" == lab.rows("phases")[-1]["error"]


def test_killed_by_the_session(lab: Lab) -> None:
    """``kill_session`` finds the command by what is recorded of it, and all below it."""
    from agent_workflow.tracer import kill_session

    with lab.start("sh", "-c", FAMILY) as process:
        pids = family(lab)
        wait_until_recorded(lab)
        adw_id = lab.session()["adw_id"]
        report = kill_session(lab.data_dir / "sssf.db", lab.data_dir, adw_id, print, grace_seconds=20, force=True)
        process.wait(SECONDS)

    assert report.is_over
    assert [] == [pid for pid in pids if is_alive(pid)]
    assert "fail" == lab.session()["status"]


def lab_run(*command: str) -> list[str]:
    """Return the words that run a command behind the recorder."""
    return [sys.executable, "-m", "agent_workflow.tracer.running", "--", *command]
