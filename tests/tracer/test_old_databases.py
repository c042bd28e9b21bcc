"""Databases of older and of other writers are read by every command, and never changed by reading."""

import hashlib
import json
import os
import sqlite3
import tarfile
from pathlib import Path

import pytest
from old_traces import FOREIGN, LATER, READING, make
from tracer_lab import TABLES, Project

from agent_workflow.trace_schema import LATE_COLUMNS
from agent_workflow.trace_schema import TABLES as CONTRACT
from agent_workflow.tracer import TraceReader, locate_database


@pytest.mark.parametrize("count", range(len(LATER) + 1))
def test_before_each_later_column(project: Project, count: int) -> None:
    """Every command reads the tables as they were before each column that came later; the file stays as it is."""
    make(project.db, LATER[:count])
    digest = hashlib.sha256(project.db.read_bytes()).hexdigest()

    shown = [project.cli(*command) for command in READING]

    assert "old1" in shown[0].out
    assert "plan" in shown[1].out
    assert "hello" in shown[2].out
    assert "hello" in shown[3].out
    assert "nothing runs\nsession old1: success\n" == shown[-1].out
    assert digest == hashlib.sha256(project.db.read_bytes()).hexdigest()


@pytest.mark.parametrize("count", range(len(LATER) + 1))
def test_a_run_left_behind_by_an_older_writer_is_closed(project: Project, count: int) -> None:
    """``trace kill`` closes a session stored as running and long silent, whatever columns its database lacks."""
    running = [f"UPDATE {table} SET status = 'running'" for table in ("sessions", "phases")]
    make(project.db, [*LATER[:count], *running])

    done = project.cli("trace", "kill", "old1")

    assert "session old1: fail" in done.out
    assert ["fail"] == [row["status"] for row in project.rows("phases", "old1")]
    assert "fail" == project.session("old1")["status"]
    assert ["hello", "killed", "plan"] == [row["name"] for row in project.rows("events", "old1")]


def test_columns_of_other_writers(project: Project) -> None:
    """Foreign columns, tables, statuses and types are passed over or shown as they are."""
    make(project.db, LATER + FOREIGN)

    shown = [project.cli(*command) for command in READING]

    assert "waiting" in shown[0].out
    assert "gate_could_not_observe" in shown[2].out
    with TraceReader(project.db) as reader:
        assert [None] == [row["passed"] for row in reader.gate_results("old1")]


def test_archiving_without_the_column(project: Project) -> None:
    """Archiving a database older than the flag is refused with the next step, and changes nothing."""
    make(project.db, [])
    before = project.db.read_bytes()

    done = project.cli("trace", "archive", "old1", code=3)

    assert "older than archiving" in done.err
    assert "trace rebuild" in done.err
    assert before == project.db.read_bytes()


def test_archiving(project: Project) -> None:
    """An archived session leaves the list, comes back, and stays archived through a rebuild."""
    project.run("sys.exit(run.finish())", "run1")

    project.cli("trace", "archive", "run1")
    listed, everything = project.cli("trace", "sessions").out, project.cli("trace", "sessions", "--all").out
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (project.data_dir / name).unlink(missing_ok=True)
    rebuilt = project.cli("trace", "rebuild").out
    archived = project.session("run1")["archived"]
    project.cli("trace", "archive", "run1", "--undo")

    assert "run1" not in listed
    assert "run1" in everything
    assert "nothing lost" in rebuilt
    assert (1, 0) == (archived, project.session("run1")["archived"])


def test_rebuild_upgrades_and_keeps_what_only_the_database_has(project: Project) -> None:
    """An old database is given the later columns; its rows without files, and foreign tables, stay."""
    make(project.db, FOREIGN[:4])

    done = project.cli("trace", "rebuild")

    assert "only in the database, left as it is: old1" in done.out
    for table, columns in LATE_COLUMNS.items():
        with TraceReader(project.db) as reader:
            assert set(columns) <= reader.columns(table)
            assert reader.columns("tickets")
            assert "Do it" == reader.session("old1")["request"]


