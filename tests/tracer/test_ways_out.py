"""Every way a run can be cut off: what was acknowledged is in the files, nothing is left running, the end is told."""

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from cut_off import ACKS, HUNG_TOOL, check_closed, check_rebuilds, start_hung
from tracer_lab import ROOT, Project, processes_below

from agent_workflow.tracer import TraceReader, kill_session, rebuild


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal(project: Project, number: signal.Signals) -> None:
    """A signal ends the agent and its hung tool, and the session says which signal it was."""
    process = start_hung(project)

    process.send_signal(number)
    out, _ = process.communicate(timeout=120)

    assert 128 + number == process.returncode
    assert {} == processes_below(project.root)
    check_closed(project, "run1", out.decode(), number.name)
    assert [False] == [event["payload"]["ok"] for event in project.events("run1", "tool_call")]
    assert 1 == len(project.events("run1", "agent_end"))


def test_agent_is_killed_by_somebody_else(project: Project) -> None:
    """An agent that dies in a tool fails its phase; the call was interrupted, and what it had started is ended."""
    process = start_hung(project)
    agent = next(row for row in project.rows("processes") if row["kind"] == "agent")

    os.kill(agent["pid"], signal.SIGKILL)
    out, _ = process.communicate(timeout=120)

    assert 1 == process.returncode
    assert {} == processes_below(project.root)
    check_closed(project, "run1", out.decode(), "ended by signal 9")
    call = project.events("run1", "tool_call")[0]["payload"]
    assert (False, True) == (call["ok"], call["interrupted"])


def test_agents_side_by_side(project: Project) -> None:
    """Ending one of two agents of a run leaves the other one alone."""
    hung = {"tools": [{"name": "bash", "arguments": {"command": "sleep 300"}}]}
    busy = {"tools": [{"name": "bash", "arguments": {"command": "sleep 4; touch finished"}}]}
    for name, turns in (("hung", [hung]), ("busy", [busy, {"text": "{}"}])):
        (project.root / f"{name}.json").write_text(json.dumps({"sends": [{"turns": turns}]}))
    agents = [f"{{name: {name}, coding_agent: scripted, model: scripted/{name}.json}}" for name in ("hung", "busy")]
    project.configure(f"agents: [{', '.join(agents)}]\n")
    body = """
import threading
def work(name, seconds):
    try:
        with phase(name, kind="agent", owner=name) as ph:
            ph.call(AgentCall(prompt="go", timeout_seconds=seconds))
    except AgentError as error:
        print(error)
threads = [threading.Thread(target=work, args=job) for job in (("hung", 1), ("busy", 60))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
sys.exit(run.finish())
"""
    done = project.run(body, "run1")

    assert 1 == done.code, done.err
    assert (project.root / "finished").exists()
    assert {"hung": "fail", "busy": "success"} == {row["name"]: row["status"] for row in project.rows("phases")}
    check_rebuilds(project)


def test_two_signals(project: Project) -> None:
    """A second signal does not interrupt the closing; of two that arrive together Python may handle either first."""
    process = start_hung(project)

    process.send_signal(signal.SIGTERM)
    time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)

    first = signal.Signals(process.returncode - 128)
    assert first in (signal.SIGTERM, signal.SIGINT)
    check_closed(project, "run1", out.decode(), first.name)


@pytest.mark.parametrize(
    ("workflow", "reason"),
    [
        ('with phase("work") as ph:\n    work(ph, 5)\n    raise ValueError("ruff exited 1")\n', "ruff exited 1"),
        ('with phase("work") as ph:\n    work(ph, 5)\nraise KeyError("between")\n', "KeyError: 'between'"),
        ('with phase("work") as ph:\n    work(ph, 5)\n', "ended without finish()"),
        ('with phase("work") as ph:\n    work(ph, 5)\nsys.exit(3)\n', "ended without finish()"),
        ('with phase("work", description="Work!") as ph:\n    work(ph, 5)\n', "repeats the name"),
    ],
    ids=["in a phase", "between phases", "no finish", "exit", "refused description"],
)
def test_exception(project: Project, workflow: str, reason: str) -> None:
    """Whatever ends a workflow early ends its session as failed, with the reason."""
    done = project.run(ACKS + workflow, "run1")

    check_closed(project, "run1", done.out, reason)


def test_exception_that_is_caught(project: Project) -> None:
    """A workflow may go on after a failed phase; the session stays open until it finishes, and fails."""
    body = 'try:\n    with phase("one") as ph:\n        raise ValueError("no")\nexcept ValueError:\n    pass\n'
    done = project.run(body + 'with phase("two") as ph:\n    pass\nsys.exit(run.finish())\n', "run1")

    assert 1 == done.code
    assert ["fail", "success"] == [row["status"] for row in project.rows("phases", "run1")]
    assert "fail" == project.session("run1")["status"]


