"""Callers out of the ordinary: what they hand down, block, or do not read; nothing of that hurts the command."""

import os
import resource
import signal
import subprocess
import sys
import time

import pytest
from running_lab import RUN, SECONDS, Lab, wait_for

from agent_workflow.tracer._linger import Linger
from agent_workflow.tracer.running._channel import Channel

SIGNALS = """
import signal, time
time.sleep(0.2)
print(sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))), signal.getsignal(signal.SIGCHLD))
"""
MANY = 1100
OPEN_MANY = f"""
import os, resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, ({MANY + 100}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for _ in range({MANY}):
    os.set_inheritable(os.open(os.devnull, os.O_RDONLY), True)
os.execvp(sys.argv[1], sys.argv[1:])
"""


def block_signals() -> None:
    """Block what a careless parent may."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD, signal.SIGUSR1])


def ignore_children() -> None:
    """Ignore the end of children, so that the system waits for them."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


@pytest.mark.parametrize("prepare", [block_signals, ignore_children])
def test_signals_as_inherited(lab: Lab, prepare: object) -> None:
    """Signals that the caller blocks or ignores are so in the command, and do not keep us from seeing its end."""
    bare = lab.bare(sys.executable, "-c", SIGNALS, preexec_fn=prepare)
    recorded = lab.recorded(sys.executable, "-c", SIGNALS, preexec_fn=prepare)

    assert (bare.returncode, bare.stdout) == (recorded.returncode, recorded.stdout)


@pytest.mark.skipif(sys.platform != "linux", reason="select is all there is elsewhere")
@pytest.mark.skipif(0 < resource.getrlimit(resource.RLIMIT_NOFILE)[1] < MANY + 100, reason="so many are not allowed")
def test_many_descriptors(lab: Lab) -> None:
    """A caller that hands down more than a thousand descriptors gets its command run and recorded."""
    script = "echo before; sleep 0.1; echo after"
    recorded = lab.bare(sys.executable, "-c", OPEN_MANY, *RUN, "--", "sh", "-c", script)

    assert (0, b"before\nafter\n", b"") == (recorded.returncode, recorded.stdout, recorded.stderr)
    assert "success" == lab.session()["status"]


def test_stderr_that_nobody_reads(lab: Lab) -> None:
    """A warning that finds stderr full holds up neither the command's output nor a signal."""
    program = "import os, sys; os.write(2, b'e' * 70_000); sys.stdin.readline(); print('ready', flush=True); input()"
    with lab.start(sys.executable, "-c", program, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        wait_for(lambda: len(lab.rows("processes")) == 2, "the recorder")
        (recorder,) = [row["pid"] for row in lab.rows("processes") if row["kind"] == "adw"]
        os.kill(recorder, signal.SIGKILL)  # which is told
        wait_for(lambda: not is_there(recorder), "the end of the recorder")
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert b"ready\n" == process.stdout.readline()
        process.send_signal(signal.SIGTERM)

        assert -signal.SIGTERM == process.wait(SECONDS)


def test_slow_reader_without_room_for_a_spill(lab: Lab) -> None:
    """Where no file can grow, a reader that takes its time after the end of the command gets every byte, too."""
    program = "import os\nfor n in range(20): os.write(1, bytes([n]) * 50_000)"
    limited = ["sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *RUN, "--", sys.executable, "-c", program]
    process = subprocess.Popen(
        limited, cwd=lab.root, env=lab.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    time.sleep(2)  # longer than what is left running is listened to; too short a time lets the test pass, never fail
    out, _ = process.communicate(timeout=SECONDS)

    assert b"".join(bytes([n]) * 50_000 for n in range(20)) == out


def test_both_outputs_go_nowhere(lab: Lab) -> None:
    """Where nobody reads, there is no order to keep: what is printed as an error is not recorded as output."""
    lab.recorded("sh", "-c", "echo out; echo err >&2", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    assert (b"out\n", b"err\n") == (lab.stored(), lab.stored("stderr.log"))


def test_no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started, output is handed on all the same."""

    def refuse(*_: object) -> int:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    reading, writing = os.pipe()
    source, command = os.pipe()
    channel = Channel("stdout", -1, writing, lambda: None, source=source)
    os.write(command, b"said")
    os.close(command)

    assert [True, False] == [channel.take(), channel.take()]
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert b"said" == pipe.read()
    assert channel.is_delivered


def test_lingering(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was left running is listened to for a second of silence, ten in all, and never before all was taken."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def over_after(seconds: int, *, something_came: bool = False, is_held_up: bool = False) -> bool:
        now[0] = 0.0
        linger = Linger()
        for _ in range(seconds * 10):
            now[0] += 0.1
            linger.note(something_came=something_came, is_held_up=is_held_up)
        return linger.is_over

    assert [False, True] == [over_after(0), over_after(2)]
    assert [False, True] == [over_after(9, something_came=True), over_after(11, something_came=True)]
    assert not over_after(100, is_held_up=True)
    late = Linger()
    now[0] += 1000  # this process was stopped
    assert not late.is_over
    late.note(something_came=True, is_held_up=False)
    assert not late.is_over


def is_there(pid: int) -> bool:
    """Tell whether a process is, ended or not."""
    return subprocess.run(["ps", "-p", str(pid)], capture_output=True, check=False).returncode == 0
