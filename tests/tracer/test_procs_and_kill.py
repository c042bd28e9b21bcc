"""``trace procs`` and ``trace kill``: only what still is what was recorded is signalled, and each pid is told about."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tracer_lab import Project, processes_below

from agent_workflow.tracer import NoSuchSession, Tracer, kill_session
from agent_workflow.tracer._processes import find

HANG = """
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(prompt="go"))
sys.exit(run.finish())
"""
STUBBORN = "trap '' TERM; touch started; while true; do sleep 1; done"


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that sleeps."""
    process = subprocess.Popen(["sleep", "300"])
    deadline = time.monotonic() + 10
    while getattr(find(process.pid), "command", "") != "sleep 300" and time.monotonic() < deadline:
        time.sleep(0.01)  # right after its start the system shows no arguments yet
    yield process
    process.kill()
    process.wait()


def record(project: Project, **columns: Any) -> None:
    """Forge a running session with one process row."""
    tracer = Tracer(project.db, project.data_dir, "forged")
    tracer.row("sessions", status="running", started_at="2026-01-01T00:00:00.000+00:00", ended_at=None)
    filled = {"kind": "adw", "name": "", "started_at": "2026-01-01T00:00:00.000+00:00", "ended_at": None, **columns}
    tracer.numbered_row("processes", **filled)
    tracer.reserve.release()
    tracer.close()


def states(project: Project) -> list[str]:
    """Return what ``trace procs`` says of the forged session's processes."""
    found = json.loads(project.cli("trace", "procs", "forged", "--json").out)["processes"]
    return [row["state"] for row in found]


def outcomes(project: Project, code: int = 0) -> list[str]:
    """Return what ``trace kill`` did to the forged session's processes."""
    done = project.cli("trace", "kill", "forged", "--grace", "1", "--json", code=code)
    return [row["outcome"] for row in json.loads(done.out)["processes"]]


