"""Deleting sessions of a trace: rows and files together, whoever is killed, and never one that is at work."""

import fcntl
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from pruned_sessions import OLD, OTHER, database, delete, files_of, make_session, make_trace, rows

from agent_workflow.tracer import Tracer, TraceReader, TraceReadError, rebuild
from agent_workflow.tracer.retention import delete_session, finish_session, survey_sessions


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Give a trace with two sessions that have ended."""
    return make_trace(tmp_path / "data")


def kept(trace: Path) -> dict[str, str]:
    """Return why each session may not go."""
    return {session.adw_id: session.reason for session in survey_sessions(database(trace), trace).kept}


def test_rows_of_every_table_and_all_files_go_together(trace: Path) -> None:
    """Tables of other writers included; the other session keeps all of its own."""
    before = rows(trace, OTHER)
    wanted = files_of(trace / "sessions" / OLD)

    removal = delete(trace)

    announced = json.loads((trace / "announced.json").read_text())
    assert ("deleted", len(wanted)) == (removal.outcome, removal.files)
    assert {0} == set(rows(trace, OLD).values())
    assert [OTHER] == [path.name for path in (trace / "sessions").iterdir()]
    assert before == rows(trace, OTHER)
    assert wanted == {file["path"]: file["sha256"] for file in announced["files"]}
    assert 3 == announced["intent"]["rows"]["events"]
    assert 1 == announced["intent"]["rows"]["ledger"]


def test_a_rebuild_does_not_bring_it_back(trace: Path) -> None:
    """Nothing of it is left that a rebuild would read."""
    delete(trace)

    report = rebuild(database(trace), trace)

    assert [OTHER] == report.sessions
    assert {0} == set(rows(trace, OLD).values())


def test_readers_that_follow_begin_anew(trace: Path) -> None:
    """A session that takes the id again gets rowids that a reader has passed, so the generation is another one."""
    with TraceReader(database(trace)) as reader:
        before = reader.events(OLD)

    delete(trace)

    with TraceReader(database(trace)) as reader:
        assert before.generation
        assert before.generation != reader.generation()


def test_a_database_of_another_writer_has_no_generation_to_renew(trace: Path) -> None:
    """Its rows go all the same, and no table is added."""
    connection = sqlite3.connect(database(trace))
    connection.execute("DROP TABLE trace_meta")
    connection.commit()
    connection.close()

    assert "deleted" == delete(trace).outcome
    with TraceReader(database(trace)) as reader:
        assert set() == reader.columns("trace_meta")


def test_a_session_that_runs_is_never_listed(trace: Path) -> None:
    """By its stored word, by a living process, and by what only its files say."""
    make_session(trace, "going", status="running")
    make_session(trace, "alive")
    connection = sqlite3.connect(database(trace))
    tracer = Tracer(database(trace), trace, "alive")
    command = Path("/proc/self/cmdline")
    words = command.read_bytes().split(b"\0") if command.exists() else []
    tracer.numbered_row(
        "processes",
        kind="agent",
        name="a",
        pid=os.getpid(),
        command=" ".join(word.decode() for word in words if word),
        started_at="2999-01-01T00:00:00.000+00:00",
        ended_at=None,
    )
    tracer.close()
    make_session(trace, "joined")
    connection.close()
    tracer = Tracer(database(trace), trace, "joined")
    tracer.row("sessions", status="running", ended_at=None)
    tracer.close()
    connection = sqlite3.connect(database(trace))
    connection.execute("UPDATE sessions SET status = 'success' WHERE adw_id = 'joined'")
    connection.commit()
    connection.close()

    reasons = kept(trace)

    assert {"going": "running", "joined": "running"} | ({"alive": "running"} if words else {}) == reasons


_HOLD = """
import sys
from agent_workflow.tracer import Tracer
tracer = Tracer(*sys.argv[1:])
print('open', flush=True)
sys.stdin.read()
"""


def test_a_living_writer_keeps_its_session(trace: Path) -> None:
    """It holds the journals for as long as it lives, in another process too."""
    holder = subprocess.Popen(
        [
            sys.executable,
            "-c",
            _HOLD,
            str(database(trace)),
            str(trace),
            OLD,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout is not None
        assert "open\n" == holder.stdout.readline()

        assert {OLD: "busy"} == kept(trace)
        holder.communicate("")


def test_a_session_whose_evidence_is_not_sealed_stays(trace: Path) -> None:
    """Somebody has to finish its published run from its files."""
    (trace / "unsealed").mkdir()
    (trace / "unsealed" / OLD).touch()

    assert {OLD: "unsealed"} == kept(trace)


def _write(trace: Path) -> None:
    (trace / "sessions" / OLD / "late.txt").write_text("late\n")


def _join(trace: Path) -> None:
    tracer = Tracer(database(trace), trace, OLD)
    tracer.row("sessions", status="running", ended_at=None)
    tracer.close()


def _link(trace: Path) -> None:
    (trace / "sessions" / OLD).rename(trace / "aside")
    (trace / "sessions" / OLD).symlink_to(trace / "aside")


@pytest.mark.parametrize("change", [_write, _join, _link])
def test_a_session_that_changed_since_the_plan_is_kept(trace: Path, change: Callable[[Path], None]) -> None:
    """A new file, a joined session and a link in its place."""
    (planned,) = (s for s in survey_sessions(database(trace), trace).ended if s.adw_id == OLD)
    change(trace)
    removal = delete_session(planned, lambda _files, _intent: pytest.fail("announced"), tag="x")

    assert "kept" == removal.outcome
    assert rows(trace, OLD)["events"]
    assert (trace / "sessions" / OLD).exists()


@pytest.mark.parametrize("moment", ["stage", "begin"])
def test_what_changes_at_the_last_moment_brings_it_back(trace: Path, moment: str) -> None:
    """A file before the rename, a row before the transaction: all of it is there afterwards."""

    def change(name: str) -> None:
        if name == moment == "stage":
            (trace / "sessions" / OLD / "late.txt").write_text("late\n")
        elif name == moment:
            connection = sqlite3.connect(database(trace))
            connection.execute("UPDATE sessions SET status = 'running' WHERE adw_id = ?", (OLD,))
            connection.commit()
            connection.close()

    before = rows(trace, OLD)

    removal = delete(trace, step=change)

    assert "kept" == removal.outcome
    assert before == rows(trace, OLD)
    assert (trace / "sessions" / OLD / "events.jsonl").is_file()


def test_a_locked_database_keeps_the_session(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The transaction cannot begin, so the directory goes back."""
    monkeypatch.setattr("agent_workflow.tracer.retention._rows.BUSY_TIMEOUT_MS", 50)
    connection = sqlite3.connect(database(trace), isolation_level=None)

    def lock(name: str) -> None:
        if name == "staged":
            connection.execute("BEGIN IMMEDIATE")

    removal = delete(trace, step=lock)
    connection.close()

    assert "kept" == removal.outcome
    assert (trace / "sessions" / OLD / "events.jsonl").is_file()
    assert rows(trace, OLD)["events"]


