"""The number of a process passes to a stranger between the look at it and the signal."""

import subprocess
import sys
from pathlib import Path

import pytest
from supervisor_lab import CONTAINED, can_contain

BEGIN = """
import fcntl, signal, subprocess, sys, termios, time
from agent_workflow.cli.supervisor import signals
from agent_workflow.cli.supervisor.process_table import look
from agent_workflow.tracer import _ending, _keeper, _processes

target = subprocess.Popen(["sleep", "60"])
seen, found = look(target.pid), _processes.find(target.pid)
strangers = []

def passes_on():
    target.kill()
    target.wait()
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(target.pid - 1))
    strangers.append(subprocess.Popen(["sleep", "60"]))
"""
SUPERVISOR = """
signals._is_running = lambda _: passes_on() is None
was_sent = signals._send(seen, signal.SIGKILL)
"""
TRACER = """
_ending.find = lambda _: passes_on() or found
was_sent = _ending._signal(found, signal.SIGKILL) != "gone"
"""
KEEPER = """
started = _keeper.started_of(target.pid)
_keeper.started_of = lambda _: passes_on() or started
was_sent = _keeper.kill(target.pid, started)
"""
KEEPER_LATER = """
keeper = subprocess.Popen([sys.executable, "-I", "-S", _keeper.__file__, "a"], stdin=subprocess.PIPE, bufsize=0)
for line in (b"+%d\\n" % target.pid, b"-9999999\\n"):  # the second is read when the first has been dealt with
    keeper.stdin.write(line)
    while any(fcntl.ioctl(keeper.stdin, termios.FIONREAD, bytes(4))):
        time.sleep(0.01)
passes_on()
keeper.stdin.close()
was_sent = keeper.wait()
"""
TRACE_KILL = """
from pathlib import Path
from agent_workflow.tracer import Tracer, _killing

folder, moment, agent = Path.cwd(), "2026-01-01T00:00:00.000+00:00", subprocess.Popen(["sleep", "61"])
tracer = Tracer(folder / "sssf.db", folder, "run1")
tracer.row("sessions", status="running", started_at=moment, ended_at=None)
for kind, process in (("adw", target), ("agent", agent)):
    columns = dict(kind=kind, name="", pid=process.pid, command=" ".join(process.args), started_at=moment)
    marker = _processes.find(process.pid).start_marker
    tracer.numbered_row("processes", **columns, ended_at=None, start_marker=marker)
tracer.close()
end = _killing.end_processes
_killing.end_processes = lambda *words, **more: (strangers or passes_on(), end(*words, **more))[1]
report = _killing.kill_session(folder / "sssf.db", folder, "run1", print, grace_seconds=5)
was_sent = ["ended", "recycled"] != [ended.outcome for ended in report.outcomes]
"""
END = """
[stranger] = strangers
if stranger.pid != target.pid:
    sys.exit(77)
time.sleep(0.2)
sys.exit(1 if was_sent or stranger.poll() is not None else 0)
"""


@pytest.mark.skipif(not can_contain(), reason="only root, with util-linux, makes a pid namespace")
@pytest.mark.parametrize(
    "signalled_by",
    [SUPERVISOR, TRACER, TRACE_KILL, KEEPER, KEEPER_LATER],
    ids=["supervisor", "tracer", "trace kill", "keeper", "keeper that was told long ago"],
)
def test_a_number_that_passes_on_between_look_and_signal_is_not_signalled(tmp_path: Path, signalled_by: str) -> None:
    """The process is held while it is looked at: what has its number a moment later is a stranger."""
    program = BEGIN + signalled_by + END

    done = subprocess.run(
        [*CONTAINED, sys.executable, "-c", program], cwd=tmp_path, timeout=120, capture_output=True, text=True
    )

    if done.returncode == 77 or "ns_last_pid" in done.stderr:
        pytest.skip("the kernel does not let us choose the next pid")
    assert (0, "") == (done.returncode, done.stderr)
