"""A database that is locked or deleted under a run, a disk that fills up: the files have it all, the run goes on."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from cut_off import ACKS, acknowledged, check_files, check_rebuilds
from tracer_lab import Project

from agent_workflow.tracer import TraceReader

UNTIL_LOCKED = """
    while not Path("locked").exists():
        time.sleep(0.02)
"""


def test_database_locked_for_a_while(project: Project) -> None:
    """While the database is locked the run goes on; afterwards the database has everything."""
    body = """
with phase("work") as ph:
    work(ph, 30)
    while not Path("released").exists():
        time.sleep(0.02)
    work(ph, 5)
sys.exit(run.finish())
"""
    project.run("sys.exit(run.finish())", "first")
    with locked(project.db):
        process = project.start(ACKS + body, "run1")
        assert process.stderr is not None
        told = process.stderr.readline()
    (project.root / "released").touch()
    out, err = process.communicate(timeout=120)

    assert 0 == process.returncode, err
    assert b"the run goes on" in told
    assert b"has caught up" in err
    assert 35 == len(acknowledged(out.decode()))
    assert acknowledged(out.decode()) <= {event["event_id"] for event in project.events("run1")}
    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


def test_database_locked_beyond_the_end(project: Project) -> None:
    """A run that ends behind a lock has its end in the files; the next run brings the database up to date."""
    process = project.start(
        ACKS + 'with phase("work") as ph:\n    work(ph, 3)\n' + UNTIL_LOCKED + "sys.exit(run.finish())\n", "run1"
    )
    project.wait_for(lambda: len(project.events("run1", "log")) == 3)
    with locked(project.db):
        (project.root / "locked").touch()
        out, _ = process.communicate(timeout=120)
    check_files(project, "run1", out.decode())
    assert "running" == project.session("run1")["status"]

    project.run("sys.exit(run.finish())", "run2")

    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


def test_agent_is_not_held_up_by_a_locked_database(project: Project) -> None:
    """An agent that writes much runs to its end at its own speed while the database is locked."""
    loud = {"name": "bash", "arguments": {"command": "head -c 300000 /dev/zero | tr '\\\\0' x"}}
    project.script([{"tools": [loud, loud, {"name": "bash", "arguments": {"command": "touch done"}}]}, {"text": "{}"}])
    call = "    ph.call(AgentCall())\nsys.exit(run.finish())\n"
    process = project.start('with phase("build", kind="agent", owner="builder") as ph:\n' + UNTIL_LOCKED + call, "run1")
    project.wait_for(lambda: project.rows("phases", "run1"))
    with locked(project.db):
        (project.root / "locked").touch()
        project.wait_for((project.root / "done").exists)
    process.communicate(timeout=120)

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


def test_database_deleted_between_two_runs(project: Project) -> None:
    """A joined run brings back what a deleted database had of its session."""
    project.run("with phase('one') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n", "run1")
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)

    project.run("with phase('two') as ph:\n    pass\nsys.exit(run.finish())\n", "run1")

    assert ["one", "two"] == [row["name"] for row in project.rows("phases")]
    check_rebuilds(project)


@pytest.mark.parametrize(
    "gone", [("", "-wal", "-shm"), ("-wal", "-shm"), ("-wal",), ("-shm",)], ids=["database", "log", "wal", "shm"]
)
def test_database_deleted_during_a_run(project: Project, gone: tuple[str, ...]) -> None:
    """A database that is deleted under a run, or only a part of it, comes back with everything while it runs."""
    body = """
with phase("work") as ph:
    work(ph, 5)
    Path("go").touch()
    while not Path("gone").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    work(ph, 5)
    while not Path("seen").exists():
        time.sleep(0.02)
sys.exit(run.finish())
"""
    process = project.start(ACKS + body, "run1")
    project.wait_for((project.root / "go").exists)
    for suffix in gone:
        project.db.with_name(f"sssf.db{suffix}").unlink()
    (project.root / "gone").touch()
    project.wait_for(lambda: len(project.events("run1", "log")) == 10)
    (project.root / "seen").touch()
    out, err = process.communicate(timeout=120)

    assert (0, b"") == (process.returncode, err)
    assert acknowledged(out.decode()) <= {event["event_id"] for event in project.events("run1")}
    assert "success" == project.session("run1")["status"]
    check_rebuilds(project)


def test_database_replaced_during_a_run(project: Project) -> None:
    """Another file put in its place, as a checkout does, is brought up to date, and keeps what only it has."""
    project.run("sys.exit(run.finish())", "old")
    other = project.root / "other.db"
    with closing(sqlite3.connect(project.db)) as source, closing(sqlite3.connect(other)) as target:
        source.backup(target)
        target.execute("INSERT INTO sessions (adw_id, status) VALUES ('elsewhere', 'success')")
        target.commit()
    body = """
with phase("work") as ph:
    work(ph, 5)
    Path("go").touch()
    while not Path("replaced").exists():
        time.sleep(0.02)
    time.sleep(0.3)
    work(ph, 5)
sys.exit(run.finish())
"""
    process = project.start(ACKS + body, "run1")
    project.wait_for((project.root / "go").exists)
    for suffix in ("-wal", "-shm"):
        project.db.with_name(f"sssf.db{suffix}").unlink()
    other.rename(project.db)
    (project.root / "replaced").touch()
    out, err = process.communicate(timeout=120)

    assert (0, b"") == (process.returncode, err)
    assert {"old", "elsewhere", "run1"} == {row["adw_id"] for row in project.rows("sessions")}
    assert acknowledged(out.decode()) <= {event["event_id"] for event in project.events("run1")}


@pytest.fixture
def small_disk(mount_disk: Callable[[str], Path]) -> Path:
    """Mount a file system of one and a half megabytes."""
    return mount_disk("1536k")


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
