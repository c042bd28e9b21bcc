"""Every way a run can be cut off: what was acknowledged is in the files, nothing is left running, the end is told."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tracer_lab import TABLES, Project, processes_below

from agent_workflow.tracer import TraceReader, kill_session, rebuild

ACKS = """
def work(ph, count):
    for n in range(count):
        print("ack", ph.log(n=n), flush=True)
"""
HANG = (
    ACKS
    + """
with phase("count") as ph:
    work(ph, 20)
with phase("build", kind="agent", owner="builder") as ph:
    ph.call(AgentCall(prompt="go"))
sys.exit(run.finish())
"""
)
HUNG_TOOL = [{"text": "waiting", "tools": [{"name": "bash", "arguments": {"command": "touch started; sleep 300"}}]}]


def acknowledged(output: str) -> set[str]:
    """Return the events that the workflow was told are recorded."""
    return {line.split()[1] for line in output.splitlines() if line.startswith("ack ")}


def check_files(project: Project, adw_id: str, output: str) -> None:
    """Nothing acknowledged is missing, every file ends in a whole line, and the reserve is given back."""
    directory = project.files(adw_id)
    recorded = {json.loads(line)["event_id"] for line in (directory / "events.jsonl").read_bytes().split(b"\n")[:-1]}
    assert acknowledged(output) <= recorded
    for file in directory.rglob("*.jsonl"):
        assert file.read_bytes()[-1:] in (b"\n", b""), file
    assert not (directory / ".reserve").exists()


def check_closed(project: Project, adw_id: str, output: str, reason: str) -> None:
    """The session failed for the reason, its phases and processes are closed, and a rebuild says the same."""
    check_files(project, adw_id, output)
    assert "fail" == project.session(adw_id)["status"]
    assert project.session(adw_id)["ended_at"]
    assert {"success", "fail"} >= {row["status"] for row in project.rows("phases", adw_id)}
    assert [] == [row for row in project.rows("processes", adw_id) if row["ended_at"] is None]
    words = json.dumps([event["payload"] for event in project.events(adw_id, "error")])
    assert reason in words
    check_rebuilds(project)


def check_rebuilds(project: Project) -> None:
    """A database filled from the files has the rows that this one has."""
    before = project.everything()
    report = rebuild(project.db, project.data_dir)
    assert report.lost_nothing, report
    for table in TABLES:
        assert before[table] == project.everything()[table]


def start_hung(project: Project, adw_id: str = "run1") -> subprocess.Popen[bytes]:
    """Start a workflow whose agent hangs in a tool, and wait until it does and is recorded."""
    project.script(HUNG_TOOL)
    process = project.start(HANG, adw_id, start_new_session=True)
    project.wait_for_agent(adw_id)
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_signal(project: Project, number: signal.Signals) -> None:
    """A signal ends the agent and its hung tool, and the session says which signal it was."""
    process = start_hung(project)

    process.send_signal(number)
    out, _ = process.communicate(timeout=30)

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
    out, _ = process.communicate(timeout=30)

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
    out, _ = process.communicate(timeout=30)

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


def test_database_locked_for_a_while(project: Project) -> None:
    """While the database is locked the run goes on; afterwards the database has everything."""
    body = (
        ACKS
        + 'with phase("work") as ph:\n    work(ph, 30)\n    time.sleep(2.5)\n    work(ph, 5)\nsys.exit(run.finish())\n'
    )
    project.run("sys.exit(run.finish())", "first")
    with locked(project.db):
        process = project.start(body, "run1")
        time.sleep(7)
    out, err = process.communicate(timeout=60)

    assert 0 == process.returncode, err
    assert b"the run goes on" in err
    assert b"has caught up" in err
    assert 35 == len(acknowledged(out.decode()))
    assert acknowledged(out.decode()) <= {event["event_id"] for event in project.events("run1")}
    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


def test_database_locked_beyond_the_end(project: Project) -> None:
    """A run that ends behind a lock has its end in the files; the next run brings the database up to date."""
    process = project.start(
        ACKS + 'with phase("work") as ph:\n    work(ph, 3)\n    time.sleep(1)\nsys.exit(run.finish())\n', "run1"
    )
    project.wait_for(lambda: len(project.events("run1", "log")) == 3)
    with locked(project.db):
        out, _ = process.communicate(timeout=60)
    check_files(project, "run1", out.decode())
    assert "running" == project.session("run1")["status"]

    project.run("sys.exit(run.finish())", "run2")

    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


def test_agent_is_not_held_up_by_a_locked_database(project: Project) -> None:
    """An agent that writes much runs to its end at its own speed while the database is locked."""
    loud = {"name": "bash", "arguments": {"command": "head -c 300000 /dev/zero | tr '\\\\0' x"}}
    project.script(
        [{"tools": [loud, loud, {"name": "bash", "arguments": {"command": "date +%s.%N > done"}}]}, {"text": "{}"}]
    )
    process = project.start(
        'with phase("build", kind="agent", owner="builder") as ph:\n    time.sleep(1)\n    ph.call(AgentCall())\nsys.exit(run.finish())\n',  # noqa: E501 - a program or a schema in one piece
        "run1",
    )
    project.wait_for(lambda: project.rows("phases", "run1"))
    with locked(project.db):
        locked_at = time.time()
        project.wait_for((project.root / "done").exists, seconds=20)
        took = float(project.wait_for((project.root / "done").read_text)) - locked_at
    process.communicate(timeout=60)

    assert took < 15
    assert 3 == len(project.events("run1", "tool_call"))


class locked:  # noqa: N801 - reads as a word in a with statement
    """Hold a database's write lock."""

    def __init__(self, db: Path) -> None:
        self._connection = sqlite3.connect(db, isolation_level=None)

    def __enter__(self) -> None:
        self._connection.execute("PRAGMA busy_timeout = 5000")
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, *_: object) -> None:
        self._connection.execute("ROLLBACK")
        self._connection.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of one and a half megabytes."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk(project: Project, small_disk: Path) -> None:
    """On a full disk the run fails loudly, keeps what it acknowledged, and still writes its end."""
    data = small_disk / "data"
    project.configure(f"defaults: {{data_dir: {data}}}\nobservability: {{db: {data}/sssf.db}}\n")
    link = project.root / "adws/adw_data"
    link.symlink_to(data)
    body = (
        ACKS + 'with phase("work") as ph:\n    while True:\n        print("ack", ph.log(text="x" * 2000), flush=True)\n'
    )

    done = project.run(body, "run1")

    assert 1 == done.code
    assert "No space left" in done.err or "no space left" in done.err
    assert len(acknowledged(done.out)) > 50
    check_files(project, "run1", done.out)
    state = [json.loads(line) for line in (project.files("run1") / "state.jsonl").read_bytes().split(b"\n")[:-1]]
    last = [record["row"] for record in state if record["table"] == "sessions"][-1]
    assert "fail" == last["status"]
    assert all(row["ended_at"] for row in last_rows(state, "processes"))
    with TraceReader(project.db) as reader:
        assert reader.session("run1")["shown_status"] in ("fail", "lost")