def test_database_that_is_still_empty(project: Project) -> None:
    """A file whose first writer has not made the tables yet is told to be empty; a rebuild fills it."""
    project.db.parent.mkdir(parents=True)
    project.db.touch()

    assert "still empty" in project.cli("trace", "sessions", code=1).err
    assert "nothing lost" in project.cli("trace", "rebuild").out
    assert 1 == project.cli("trace", "sessions").out.count("\n")


@pytest.mark.parametrize("make_file", ["text", "foreign database"])
def test_file_that_is_no_trace(project: Project, make_file: str) -> None:
    """A file that is no database, or holds no trace, is refused and left alone."""
    project.db.parent.mkdir(parents=True)
    if make_file == "text":
        project.db.write_bytes(b"no database at all, but long enough to be looked at" * 100)
    else:
        connection = sqlite3.connect(project.db)
        connection.execute("CREATE TABLE recipes (name TEXT)")
        connection.close()
    content = project.db.read_bytes()

    done = project.cli("trace", "sessions", code=3)

    assert "trace database" in done.err
    assert content == project.db.read_bytes()
    assert "database" in project.cli("trace", "rebuild", code=3).err
    assert content == project.db.read_bytes()


def test_damaged_database_is_moved_aside_and_filled_again(project: Project) -> None:
    """A rebuild over a damaged database keeps the damaged one beside and loses nothing."""
    project.run("with phase('work') as ph:\n    ph.log(n=1)\nsys.exit(run.finish())\n", "run1")
    before = project.everything()
    data = bytearray(project.db.read_bytes())
    data[2048:] = b"\xff" * (len(data) - 2048)
    project.db.write_bytes(data)

    done = project.cli("trace", "rebuild")

    assert "damaged database moved to" in done.out
    assert before == project.everything()


@pytest.fixture
def genuine(project: Project) -> Project:
    """Unpack the genuine project."""
    corpus = os.environ.get("AGENT_WORKFLOW_CORPUS")
    if not corpus:
        pytest.skip("AGENT_WORKFLOW_CORPUS is not set")
    with tarfile.open(Path(corpus) / "sssf-project.tar.xz") as archive:
        # By attribute, because Python 3.11.2 has no filter argument yet.
        archive.extraction_filter = getattr(tarfile, "data_filter", None)
        archive.extractall(project.root)
    assert project.db.is_file()
    return project


@pytest.mark.corpus
def test_genuine_database(genuine: Project) -> None:
    """The genuine database shows six sessions, the one that was killed as lost."""
    rows = json.loads(genuine.cli("trace", "sessions", "--json").out)["sessions"]

    shown = {row["adw_id"]: row["shown_status"] for row in rows}
    assert {f"feed000{n}": "fail" for n in range(1, 6)} | {"feed0006": "lost"} == shown
    assert 155 == sum(
        len(json.loads(genuine.cli("trace", "events", adw_id, "--json").out)["events"]) for adw_id in shown
    )