def test_rows_without_a_directory_go(trace: Path) -> None:
    """A session of the original tracer may have no files any more."""
    import shutil

    shutil.rmtree(trace / "sessions" / OLD)

    assert "deleted" == delete(trace).outcome
    assert {0} == set(rows(trace, OLD).values())
    announced = json.loads((trace / "announced.json").read_text())
    assert "deleted" == finish_session(announced["intent"], announced["files"]).outcome


def test_a_linked_sessions_folder_is_refused(trace: Path) -> None:
    """Nothing is deleted through it."""
    (trace / "sessions").rename(trace / "elsewhere")
    (trace / "sessions").symlink_to(trace / "elsewhere")

    with pytest.raises(TraceReadError, match="link"):
        survey_sessions(database(trace), trace)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may change every directory")
def test_a_session_with_a_read_only_part_is_kept_whole(trace: Path) -> None:
    """It is found out before anything is announced, and its rows stay too."""
    folder = trace / "sessions" / OLD / "builder"
    folder.chmod(0o500)
    (planned,) = (s for s in survey_sessions(database(trace), trace).ended if s.adw_id == OLD)

    removal = delete_session(planned, lambda _files, _intent: pytest.fail("announced"), tag="x")
    folder.chmod(0o700)

    assert ("kept", "failed: ") == (removal.outcome, removal.reason[:8])
    assert rows(trace, OLD)["events"]


def test_the_lock_of_a_session_keeps_it(trace: Path) -> None:
    """Whoever decides something for the whole session holds it."""
    path = trace / "sessions" / OLD / ".lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert {OLD: "busy"} == kept(trace)
    finally:
        os.close(held)