def test_full_disk_spares_the_agent(project: Project, small_disk: Path) -> None:
    """When the disk fills up during a call the agent runs to its end; then the phase fails."""
    data = small_disk / "data"
    project.script(
        [{"tools": [{"name": "bash", "arguments": {"command": f"dd if=/dev/urandom of={small_disk}/fill bs=1k 2>/dev/null; true"}}]},  # noqa: E501 - a program or a schema in one piece
         {"tools": [{"name": "bash", "arguments": {"command": "touch ran-on"}}]}, {"text": "{}"}]
    )  # fmt: skip
    config = project.root / "adws/sssf.config.yaml"
    config.write_text(config.read_text() + f"defaults: {{data_dir: {data}}}\nobservability: {{db: {data}/sssf.db}}\n")

    done = project.run('with phase("build", kind="agent", owner="builder") as ph:\n    ph.call(AgentCall())\n', "run1")

    assert 1 == done.code
    assert (project.root / "ran-on").exists()
    state = [json.loads(line) for line in (data / "sessions/run1/state.jsonl").read_bytes().split(b"\n")[:-1]]
    assert "fail" == [record["row"] for record in state if record["table"] == "sessions"][-1]["status"]


def last_rows(state: list[dict[str, dict[str, str]]], table: str) -> list[dict[str, str]]:
    """Return the rows of a table as the state file has them at its end."""
    rows: dict[str, dict[str, str]] = {}
    for record in state:
        if str(record["table"]) == table:
            rows.setdefault(str(record["row"]["id"]), {}).update(record["row"])
    return list(rows.values())