@pytest.mark.corpus
def test_genuine_rebuild(genuine: Project) -> None:
    """From the genuine files come all events, and every other row that they hold; the rest is listed."""
    before = {table: genuine.rows(table) for table in TABLES}
    for name in ("sssf.db", "sssf.db-wal", "sssf.db-shm"):
        (genuine.data_dir / name).unlink(missing_ok=True)

    done = genuine.cli("trace", "rebuild")
    after = {table: genuine.rows(table) for table in TABLES}

    assert sorted(map(comparable, before["events"]), key=repr) == sorted(map(comparable, after["events"]), key=repr)
    compare(before, after, "sessions", "adw_id", ["adw_id", "request", "status", "engineer", "total_tokens"])
    compare(
        before,
        after,
        "phases",
        "phase_id",
        ["seq", "name", "kind", "owner", "description", "status", "attempt", "error"],
    )
    compare(
        before, after, "agent_sessions", "agent", ["model", "color", "session_id", "context_tokens", "context_window"]
    )
    gates = ["adw_id", "phase_id", "attempt", "gate", "passed", "violations_json", "checks_json"]
    assert [[row[c] for c in gates] for row in before["gate_results"]] == [
        [row[c] for c in gates] for row in after["gate_results"]
    ]
    kept = ["phase_id", "agent", "output_type", "payload_json", "valid", "attempt"]
    assert [[row[c] for c in kept] for row in before["envelopes"] if row["valid"]] == [
        [row[c] for c in kept] for row in after["envelopes"]
    ]
    assert [row["total_cost"] for row in before["sessions"]] == pytest.approx(
        [row["total_cost"] for row in after["sessions"]]
    )
    for adw_id in (row["adw_id"] for row in before["sessions"]):
        assert f"the files do not hold: {adw_id}: processes" in done.out
        assert f"the files do not hold: {adw_id}: sessions.adw_name" in done.out
    assert "nothing lost" not in done.out


def comparable(row: dict[str, object]) -> tuple[object, ...]:
    """Return an event without the time that the original tracer took twice, for its file and for its database."""
    payload = json.dumps(json.loads(str(row["payload_json"])), sort_keys=True)
    names = ("event_id", "adw_id", "phase_id", "parent_id", "type", "name", "tokens", "ended_at")
    return (*(row[name] for name in names), payload)


def compare(
    before: dict[str, list[dict[str, object]]],
    after: dict[str, list[dict[str, object]]],
    table: str,
    key: str,
    columns: list[str],
) -> None:
    """Compare the columns that files hold."""
    old = {str(row[key]) + str(row["adw_id"]): [row[c] for c in columns] for row in before[table]}
    new = {str(row[key]) + str(row["adw_id"]): [row[c] for c in columns] for row in after[table]}
    assert old == new


@pytest.mark.corpus
def test_genuine_rebuild_in_place(genuine: Project) -> None:
    """Rebuilding over the genuine database changes none of its rows: what only it has stays."""
    before = {table: genuine.rows(table) for table in TABLES}

    genuine.cli("trace", "rebuild")

    for table in TABLES:
        columns = [name for name in CONTRACT[table].columns if name in (before[table][0] if before[table] else {})]
        assert [[row[c] for c in columns] for row in before[table]] == [
            [row[c] for c in columns] for row in genuine.rows(table)
        ]


@pytest.mark.corpus
def test_genuine_session_is_joined(genuine: Project) -> None:
    """A run in the genuine project closes the killed session and joins an old one; a rebuild loses nothing of it."""
    done = genuine.run("with phase('more') as ph:\n    pass\nsys.exit(run.finish())\n", "feed0004")

    assert 0 == done.code, done.err
    assert ["request", "test", "more"] == [row["name"] for row in genuine.rows("phases", "feed0004")]
    assert "fail" == genuine.session("feed0006")["status"]
    before = genuine.everything()
    genuine.cli("trace", "rebuild")
    after = genuine.everything()
    for table in TABLES:
        assert before[table] == after[table]


def test_locating(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database is found by argument, environment, configuration, then the usual places upward."""
    inside = project.root / "src/deep"
    inside.mkdir(parents=True)
    (project.root / "adws/sssf.config.yaml").unlink()
    other = project.root / ".sssf/data/sssf.db"
    make(other, [])

    assert other == locate_database(start=inside, environment={})
    make(project.root / "adws/data/sssf.db", [])
    assert project.root / "adws/data/sssf.db" == locate_database(start=inside, environment={})
    project.configure("observability: {db: elsewhere.db}\n")
    make(project.root / "elsewhere.db", [])
    assert project.root / "elsewhere.db" == locate_database(start=inside, environment={})
    assert Path("x.db") == locate_database(start=inside, environment={"SSSF_DB": "x.db"})
    assert Path("y.db") == locate_database(Path("y.db"), start=inside, environment={"SSSF_DB": "x.db"})