def test_not_accepted(project: Project) -> None:
    """A run that is not accepted fails with the reason though every phase succeeded."""
    done = project.run(
        'with phase("test") as ph:\n    pass\nsys.exit(run.finish(accepted=False, reason="2 failed"))\n', "run1"
    )

    assert 1 == done.code
    check_closed(project, "run1", "", "2 failed")


def test_bad_configuration(project: Project) -> None:
    """A configuration that cannot be used leaves a failed session that says why."""
    project.configure("agents: [{name: builder, thinking: loud}]\n")

    done = project.run("", "run1")

    assert "thinking must be one of" in done.err
    check_closed(project, "run1", "", "thinking must be one of")


def test_exception_in_a_gate(project: Project) -> None:
    """A gate that raises fails the phase, is recorded as a failed gate, and the agent is not asked again."""
    project.script([{"text": '{"summary": "ok"}'}])
    body = """
def sharp(context):
    raise ZeroDivisionError("by zero")
with phase("build", kind="agent", owner="builder", retries=3) as ph:
    ph.call(AgentCall(prompt="go", gates=[sharp]))
"""
    done = project.run(body, "run1")

    assert 1 == done.code
    check_closed(project, "run1", "", "ZeroDivisionError: by zero")
    assert [("sharp", 0)] == [(row["gate"], row["passed"]) for row in project.rows("gate_results")]
    assert 1 == len(project.events("run1", "agent_end")[0]["payload"]["sends"])


@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "process group"])
def test_sigkill_then_next_run(project: Project, whole_group: bool) -> None:
    """A killed run is shown as lost, leaves no agent behind, and is closed by the next run."""
    process = start_hung(project)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=120)
    project.wait_for(lambda: processes_below(project.root) == {})
    with TraceReader(project.db) as reader:
        shown = reader.session("run1")["shown_status"]

    done = project.run("sys.exit(run.finish())", "run2")

    assert 0 == done.code, done.err
    assert "lost" == shown
    check_closed(project, "run1", out.decode(), "process is gone")


def test_sigkill_then_trace_kill(project: Project) -> None:
    """A lost run is closed by ``trace kill``, once."""
    process = start_hung(project)
    process.kill()
    out, _ = process.communicate(timeout=120)

    first = kill_session(project.db, project.data_dir, "run1", print)
    second = kill_session(project.db, project.data_dir, "run1", print)

    assert (True, False) == (first.closed, second.closed)
    assert ("fail", "fail") == (first.status, second.status)
    check_closed(project, "run1", out.decode(), "trace kill")


def test_sigkill_then_joined(project: Project) -> None:
    """Joining a lost session first closes what was lost, then goes on after it."""
    process = start_hung(project)
    process.kill()
    process.communicate(timeout=120)

    done = project.run('with phase("again") as ph:\n    pass\nsys.exit(run.finish())\n', "run1")

    assert 1 == done.code
    phases = [(row["seq"], row["name"], row["status"]) for row in project.rows("phases", "run1")]
    assert [(1, "count", "success"), (2, "build", "fail"), (3, "again", "success")] == phases
    check_rebuilds(project)


def test_killed_at_any_moment(project: Project) -> None:
    """Killed eight times at different moments under full load, no acknowledged event is ever missing."""
    body = """
acks = open(f"acks-{run.adw_id}", "wb", buffering=0)
with phase("work") as ph:
    while True:
        acks.write(ph.log().encode() + b"\\n")
"""
    for n in range(8):
        process = project.start(body, f"run{n}")
        acks = project.root / f"acks-run{n}"
        project.wait_for(partial(is_longer, acks, 5_000 * n), seconds=120)
        process.kill()
        process.communicate(timeout=120)
        told = acks.read_text().rpartition("\n")[0].split("\n")
        lines = (project.files(f"run{n}") / "events.jsonl").read_bytes().split(b"\n")
        assert set(told) <= {json.loads(line)["event_id"] for line in lines[:-1]}

    project.run("sys.exit(run.finish())", "last")

    assert {"fail"} == {project.session(f"run{n}")["status"] for n in range(8)}
    check_rebuilds(project)


def test_signal_while_it_finishes(project: Project) -> None:
    """Wherever SIGTERM meets a run that finishes, it has ended whole: its row, its processes and its seal agree."""
    program = ROOT / "tests/tracer/lab/signal_at_some_steps.py"
    done = subprocess.run(
        [sys.executable, program], cwd=project.root, env=project.environment, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)

    assert {("fail", 0, "sealed"), ("success", 0, "sealed")} >= {tuple(rest) for _, *rest in found}
    assert ["fail", "success"] == list(dict.fromkeys(status for _, status, *_ in found))
    assert 12 < len(found)
    assert {143, -15} >= {code for code, *_ in found[:-1]}
    check_rebuilds(project)