@pytest.mark.parametrize("whole_group", [False, True], ids=["process", "process group"])
def test_sigkill_then_next_run(project: Project, whole_group: bool) -> None:
    """A killed run is shown as lost, leaves no agent behind, and is closed by the next run."""
    process = start_hung(project)
    (os.killpg if whole_group else os.kill)(process.pid, signal.SIGKILL)
    out, _ = process.communicate(timeout=30)
    project.wait_for(lambda: processes_below(project.root) == {}, seconds=5)
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
    out, _ = process.communicate(timeout=30)

    first = kill_session(project.db, project.data_dir, "run1", print)
    second = kill_session(project.db, project.data_dir, "run1", print)

    assert (True, False) == (first.closed, second.closed)
    assert ("fail", "fail") == (first.status, second.status)
    check_closed(project, "run1", out.decode(), "trace kill")


def test_sigkill_then_joined(project: Project) -> None:
    """Joining a lost session first closes what was lost, then goes on after it."""
    process = start_hung(project)
    process.kill()
    process.communicate(timeout=30)

    done = project.run('with phase("again") as ph:\n    pass\nsys.exit(run.finish())\n', "run1")

    assert 1 == done.code
    phases = [(row["seq"], row["name"], row["status"]) for row in project.rows("phases", "run1")]
    assert [(1, "count", "success"), (2, "build", "fail"), (3, "again", "success")] == phases
    check_rebuilds(project)


def test_killed_at_any_moment(project: Project) -> None:
    """Killed ten times at different moments under full load, no acknowledged event is ever missing."""
    body = ACKS + 'with phase("work") as ph:\n    work(ph, 100000)\n'
    for n in range(10):
        process = project.start(body, f"run{n}")
        project.wait_for((project.files(f"run{n}") / "events.jsonl").exists)
        time.sleep(0.05 + 0.03 * n)
        process.kill()
        out, _ = process.communicate(timeout=30)
        whole = out.decode().rpartition("\n")[0]
        recorded = (project.files(f"run{n}") / "events.jsonl").read_text()
        assert all(event_id in recorded for event_id in acknowledged(whole))

    project.run("sys.exit(run.finish())", "last")

    assert {"fail"} == {project.session(f"run{n}")["status"] for n in range(10)}
    check_rebuilds(project)


def test_database_deleted_between_two_runs(project: Project) -> None:
    """A joined run brings back what a deleted database had of its session."""
    project.run("with phase('one') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n", "run1")
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)

    project.run("with phase('two') as ph:\n    pass\nsys.exit(run.finish())\n", "run1")

    assert ["one", "two"] == [row["name"] for row in project.rows("phases")]
    check_rebuilds(project)


def test_database_deleted_during_a_run(project: Project) -> None:
    """A database that is deleted under a run comes back with everything."""
    body = (
        ACKS
        + 'with phase("work") as ph:\n    work(ph, 5)\n    Path("go").touch()\n    time.sleep(1.5)\n    work(ph, 5)\nsys.exit(run.finish())\n'  # noqa: E501 - a program or a schema in one piece
    )
    process = project.start(body, "run1")
    project.wait_for((project.root / "go").exists)
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)
    out, _ = process.communicate(timeout=30)

    assert acknowledged(out.decode()) <= {event["event_id"] for event in project.events("run1")}
    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


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
        faults = [process.communicate(timeout=60)[1] for process in processes]
        assert [b""] * 6 == faults

    assert [] == [event for n in range(18) for event in project.events(f"run{n // 6}{n % 6}", "error")]
