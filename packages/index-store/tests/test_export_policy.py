"""What may leave: classes, single fields, and never what is in no list."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import files_of, manifest_of, rows_of
from sample_records import health, incident, launch_contract, permission, process_result, provenance, session_status
from sample_state import StateRoot

from agent_workflow.index_store import rebuild
from agent_workflow.index_store.export import (
    DEFAULT_POLICY,
    TABLES,
    FieldClass,
    InvalidPolicy,
    UnlistedField,
    export,
    load_policy,
)
from agent_workflow.index_store.export.fields import INDEX_COLUMNS
from agent_workflow.index_store.export.snapshot import open_snapshot

PLANTED = {
    "/srv/planted-workdir": ("runs", "workdir"),
    "planted-branch": ("runs", "branch"),
    "planted summary": ("incidents", "summary"),
    "planted target": ("permissions", "target"),
    "planted access": ("permissions", "requested_access"),
    "/opt/planted-program": ("processes", "resolved_executable"),
    "planted-journal.jsonl": ("events", "relative_path"),
}
"""Texts and paths, each with the field that has it in the index."""


@pytest.fixture
def planted(state: StateRoot) -> StateRoot:
    """Give an indexed state root full of what may not leave."""
    run = state.run("run")
    contract = launch_contract("run", executor="codex", model="large", pack="night")
    contract["worktree"] |= {"path": "/srv/planted-workdir", "branch": "planted-branch"}
    run.document("launch-contract.json", contract)
    run.document("run-provenance.json", provenance("run"))
    run.document("process-result.json", process_result() | {"resolved_executable": "/opt/planted-program"})
    run.document("status.json", session_status("run", status="failed", workdir="/srv/planted-workdir"))
    run.journal("incidents.jsonl", [incident(1, summary="planted summary")])
    run.journal("permissions.jsonl", [permission(1, target="planted target") | {"requested_access": "planted access"}])
    run.journal("planted-journal.jsonl", [health()])
    state.run("planted-broken").journal("planted-journal.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    rebuild(state.path)
    return state


def found_in(dataset: Path, text: str) -> bool:
    """Tell whether a text is in a file of a dataset, in its bytes or in a cell, or in a path."""
    cells = {str(cell) for table in TABLES for row in rows_of(dataset, table) for cell in row.values()}
    return any(text in path or text.encode() in content for path, content in files_of(dataset).items()) or any(
        text in cell for cell in cells
    )


def policy_file(folder: Path, text: str) -> Path:
    """Write a policy file."""
    path = folder / "policy.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", PLANTED)
def test_paths_and_texts_stay(text: str, planted: StateRoot, tmp_path: Path) -> None:
    """No file has a planted text, compressed or not; with its class let out it is there, so the search can find it."""
    table, field = PLANTED[text]
    everything = policy_file(
        tmp_path, f"version = 1\nclasses = {[c.value for c in FieldClass if c is not FieldClass.INDEX]}"
    )

    export(planted.path, str(tmp_path / "default"))
    export(planted.path, str(tmp_path / "everything"), policy=load_policy(everything))

    assert not found_in(tmp_path / "default", text)
    assert found_in(tmp_path / "everything", text)
    assert text in [row[field] for row in rows_of(tmp_path / "everything", table)]


@pytest.mark.parametrize("field_class", [c for c in FieldClass if c is not FieldClass.INDEX])
def test_a_class_leaves_alone(field_class: FieldClass, host: Path, tmp_path: Path) -> None:
    """With one class let out every column is of that class, or the digest that every row has."""
    policy = load_policy(policy_file(tmp_path, f'version = 1\nclasses = ["{field_class.value}"]'))

    export(host, str(tmp_path / "dataset"), policy=policy, host="h")

    for table, told in manifest_of(tmp_path / "dataset", "h")["tables"].items():
        classes = {f.field_class for f in TABLES[table] if f.name in told["columns"] and not f.is_source_digest}
        assert classes <= {field_class}
        assert {f.name for f in TABLES[table]} == set(told["columns"]) | set(told["left_out"])


def test_a_time_that_stays_still_decides_the_day(host: Path, tmp_path: Path) -> None:
    """The partitions are those of an export with times: the day leaves, the time does not."""
    policy = load_policy(policy_file(tmp_path, 'version = 1\nclasses = ["identity"]'))
    export(host, str(tmp_path / "timed"), host="h")
    export(host, str(tmp_path / "timeless"), policy=policy, host="h")

    days = [
        [(part["table"], part["date"], part["rows"]) for part in manifest_of(tmp_path / name, "h")["parts"]]
        for name in ("timed", "timeless")
    ]
    assert days[0] == days[1]
    assert {"2026-02-01", "2026-03-01"} <= {day for _, day, _ in days[0]}
    assert "recorded_at" not in rows_of(tmp_path / "timeless", "incidents")[0]


def test_a_field_in_no_list_cannot_leave(planted: StateRoot, tmp_path: Path) -> None:
    """A column that came with a newer index stops the export, which names it and writes nothing."""
    with closing(sqlite3.connect(planted.database)) as connection, connection:
        connection.execute("ALTER TABLE runs ADD COLUMN salary TEXT")

    with pytest.raises(UnlistedField, match=r"runs\.salary.*nothing was exported"):
        export(planted.path, str(tmp_path / "dataset"))

    assert not (tmp_path / "dataset").exists()


def test_an_unlisted_field_can_be_left_out_by_name(planted: StateRoot, tmp_path: Path) -> None:
    """Whoever says so exports without it."""
    with closing(sqlite3.connect(planted.database)) as connection, connection:
        connection.execute("ALTER TABLE runs ADD COLUMN salary TEXT DEFAULT 'planted salary'")
    policy = load_policy(policy_file(tmp_path, 'version = 1\nclasses = ["identity"]\nwithout = ["runs.salary"]'))

    export(planted.path, str(tmp_path / "dataset"), policy=policy)

    assert rows_of(tmp_path / "dataset", "runs")
    assert not found_in(tmp_path / "dataset", "planted salary")


def test_every_column_of_the_index_is_listed(planted: StateRoot) -> None:
    """A migration that adds a column adds it to the list, with a class, or the export refuses every index."""
    with open_snapshot(planted.path) as snapshot:
        columns = snapshot.columns()

    assert {table: set(names) for table, names in INDEX_COLUMNS.items()} == {t: set(n) for t, n in columns.items()}


def test_single_fields_leave_and_stay(planted: StateRoot, tmp_path: Path) -> None:
    """``also`` lets a field out of a class that stays, ``without`` keeps one of a class that leaves."""
    text = 'version = 1\nclasses = ["identity"]\nalso = ["permissions.target"]\nwithout = ["runs.agent_name"]'

    export(planted.path, str(tmp_path / "dataset"), policy=load_policy(policy_file(tmp_path, text)), host="h")

    tables = manifest_of(tmp_path / "dataset", "h")["tables"]
    assert "target" in tables["permissions"]["columns"]
    assert "requested_access" in tables["permissions"]["left_out"]
    assert "agent_name" in tables["runs"]["left_out"]


def test_a_stricter_policy_takes_back_what_had_left(planted: StateRoot, tmp_path: Path) -> None:
    """The files with more in them are removed."""
    dataset = tmp_path / "dataset"
    loose = policy_file(tmp_path, 'version = 1\nclasses = ["identity", "text"]')
    export(planted.path, str(dataset), policy=load_policy(loose))
    assert found_in(dataset, "planted summary")

    export(planted.path, str(dataset))

    assert not found_in(dataset, "planted summary")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "version = 1"),
        ("version = true\nclasses = []", "version = 1"),
        ("version = 2\nclasses = []", "version = 1"),
        ("version = 1", "name the classes"),
        ("version = 1\nclasses = 3", "a list of names"),
        ("version = 1\nclasses = [3]", "a list of names"),
        ('version = 1\nclasses = ["paths"]', "no class 'paths'"),
        ('version = 1\nclasses = ["index"]', "no class 'index'"),
        ('version = 1\nclasses = []\nallow = ["x"]', "no key 'allow'"),
        ('version = 1\nclasses = []\nalso = ["target"]', "no field"),
        ('version = 1\nclasses = []\nalso = ["permissions.secret"]', "no field"),
        ('version = 1\nclasses = []\nalso = ["runs.indexed_at"]', "never leaves"),
        ('version = 1\nclasses = []\nwithout = ["nothing.at_all"]', "no field"),
        ('version = 1\nclasses = []\nwithout = ["events.record_sha256"]', "digest of its source"),
        ('version = 1\nclasses = []\nalso = ["runs.workdir"]\nwithout = ["runs.workdir"]', "both name 'runs.workdir'"),
        ("version = 1\nversion = 1", "no TOML"),
        ("#" + " " * 1024 * 1024, "larger than"),
        ("\x00", "no TOML"),
    ],
)
def test_a_policy_that_is_none_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    """With the file and what is wrong in it."""
    path = policy_file(tmp_path, text)

    with pytest.raises(InvalidPolicy, match=reason) as refused:
        load_policy(path)

    assert str(path) == refused.value.path


def test_a_file_without_an_end_is_refused() -> None:
    """It is not read to the end of the memory first."""
    with pytest.raises(InvalidPolicy, match="larger than"):
        load_policy(Path("/dev/zero"))


def test_the_digest_tells_policies_apart(tmp_path: Path) -> None:
    """Not the order or layout of the file, but what leaves."""
    one = load_policy(policy_file(tmp_path, 'version = 1\nclasses = ["time", "identity"]'))
    same = load_policy(policy_file(tmp_path, '# a comment\nclasses = ["identity", "time"]\nversion = 1'))

    assert one.digest == same.digest
    assert one.digest != DEFAULT_POLICY.digest