def is_longer(file: Path, size: int) -> bool:
    """Tell whether a file has more bytes than that."""
    return file.stat().st_size > size


def test_forked_child_records_too(project: Project) -> None:
    """A child that a workflow forked may record: neither harms the other, and the child's end ends nothing."""
    body = """
with phase("work") as ph:
    ph.log(who="parent")
    child = os.fork()
    if child == 0:
        for n in range(50):
            ph.log(who="child")
        os._exit(0)
    for n in range(50):
        ph.log(who="parent")
    os.waitpid(child, 0)
sys.exit(run.finish())
"""
    done = project.run(body, "run1")

    assert 0 == done.code, done.err
    events = project.events("run1", "log")
    assert [51, 50] == [sum(event["payload"]["who"] == who for event in events) for who in ("parent", "child")]
    assert 101 == len({event["event_id"] for event in events})
    check_rebuilds(project)


def test_agent_that_takes_too_long(project: Project) -> None:
    """An agent beyond its time is ended with what it started, and its phase says so."""
    project.script(HUNG_TOOL)
    body = """
with phase("build", kind="agent", owner="builder", retries=3) as ph:
    ph.call(AgentCall(prompt="go", timeout_seconds=2))
"""
    done = project.run(body, "run1")

    assert 1 == done.code
    assert {} == processes_below(project.root)
    check_closed(project, "run1", "", "took longer than 2 s")
    assert 1 == len(project.events("run1", "agent_end")[0]["payload"]["sends"])


def test_session_that_is_just_starting_is_left_alone(project: Project) -> None:
    """Workflows that start while others do never take each other for lost."""
    body = "with phase('work') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n"
    for round_ in range(3):
        processes = [project.start(body, f"run{round_}{n}") for n in range(6)]
        faults = [process.communicate(timeout=120)[1] for process in processes]
        assert [b""] * 6 == faults

    assert [] == [event for n in range(18) for event in project.events(f"run{n // 6}{n % 6}", "error")]


KILLED_AFTER_ITS_END = """
real = os.write
def write(fd, data):
    written = real(fd, data)
    if b'"status": "success", "ended_at"' in data:
        os.kill(os.getpid(), signal.SIGKILL)
    return written
os.write = write
sys.exit(run.finish())
"""


def test_sigkill_as_the_end_is_written(project: Project) -> None:
    """The session and its process end with one write: who is killed right after it leaves both ended."""
    assert -9 == project.run(KILLED_AFTER_ITS_END, "run1").code

    rebuild(project.db, project.data_dir)

    assert "success" == project.session("run1")["status"]
    assert [True] == [bool(row["ended_at"]) for row in project.rows("processes")]


def left_open(project: Project) -> None:
    """Leave a session that ended and whose process row did not, as a write that was cut in two does."""
    assert -9 == project.run(KILLED_AFTER_ITS_END, "run1").code
    state = project.files("run1") / "state.jsonl"
    whole, last, _ = state.read_bytes().rsplit(b"\n", 2)
    assert b'"processes"' in last
    state.write_bytes(whole + b"\n")
    rebuild(project.db, project.data_dir)
    assert [None] == [row["ended_at"] for row in project.rows("processes")]


@pytest.mark.parametrize(
    ("repair", "publish"), [("next run", False), ("next run", True), ("joined", False), ("trace kill", False)]
)
def test_process_row_of_an_ended_session(project: Project, repair: str, publish: bool) -> None:
    """Its process is shown as gone, and its row is closed by whoever repairs; its success stays one."""
    project.configure(f"agents: []\nevidence: {{publish: {str(publish).lower()}}}\n")
    left_open(project)
    listed = json.loads(project.cli("trace", "procs", "run1", "--json").out)["processes"]

    if repair == "trace kill":
        assert "run1: success" in project.cli("trace", "kill", "run1").out
    else:
        assert 0 == project.run("sys.exit(run.finish())", "run1" if repair == "joined" else "run2").code

    assert ["gone"] == [row["state"] for row in listed]
    assert "success" == project.session("run1")["status"]
    assert all(row["ended_at"] for row in project.rows("processes"))
    assert [] == project.events("run1", "error")
    check_rebuilds(project)


def test_joined_process_that_was_killed(project: Project) -> None:
    """Whoever ends a session closes the row of another process at it that was killed."""
    killed = "import subprocess\nother = \"\"\"from agent_workflow.tracer import *\nimport os\nensure(load_config('adws/sssf.config.yaml'), 'run1')\nos.kill(os.getpid(), 9)\n\"\"\"\nassert -9 == subprocess.run([sys.executable, '-c', other]).returncode\n"  # noqa: E501 - a program in one piece
    done = project.run(killed + "sys.exit(run.finish())", "run1")

    assert (0, "") == (done.code, done.err)
    assert "success" == project.session("run1")["status"]
    assert [True, True] == [bool(row["ended_at"]) for row in project.rows("processes")]