def test_hung_agent_and_its_grandchild(project: Project) -> None:
    """A hung run is ended from the deepest process to the workflow, and says how it ended."""
    project.script([{"tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}])
    process = project.start(HANG, "run1")
    project.wait_for_agent()
    listed = json.loads(project.cli("trace", "procs", "run1", "--json").out)["processes"]

    done = json.loads(project.cli("trace", "kill", "run1", "--json").out)
    process.communicate(timeout=30)

    assert [("adw", "alive"), ("agent", "alive")] == [(row["kind"], row["state"]) for row in listed]
    assert {} == processes_below(project.root)
    commands = [row["command"] for row in done["processes"]]
    assert commands[0].startswith("sleep")
    assert "adw_run1" in commands[-1]
    assert "fail" == done["status"] == project.session("run1")["status"]


def test_stray_grandchild(project: Project) -> None:
    """A process that left the agent's tree and group is found by the mark that it inherited."""
    stray = "import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  open('started','w').close(); time.sleep(300)\n os._exit(0)\n"  # noqa: E501 - a program or a schema in one piece
    (project.root / "stray.py").write_text(stray)
    command = f"{sys.executable} stray.py </dev/null >/dev/null 2>&1; sleep 300"
    project.script([{"tools": [{"name": "bash", "arguments": {"command": command}}]}])
    process = project.start(HANG, "run1")
    project.wait_for_agent()

    project.cli("trace", "kill", "run1")
    process.communicate(timeout=30)

    assert {} == processes_below(project.root)


def test_process_that_ignores_sigterm(project: Project) -> None:
    """Without --force what ignores SIGTERM is told to be alive; with it, it is killed."""
    body = f"subprocess.Popen(['bash', '-c', {STUBBORN!r}]).wait()"
    process = project.start(
        f"signal.signal(signal.SIGTERM, signal.SIG_IGN)\nwith phase('work') as ph:\n    {body}\n", "run1"
    )
    project.wait_for((project.root / "started").exists)

    first = project.cli("trace", "kill", "run1", "--grace", "0.5", "--json", code=1)
    second = project.cli("trace", "kill", "run1", "--grace", "0.5", "--force", "--json")
    process.communicate(timeout=30)

    assert "alive" in [row["outcome"] for row in json.loads(first.out)["processes"]]
    assert "running" == json.loads(first.out)["status"]
    forced = {row["outcome"] for row in json.loads(second.out)["processes"]}
    assert "killed" in forced
    assert not forced & {"alive", "not permitted", "signalled"}  # what ends while the others are killed is gone
    assert {} == processes_below(project.root)
    assert "fail" == project.session("run1")["status"]


@pytest.mark.parametrize(
    "forgery",
    [
        {"command": "adw_other.py good"},
        {"command": "sleep 300", "start_marker": "linux:another-boot:1"},
        {"command": "sleep 300", "started_at": "2001-01-01T00:00:00.000+00:00"},
        {"command": ""},
    ],
    ids=["other command", "other start", "started later than recorded", "no command"],
)
def test_recycled_pid(project: Project, sleeper: subprocess.Popen[bytes], forgery: dict[str, Any]) -> None:
    """A pid that now belongs to something else is not signalled."""
    record(project, pid=sleeper.pid, **forgery)

    before, done = states(project), outcomes(project)

    assert (["recycled"], ["recycled"]) == (before, done)
    assert sleeper.poll() is None


def test_same_process_of_an_older_writer(project: Project, sleeper: subprocess.Popen[bytes]) -> None:
    """A row without a start marker is matched by its command and by not being older than its process."""
    record(project, pid=sleeper.pid, command="sleep 300", started_at="2126-01-01T00:00:00.000+00:00")

    assert ["ended"] == outcomes(project)
    assert -signal.SIGTERM == sleeper.wait(5)


def test_zombie(project: Project) -> None:
    """A process that has ended and waits for its parent is dead."""
    process = subprocess.Popen(["sleep", "300"])
    marker = getattr(find(process.pid), "start_marker", None)
    record(project, pid=process.pid, command="sleep 300", start_marker=marker)
    process.kill()
    project.wait_for(lambda: getattr(find(process.pid), "is_zombie", False))

    found, done = states(project), outcomes(project)
    process.wait()

    assert (["zombie"], ["zombie"]) == (found, done)
    assert "fail" == project.session("forged")["status"]


@pytest.mark.parametrize("pid", [0, -1, -12345, 2**40])
def test_pid_that_names_no_process(project: Project, pid: int) -> None:
    """Zero and negative numbers would address whole groups: they are never signalled."""
    record(project, pid=pid, command="sleep 300")

    assert states(project) == outcomes(project) == (["invalid"] if pid <= 0 else ["gone"])


@pytest.mark.skipif(os.geteuid() != 0, reason="starting a process of another user needs root")
def test_process_of_another_user(project: Project, sleeper: subprocess.Popen[bytes]) -> None:
    """A process that may not be signalled is alive, and the outcome says that it was not permitted."""
    marker = getattr(find(sleeper.pid), "start_marker", None)
    record(project, pid=sleeper.pid, command="sleep 300", start_marker=marker)
    for path in project.root.parents:  # pytest's own folders, which are closed to others
        if path == Path(tempfile.gettempdir()):
            break
        path.chmod(0o755)
    for path in [project.root, *project.root.rglob("*")]:
        path.chmod(0o777)

    with pytest.raises(NoSuchSession):  # imports everything while it can be read: Python itself may be root's alone
        kill_session(project.db, project.data_dir, "nobody", print)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.setuid(65534)
            report = kill_session(project.db, project.data_dir, "forged", print, grace_seconds=0.2)
            code = 0 if [item.outcome for item in report.outcomes] == ["not permitted"] and not report.is_over else 2
        finally:
            os._exit(code)
    _, status = os.waitpid(pid, 0)

    assert 0 == os.waitstatus_to_exitcode(status)
    assert sleeper.poll() is None
    assert "running" == project.session("forged")["status"]


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps here")
def test_ps_agrees_with_proc(monkeypatch: pytest.MonkeyPatch, sleeper: subprocess.Popen[bytes]) -> None:
    """Where there is no /proc, ps tells the same about a process, in whatever time zone it is asked."""
    by_proc = find(sleeper.pid)
    monkeypatch.setattr("agent_workflow.tracer._processes._has_proc", lambda: False)

    by_ps = find(sleeper.pid)
    with monkeypatch.context() as abroad:
        abroad.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        there = find(sleeper.pid)
    time.tzset()

    assert by_proc is not None
    assert by_ps is not None
    assert (by_proc.pid, by_proc.parent, by_proc.command) == (by_ps.pid, by_ps.parent, by_ps.command)
    assert abs(by_proc.started - by_ps.started) < 2
    assert by_ps == there == find(sleeper.pid)


def test_a_run_that_ended_is_left_alone(project: Project) -> None:
    """Killing what is over signals nothing and changes nothing."""
    project.run("with phase('work') as ph:\n    pass\nsys.exit(run.finish())\n", "run1")

    done = project.cli("trace", "kill", "run1")

    assert "nothing runs\nsession run1: success\n" == done.out


def test_killing_takes_no_longer_than_it_must(project: Project) -> None:
    """A run that ends at once is not waited for."""
    project.script([{"tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}])
    process = project.start(HANG, "run1")
    project.wait_for_agent()
    began = time.monotonic()

    project.cli("trace", "kill", "run1")
    process.communicate(timeout=30)

    assert time.monotonic() - began < 8


def test_unknown_session(project: Project) -> None:
    """A session that does not exist is told, with the next step."""
    project.run("sys.exit(run.finish())", "run1")

    done = project.cli("trace", "kill", "nobody", code=1)

    assert "no session nobody" in done.err
    assert str(Path("adws/adw_data/sssf.db")) in done.err
