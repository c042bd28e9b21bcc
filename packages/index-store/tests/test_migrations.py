"""Databases of every earlier schema are upgraded with their rows, each step whole or not at all."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from index_playground import dump
from mortal_process import KILLED, MortalProcess, mortal_processes
from sample_state import StateRoot, write_rich_run

from agent_workflow import index_store
from agent_workflow.index_schema import APPLICATION_ID, MIGRATIONS, SCHEMA_VERSION
from agent_workflow.index_store import database

EARLIER = tuple(step.version for step in MIGRATIONS[:-1])
CHOSEN_VALUES: dict[str, str | int] = {
    "storage_class": "active",
    "index_state": "current",
    "file_kind": "json",
    "evidence_complete": 1,
}
VIEWS = {
    "run_overview",
    "incident_summary",
    "permission_summary",
    "performance_summary",
    "attempt_summary",
    "superseded_runs",
}

Content = dict[str, list[tuple[Any, ...]]]


def make_database(path: Path, version: int) -> None:
    """Make a database of a schema from its migrations, with two rows in every table, cleanly closed."""
    path.touch(mode=0o600)
    connection = apsw.Connection(str(path))
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute("PRAGMA journal_mode = WAL")
    database.migrate(connection, target=version)
    with connection:
        for table in tables_of(connection):
            if table not in ("schema_migrations", "index_metadata"):
                fill(connection, table)
        database.set_metadata(connection, {"last_sync_at": "2026-01-01T00:00:00+00:00", "last_sync_scope": "active"})
    connection.close()


def tables_of(connection: apsw.Connection) -> list[str]:
    """Return the names of the tables."""
    found = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    )
    return [str(name) for (name,) in found]


def fill(connection: apsw.Connection, table: str) -> None:
    """Put two rows into a table, every column of them filled."""
    columns = [(str(row[1]), str(row[2])) for row in connection.execute(f"PRAGMA table_info({table})")]
    for number in (1, 2):
        values = [value_for(table, name, kind, number) for name, kind in columns]
        connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values))})", values)


def value_for(table: str, column: str, kind: str, number: int) -> str | int | float:
    """Return a value that the column takes and that no other column has."""
    if column in CHOSEN_VALUES:
        return CHOSEN_VALUES[column]
    if column in ("session_id", "owner_run_id", "source_session_id"):
        return f"run-{number}"
    if column == "workflow_id":
        return f"flow-{number}"
    return {"INTEGER": number, "REAL": number + 0.5}.get(kind, f"{table} {column} {number}")


def content_of(path: Path) -> Content:
    """Return the schema and every row, without the moments of the migrations and the name of the generation."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
        found: Content = {
            "": [(connection.pragma("user_version"), connection.pragma("application_id"))],
            "sqlite_schema": connection.execute(schema).fetchall(),
            "schema_migrations": connection.execute("SELECT version, description FROM schema_migrations").fetchall(),
        }
        for table in tables_of(connection):
            if table != "schema_migrations":
                rows = connection.execute(f"SELECT * FROM {table}").fetchall()
                found[table] = sorted((row for row in rows if row[0] != "generation"), key=repr)
        return found
    finally:
        connection.close()


def selected(path: Path, table: str, columns: str) -> list[tuple[Any, ...]]:
    """Return some columns of a table."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return sorted(connection.execute(f"SELECT {columns} FROM {table}").fetchall(), key=repr)
    finally:
        connection.close()


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give a state root with an empty index directory."""
    state = StateRoot(tmp_path / "state")
    state.index.mkdir(mode=0o700)
    return state


@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_database_keeps_its_rows(state: StateRoot, version: int) -> None:
    """Every row of every table, in every column that it had."""
    make_database(state.database, version)
    connection = apsw.Connection(str(state.database))
    columns = {
        table: ", ".join(str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})"))
        for table in tables_of(connection)
        if table != "index_metadata"
    }
    connection.close()
    before = {table: selected(state.database, table, names) for table, names in columns.items()}

    index_store.initialize(state.path)
    after = {table: selected(state.database, table, names) for table, names in columns.items()}

    migrations = "schema_migrations"
    assert before.pop(migrations) == after.pop(migrations)[:version]
    assert before == after
    assert all(len(rows) == 2 for rows in before.values())


@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_database_ends_in_the_present_schema(state: StateRoot, tmp_path: Path, version: int) -> None:
    """Statement by statement what a new one has; the columns that were added may stand elsewhere."""
    make_database(state.database, version)
    index_store.initialize(state.path)
    new = StateRoot(tmp_path / "new")
    index_store.initialize(new.path)

    schema, expected = (content_of(path)["sqlite_schema"] for path in (state.database, new.database))

    assert expected == schema


@pytest.mark.parametrize("version", [0, *EARLIER])
def test_versions_and_records_agree(state: StateRoot, version: int) -> None:
    """One record a version, in their order, and the last is that of the file and of the metadata."""
    if version:
        make_database(state.database, version)

    index_store.initialize(state.path)
    recorded = selected(state.database, "schema_migrations", "version, description")
    metadata = dict(selected(state.database, "index_metadata", "key, value"))

    assert [(step.version, step.description) for step in MIGRATIONS] == recorded
    assert [(SCHEMA_VERSION, APPLICATION_ID)] == content_of(state.database)[""]
    assert str(SCHEMA_VERSION) == metadata["schema_version"]
    assert "json-jsonl-sealed-receipts" == metadata["authority"]


@pytest.mark.parametrize("version", EARLIER)
def test_the_views_work_after_an_upgrade(state: StateRoot, version: int) -> None:
    """Each of them, over the rows that were there before."""
    make_database(state.database, version)

    index_store.initialize(state.path)
    counts = {view: len(selected(state.database, view, "*")) for view in VIEWS}

    # Two runs of no attempt are one group where the columns of attempts are new; none of them was imported.
    assert counts == dict.fromkeys(VIEWS, 2) | {"superseded_runs": 0} | ({"attempt_summary": 1} if version == 1 else {})


