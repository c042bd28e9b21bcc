"""An index in trouble never stops a cycle: it samples, records and helps, and says what is wrong with the index."""

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from supervisor_lab import Host, UntracedRun, command, wait_for

from agent_workflow.index_store import query, sync

DATABASE = "agent-workflow.sqlite3"
_LOCKER = """
import fcntl, os, sys, time
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
fcntl.flock(descriptor, fcntl.LOCK_EX)
open(sys.argv[2], "w").close()
time.sleep(3600)
"""
_WRITER = """
import apsw, sys, time
connection = apsw.Connection(sys.argv[1])
connection.execute("BEGIN EXCLUSIVE")
open(sys.argv[2], "w").close()
time.sleep(3600)
"""

Trouble = Callable[[Host], None]


def _is_a_file(host: Host) -> None:
    (host.root / "index").rename(host.root / "index-before")
    (host.root / "index").write_text("no directory")
    (host.root / "index").chmod(0o600)


def _is_a_link(host: Host) -> None:
    (host.root / "index").rename(host.root / "index-before")
    (host.root / "index").symlink_to(host.root / "index-before")


def _is_a_directory(host: Host) -> None:
    for file in (host.root / "index").iterdir():
        file.unlink()
    (host.root / "index" / DATABASE).mkdir(mode=0o700)


def _is_of_somebody_else(host: Host) -> None:
    import sqlite3

    database = host.root / "index" / DATABASE
    for file in (host.root / "index").iterdir():
        file.unlink()
    database.touch(0o600)
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE theirs (name TEXT)")
    connection.commit()
    connection.close()


def _lost_its_header(host: Host) -> None:
    with (host.root / "index" / DATABASE).open("r+b") as file:
        file.write(os.urandom(100))


