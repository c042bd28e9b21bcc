"""Databases of older and of other writers are read by every command, and never changed by reading."""

import hashlib
import json
import os
import sqlite3
import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tracer_lab import TABLES, Project

from agent_workflow.trace_schema import LATE_COLUMNS
from agent_workflow.trace_schema import TABLES as CONTRACT
from agent_workflow.tracer import TraceReader, locate_database

BASE = {
    "sessions": "adw_id TEXT PRIMARY KEY, request TEXT, status TEXT, engineer TEXT, started_at TEXT, ended_at TEXT, total_tokens INTEGER, total_cost REAL",  # noqa: E501 - a program or a schema in one piece
    "phases": "phase_id TEXT PRIMARY KEY, adw_id TEXT, seq INTEGER, name TEXT, kind TEXT, owner TEXT, description TEXT, status TEXT DEFAULT 'fail', attempt INTEGER DEFAULT 0, retries INTEGER DEFAULT 0, error TEXT, started_at TEXT, ended_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "events": "event_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, parent_id TEXT, type TEXT, name TEXT, payload_json TEXT, tokens INTEGER, started_at TEXT, ended_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "envelopes": "envelope_id TEXT PRIMARY KEY, adw_id TEXT, phase_id TEXT, agent TEXT, output_type TEXT, payload_json TEXT, valid INTEGER, attempt INTEGER, created_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "gate_results": "id INTEGER PRIMARY KEY, adw_id TEXT, phase_id TEXT, attempt INTEGER, gate TEXT, passed INTEGER, violations_json TEXT, created_at TEXT",  # noqa: E501 - a program or a schema in one piece
    "agent_sessions": "adw_id TEXT, agent TEXT, coding_agent TEXT, model TEXT, session_id TEXT, created_at TEXT, last_used_at TEXT, PRIMARY KEY (adw_id, agent)",  # noqa: E501 - a program or a schema in one piece
}
LATER = [
    "ALTER TABLE agent_sessions ADD COLUMN color TEXT",
    "ALTER TABLE gate_results ADD COLUMN checks_json TEXT",
    "CREATE TABLE processes (id INTEGER PRIMARY KEY, adw_id TEXT, kind TEXT, name TEXT, pid INTEGER, command TEXT, started_at TEXT, ended_at TEXT)",  # noqa: E501 - a program or a schema in one piece
    "ALTER TABLE sessions ADD COLUMN adw_name TEXT",
    "ALTER TABLE agent_sessions ADD COLUMN context_tokens INTEGER",
    "ALTER TABLE agent_sessions ADD COLUMN context_window INTEGER",
    "ALTER TABLE sessions ADD COLUMN archived INTEGER DEFAULT 0",
]
FOREIGN = [
    "ALTER TABLE sessions ADD COLUMN branch TEXT",
    "ALTER TABLE sessions ADD COLUMN cost_basis TEXT",
    "ALTER TABLE events ADD COLUMN node_id TEXT",
    "CREATE TABLE tickets (id TEXT PRIMARY KEY, title TEXT)",
    "UPDATE sessions SET status = 'waiting'",
    "UPDATE events SET type = 'gate_could_not_observe' WHERE rowid = 1",
    "INSERT INTO gate_results (adw_id, phase_id, gate) VALUES ('old1', 'old1_01_plan', 'blind')",
]
READING = [
    ["trace", "sessions", "--all"],
    ["trace", "phases", "old1"],
    ["trace", "events", "old1"],
    ["trace", "tail", "old1"],
    ["trace", "tail", "old1", "-f"],
    ["trace", "procs"],
    ["trace", "procs", "old1"],
    ["trace", "kill", "old1"],  # it has ended: nothing is signalled, and nothing is written
]


def make(path: Path, statements: list[str]) -> None:
    """Write a database as some writer of some time left it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for name, columns in BASE.items():
        connection.execute(f"CREATE TABLE {name} ({columns})")
    moment = "2026-01-02T03:04:05.678+00:00"
    connection.execute(
        "INSERT INTO sessions (adw_id, request, status, started_at) VALUES ('old1', 'Do it', 'success', ?)", [moment]
    )
    connection.execute(
        "INSERT INTO phases (phase_id, adw_id, seq, name, status) VALUES ('old1_01_plan', 'old1', 1, 'plan', 'success')"
    )
    connection.execute(
        "INSERT INTO events (event_id, adw_id, type, name, payload_json, started_at) VALUES ('evt_1', 'old1', 'log', 'hello', '{}', ?)",  # noqa: E501 - a program or a schema in one piece
        [moment],
    )
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


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


@pytest.mark.parametrize("stored", ["fail", "success"])
def test_a_session_that_goes_on_after_its_end(project: Project, stored: str) -> None:
    """Events since a session was stored as ended show it at work, as on the page; the row is left as it is."""
    make(project.db, [*LATER, f"UPDATE sessions SET status = '{stored}', ended_at = '2026-01-02T03:05:00.000+00:00'"])
    before = json.loads(project.cli("trace", "sessions", "--json").out)["sessions"][0]
    add_event(project.db, "evt_2", datetime.now(UTC).isoformat(timespec="milliseconds"))

    after = json.loads(project.cli("trace", "sessions", "--json").out)["sessions"][0]
    killed = project.cli("trace", "kill", "old1")

    assert (stored, stored) == (before["status"], before["shown_status"])
    assert (stored, "running") == (after["status"], after["shown_status"])
    assert f"nothing runs\nsession old1: {stored}\n" == killed.out


def test_text_that_is_no_utf8(project: Project) -> None:
    """Bytes that another writer stored as text hide neither their row nor the others, from any command."""
    make(
        project.db,
        [*LATER, "UPDATE events SET name = CAST(x'68656c6c6fff' AS TEXT)", "UPDATE phases SET error = x'00ff'"],
    )

    shown = [project.cli(*command) for command in READING]

    assert "hello\ufffd" in shown[2].out
    assert "<2 bytes>" in shown[1].out


def add_event(db: Path, event_id: str, at: str) -> None:
    """Add an event to a session, as a writer that says nothing in the session's row."""
    connection = sqlite3.connect(db)
    connection.execute(
        "INSERT INTO events (event_id, adw_id, type, name, payload_json, started_at) VALUES (?, 'old1', 'log', 'on', '{}', ?)",  # noqa: E501 - a program or a schema in one piece
        [event_id, at],
    )
    connection.commit()
    connection.close()


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


def test_a_running_session_is_not_archived(project: Project) -> None:
    """Whoever put it away would lose sight of what still works; a lost one may be put away."""
    make(project.db, [*LATER, "UPDATE sessions SET status = 'running'"])
    add_event(project.db, "evt_2", datetime.now(UTC).isoformat(timespec="milliseconds"))

    done = project.cli("trace", "archive", "old1", code=1)
    kept = project.session("old1")["archived"]
    project.cli("trace", "archive", "old1", "--undo")
    make(project.root / "lost.db", [*LATER, "UPDATE sessions SET status = 'running'"])
    project.cli("trace", "archive", "old1", "--db", "lost.db")

    assert "session old1 is running; it can be archived when it has ended" in done.err
    assert 0 == kept


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
        archive.extractall(project.root, filter="data")
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