@pytest.mark.parametrize("version", EARLIER)
def test_an_upgraded_database_is_sound(state: StateRoot, version: int) -> None:
    """SQLite finds nothing wrong with its pages, indexes and references."""
    make_database(state.database, version)

    index_store.initialize(state.path)
    report = index_store.verify(state.path)

    assert report.valid, report


@pytest.mark.parametrize("version", EARLIER)
def test_an_earlier_database_is_left_alone_by_readers(state: StateRoot, version: int) -> None:
    """They say that the next sync upgrades it, and change nothing."""
    make_database(state.database, version)
    before = (state.database.read_bytes(), state.database.stat().st_mtime_ns)

    with pytest.raises(index_store.OutdatedDatabase) as refusal:
        index_store.query(state.path, "runs")
    with pytest.raises(index_store.OutdatedDatabase):
        index_store.verify(state.path)
    status = index_store.status(state.path)

    assert "agent-workflow index sync" == refusal.value.hint
    assert version == status.schema_version
    assert "current" != status.freshness.word
    assert before == (state.database.read_bytes(), state.database.stat().st_mtime_ns)


class Crash(Exception):
    """Raised in place of a statement."""


def crash_at(number: int) -> Any:
    """Return a trace that raises in place of a statement."""
    left = number

    def before_statement(_cursor: object, _sql: str, _bindings: object) -> bool:
        nonlocal left
        left -= 1
        if left == 0:
            raise Crash
        return True

    return before_statement


def whole_contents(folder: Path, version: int) -> list[Content]:
    """Return what a database of a version looks like then and after each further step."""
    found = []
    for target in range(version, SCHEMA_VERSION + 1):
        path = folder / f"whole {version} to {target}"
        if version:
            make_database(path, version)
        connection = apsw.Connection(str(path))
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("PRAGMA journal_mode = WAL")
        database.migrate(connection, target=target)
        connection.close()
        found.append(content_of(path) if target else {})
    return found


@pytest.mark.parametrize("version", EARLIER)
def test_a_failure_at_any_statement_leaves_one_version_whole(tmp_path: Path, version: int) -> None:
    """Of every statement of every step: what a version has is there, and nothing of the next."""
    wholes = whole_contents(tmp_path, version)
    template, path = tmp_path / "template", tmp_path / "crashed"
    make_database(template, version)

    for number in range(1, 1000):
        shutil.copy(template, path)
        connection = apsw.Connection(str(path))
        connection.transaction_mode = "IMMEDIATE"
        connection.exec_trace = crash_at(number)
        try:
            database.migrate(connection)
        except Crash:
            crashed = True
        else:
            crashed = False
        connection.exec_trace = None
        connection.close()

        assert content_of(path) in wholes, number
        if not crashed:
            break

    assert content_of(path) == wholes[-1]
    assert number > sum(step.sql.count(";\n") for step in MIGRATIONS[version:])


@pytest.fixture(scope="module")
def process() -> Iterator[MortalProcess]:
    """Give a process whose children can be killed."""
    with mortal_processes(1) as (one,):
        yield one


@pytest.mark.parametrize("version", EARLIER)
def test_a_death_during_an_upgrade_leaves_one_version_whole(
    state: StateRoot, tmp_path: Path, process: MortalProcess, version: int
) -> None:
    """And the next writer goes on from there."""
    wholes = whole_contents(tmp_path, version)
    template = tmp_path / "template"
    make_database(template, version)

    def begin() -> None:
        for path in state.index.iterdir():
            path.unlink()
        shutil.copy(template, state.database)

    begin()
    points = process.call("initialize", state.path).points
    for point in range(1, points + 1, 9):
        begin()

        outcome = process.call("initialize", state.path, die_at=point)
        left = content_of(state.database)
        index_store.initialize(state.path)

        assert KILLED == outcome.word
        assert left in wholes, point
        assert wholes[-1] == content_of(state.database), point


@pytest.mark.parametrize("version", EARLIER)
def test_the_sync_after_an_upgrade_leaves_a_rebuilds_rows(state: StateRoot, version: int) -> None:
    """Whatever an earlier version had made of the files, or of files that are gone, is made anew."""
    make_database(state.database, version)
    write_rich_run(state, "run-1")
    write_rich_run(state, "run-3")
    state.run("sealed", archived=True).seal()

    index_store.sync(state.path)
    rows = dump(state.path)
    index_store.rebuild(state.path)

    assert dump(state.path) == rows
    assert ["run-1", "run-3", "sealed"] == [row[0] for row in rows["runs"]]


@pytest.mark.parametrize("how", [{"session_id": "run-1"}, {"active_only": True}], ids=str)
def test_a_narrow_sync_after_an_upgrade_loses_no_run(state: StateRoot, how: dict[str, Any]) -> None:
    """An earlier database must be read anew as a whole, even where only a part was asked for."""
    make_database(state.database, EARLIER[-1])
    write_rich_run(state, "run-1")
    state.run("run-2", archived=True)

    index_store.sync(state.path, **how)
    asked = index_store.query(state.path, "runs")

    assert {"run-1", "run-2"} == {row["session_id"] for row in asked.rows}


def test_an_upgrade_twice_is_an_upgrade_once(state: StateRoot) -> None:
    """There is nothing left to do the second time."""
    make_database(state.database, EARLIER[0])
    index_store.initialize(state.path)
    before = content_of(state.database)

    index_store.initialize(state.path)

    assert before == content_of(state.database)