def _lost_its_pages(host: Host) -> None:
    database = host.root / "index" / DATABASE
    for name in (f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (host.root / "index" / name).unlink(missing_ok=True)
    with database.open("r+b") as file:
        size = file.seek(0, os.SEEK_END)
        for page in range(1, size // 4096):
            file.seek(page * 4096)
            file.write(os.urandom(4096))


def _has_its_writer(host: Host) -> None:
    _hold(host, _LOCKER, host.root / "index" / "index.lock")


def _has_a_foreign_writer(host: Host) -> None:
    _hold(host, _WRITER, host.root / "index" / DATABASE)


def _hold(host: Host, code: str, file: Path) -> None:
    held = host.root.parent / "held"
    host.start(sys.executable, "-c", code, str(file), str(held))
    wait_for(held.exists)


TROUBLES: dict[str, Trouble] = {
    "unreadable: a file in the folder's place": _is_a_file,
    "unsafe: a link": _is_a_link,
    "unreadable: a directory in the database's place": _is_a_directory,
    "foreign": _is_of_somebody_else,
    "corrupt header": _lost_its_header,
    "locked by its writer": _has_its_writer,
    "locked by another program": _has_a_foreign_writer,
}


@pytest.fixture
def indexed(host: Host) -> Host:
    """A host whose index knew it before the trouble."""
    host.settings = replace(host.settings, sync_index=True)
    sync(host.root)
    return host


def look_and_help(host: Host) -> tuple[UntracedRun, UntracedRun, list[dict[str, Any]]]:
    """Supervise a run that is silent and one whose processes are gone; return both and the parts about the index."""
    quiet, lost = host.run("quiet"), host.run("lost")
    syncs = [host.look().index_sync]
    for process in (lost.runner, lost.executor):
        process.kill()
        process.wait()
    syncs += [host.look(400).index_sync for _ in range(4)]
    return quiet, lost, syncs


def check_work(quiet: UntracedRun, lost: UntracedRun) -> None:
    """Both runs were sampled; the incidents, and the help that is allowed, are on record."""
    assert 5 == len(quiet.records("run-health-samples.jsonl"))
    assert ["process_alive_no_progress"] == [record["category"] for record in quiet.records("incident-events.jsonl")]
    assert [("process_missing", "open"), ("process_missing", "resolved")] == [
        (record["category"], record["state"]) for record in lost.records("incident-events.jsonl")
    ]
    assert ["intended", "applied"] == [record["outcome"] for record in lost.records("remediation-events.jsonl")]
    assert "lost" == lost.document("status.json")["executor_result"]


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES.keys())
def test_a_cycle_goes_on_without_its_index(indexed: Host, trouble: Trouble) -> None:
    """Samples, incidents and remediations are what they are with a good index; the report names the error."""
    trouble(indexed)

    quiet, lost, syncs = look_and_help(indexed)

    check_work(quiet, lost)
    assert {"error"} == {part["state"] for part in syncs}
    assert all(part["error"]["message"] and part["error"]["code"] for part in syncs)


def test_pages_that_are_damaged(indexed: Host) -> None:
    """Whether a damaged database can be made again or only reported: the runs are supervised, and it is told."""
    before = indexed.look()
    _lost_its_pages(indexed)

    quiet, lost, syncs = look_and_help(indexed)

    check_work(quiet, lost)
    assert "done" == before.index_sync["state"]
    assert {part["state"] for part in syncs} <= {"done", "error"}
    if "done" in {part["state"] for part in syncs}:
        assert {"quiet", "lost"} == {row["session_id"] for row in query(indexed.root, "runs").rows}


def test_a_good_index_is_brought_in_line(indexed: Host) -> None:
    """The control: without a trouble the same cycles are synced, and queries show what they did."""
    quiet, lost, syncs = look_and_help(indexed)

    check_work(quiet, lost)
    assert {"done"} == {part["state"] for part in syncs}
    assert {"quiet", "lost"} == {row["session_id"] for row in query(indexed.root, "runs").rows}


def test_the_index_is_synced_once_the_trouble_is_over(indexed: Host) -> None:
    """What was written meanwhile is not forgotten."""
    _has_its_writer(indexed)
    run = indexed.run("quiet")
    during = indexed.look().index_sync
    indexed.started[0].kill()
    indexed.started[0].wait()

    after = indexed.look(10).index_sync

    assert ("error", "done") == (during["state"], after["state"])
    assert [run.name] == [row["session_id"] for row in query(indexed.root, "runs").rows]


def test_a_full_disk_below_the_index(mount_disk: Callable[[str], Path], host: Host) -> None:
    """The index has a full file system of its own; the runs' own has room: the cycle does its work."""
    small_disk = mount_disk("8m")
    index = host.root / "index"
    index.mkdir(mode=0o700)
    host.settings = replace(host.settings, sync_index=True)
    subprocess.run(["mount", "--bind", str(small_disk), str(index)], check=True)
    try:
        sync(host.root)
        _fill(small_disk)

        quiet, lost, syncs = look_and_help(host)

        check_work(quiet, lost)
        assert {"error"} == {part["state"] for part in syncs}
    finally:
        subprocess.run(["umount", str(index)], check=True)


def test_the_command_tells_the_error_and_ends_well(indexed: Host) -> None:
    """``supervisor once`` with an index that is locked: its report has the error, the run its sample."""
    run = indexed.run("quiet")
    lock = os.open(indexed.root / "index" / "index.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)

        done = command(indexed.root, "supervisor", "once", "--json")
    finally:
        os.close(lock)

    report = json.loads(done.stdout)
    assert "error" == report["index_sync"]["state"]
    assert ["quiet"] == [health["session_id"] for health in report["health"]]
    assert 1 == len(run.records("run-health-samples.jsonl"))


@pytest.mark.parametrize("is_there", [True, False])
def test_without_a_sync_the_index_is_not_touched(indexed: Host, is_there: bool) -> None:
    """``--no-sync-index`` changes no byte and no time of the index, and makes none."""
    index = indexed.root / "index"
    if not is_there:
        for file in index.iterdir():
            file.unlink()
        index.rmdir()
    indexed.run("quiet")
    before = _state(index)

    done = command(indexed.root, "supervisor", "once", "--json", "--no-sync-index")

    assert 0 == done.returncode, done.stderr
    assert {"state": "off"} == json.loads(done.stdout)["index_sync"]
    assert before == _state(index)
    assert is_there == index.exists()


def test_without_a_sync_a_broken_index_is_no_matter(indexed: Host) -> None:
    """Nothing of the index is even looked at."""
    _is_a_link(indexed)
    indexed.run("quiet")

    done = command(indexed.root, "supervisor", "once", "--json", "--no-sync-index")

    assert 0 == done.returncode, done.stderr
    assert [] == json.loads(done.stdout)["errors"]


def _fill(disk: Path) -> None:
    with (disk / "ballast").open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


def _state(folder: Path) -> dict[str, tuple[int, ...]]:
    """Describe a folder and everything in it: identity, mode, size, times, and when it was read."""
    found: dict[str, tuple[int, ...]] = {}
    for path in (folder, *sorted(folder.rglob("*"))) if folder.exists() else ():
        status = path.lstat()
        found[str(path)] = (
            status.st_ino,
            status.st_mode,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
            status.st_atime_ns if path.is_file() else 0,
        )
    return found
