"""What an export writes: rows, days, digests, and nothing twice."""

import re
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import assert_whole, files_of, manifest_of, parts_of, rows_of
from sample_records import incident, metrics, stage
from sample_state import StateRoot, write_rich_run

from agent_workflow.index_store import UnsafePath, WriterBusy, rebuild, sync
from agent_workflow.index_store.export import TABLES, ForeignHost, InvalidDestination, export
from agent_workflow.index_store.export.lock import LOCK_NAME

DIGEST_COLUMNS = {"source_digest", "record_sha256", "source_sha256", "repair_receipt_sha256"}


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Give the place of a dataset that is not there yet."""
    return tmp_path / "dataset"


def test_two_exports_of_the_same_evidence_are_the_same_bytes(host: Path, tmp_path: Path) -> None:
    """Files, their names and the manifest."""
    for name in ("first", "second"):
        export(host, str(tmp_path / name), host="h")

    assert files_of(tmp_path / "first") == files_of(tmp_path / "second")


def test_a_rebuild_of_the_index_changes_no_row_of_evidence(state: StateRoot, tmp_path: Path) -> None:
    """Only what the index found, and when, is made anew."""
    write_rich_run(state, "one")
    for name in ("first", "second"):
        rebuild(state.path)
        export(state.path, str(tmp_path / name), host="h")

    first, second = (
        {path: content for path, content in parts_of(tmp_path / name).items() if "table=notices" not in path}
        for name in ("first", "second")
    )
    assert first == second
    assert len(first) > 8


def test_an_unchanged_index_is_not_written_again(host: Path, dataset: Path) -> None:
    """The second export puts nothing, and no file has changed."""
    first = export(host, str(dataset), host="h")
    before = {path: (dataset / path).stat().st_ino for path in files_of(dataset)}

    second = export(host, str(dataset), host="h")

    assert (0, first.written, 0) == (second.written, second.unchanged, second.removed)
    assert before == {path: (dataset / path).stat().st_ino for path in files_of(dataset)}


def test_a_change_rewrites_only_its_days(state: StateRoot, dataset: Path) -> None:
    """One more incident of one day is that day of its tables, and the row of its run."""
    for number in (1, 2, 3):
        state.run(f"run-{number}", created_at=f"2026-03-0{number}T12:00:00Z").journal(
            "incidents.jsonl", [incident(number, recorded_at=f"2026-03-0{number}T12:00:00Z")]
        )
    rebuild(state.path)
    export(state.path, str(dataset), host="h")
    before = set(parts_of(dataset))
    run = state.path / "runs" / "run-2" / "incidents.jsonl"
    run.write_bytes(run.read_bytes() * 2)
    sync(state.path)

    report = export(state.path, str(dataset), host="h")

    changed = {path.rpartition("/")[0] for path in before ^ set(parts_of(dataset))}
    day = "schema=v1/host=h/date=2026-03-02"
    assert {f"table={table}/{day}" for table in ("runs", "incidents", "events")} == changed
    assert (3, 3) == (report.written, report.removed)


def test_the_manifest_names_what_is_there_and_nothing_else(host: Path, dataset: Path) -> None:
    """Each file by its digest; the tables with their rows; the index with its freshness."""
    report = export(host, str(dataset), host="h")

    manifest = assert_whole(dataset, "h")
    assert {part["path"] for part in manifest["parts"]} == parts_of(dataset).keys()
    assert {table.name: table.rows for table in report.tables} == {
        name: table["rows"] for name, table in manifest["tables"].items()
    }
    assert sum(part["rows"] for part in manifest["parts"]) == sum(table.rows for table in report.tables)
    assert ("incomplete", 2) == (manifest["index"]["freshness"], manifest["index"]["error_count"])
    assert report.policy_sha256 == manifest["policy"]["sha256"]
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", manifest["tool_version"])


@pytest.mark.parametrize("table", TABLES)
def test_every_row_carries_the_digest_of_its_source(table: str, host: Path, dataset: Path) -> None:
    """Whatever the table."""
    export(host, str(dataset), host="h")

    rows = rows_of(dataset, table)
    (column,) = [field.name for field in TABLES[table] if field.is_source_digest]
    assert column in DIGEST_COLUMNS
    assert rows
    assert all(re.fullmatch(r"[0-9a-f]{64}", row[column]) for row in rows)


def test_a_row_lies_on_its_own_day_in_utc(state: StateRoot, dataset: Path) -> None:
    """Just after midnight somewhere is the day before in UTC; without a time the run's counts, without both none."""
    run = state.run("run", created_at="2026-02-10T00:00:00Z")
    run.journal("incidents.jsonl", [incident(1, recorded_at="2026-03-01T00:30:00+02:00")])
    run.journal("other.jsonl", [{"type": "timeless"}])
    state.run("timeless", created_at="").journal("other.jsonl", [{"type": "timeless"}])
    rebuild(state.path)

    export(state.path, str(dataset), host="h")

    assert ["2026-02-28"] == [row["date"] for row in rows_of(dataset, "incidents")]
    days = {(row["session_id"], row["schema_id"]): row["date"] for row in rows_of(dataset, "events")}
    assert "2026-02-10" == days["run", None]
    assert {"run": "2026-02-10", "timeless": "1970-01-01"} == {
        row["session_id"]: row["date"] for row in rows_of(dataset, "runs")
    }


def test_a_time_that_is_none_is_unknown_and_counted(state: StateRoot, dataset: Path) -> None:
    """One odd word keeps nothing else from being exported."""
    state.run("odd", created_at="the other day")
    state.run("good", created_at="2026-03-01T08:00:00.123456789Z")
    rebuild(state.path)

    report = export(state.path, str(dataset), host="h")

    times = {row["session_id"]: row["created_at"] for row in rows_of(dataset, "runs")}
    assert times["odd"] is None
    assert "2026-03-01T08:00:00.123456+00:00" == times["good"].isoformat()
    assert {"created_at": 1} == next(table.unrepresentable for table in report.tables if table.name == "runs")
    assert {"created_at": 1} == manifest_of(dataset, "h")["tables"]["runs"]["unrepresentable"]


def test_money_is_decimal(state: StateRoot, dataset: Path) -> None:
    """A tenth is a tenth, and a trillionth is one."""
    amounts = (0.1, 1e-12, 123456.789)
    run = state.run("run")
    run.document(
        "execution-metrics.json",
        metrics("run", *(stage(f"child:{n}", provider_billed_cost=cost) for n, cost in enumerate(amounts))),
    )
    rebuild(state.path)

    export(state.path, str(dataset), host="h")

    found = [row["provider_billed_cost"] for row in rows_of(dataset, "metrics")]
    assert [Decimal("0.1"), Decimal("0.000000000001"), Decimal("123456.789")] == found


def test_the_host_has_one_id_of_its_own(state: StateRoot, tmp_path: Path) -> None:
    """It is kept beside the index, and an index that was thrown away gets it again; another state root has another."""
    state.run("run")
    rebuild(state.path)
    first = export(state.path, str(tmp_path / "a")).host
    shutil.rmtree(state.index)
    rebuild(state.path)
    second = export(state.path, str(tmp_path / "b")).host
    other = StateRoot(tmp_path / "other")
    rebuild(other.path)

    assert re.fullmatch(r"[0-9a-f]{16}", first)
    assert first == second
    assert first != export(other.path, str(tmp_path / "c")).host


def test_two_state_roots_cannot_be_one_host(state: StateRoot, tmp_path: Path, dataset: Path) -> None:
    """The second would remove the rows of the first; it is refused, and nothing changes."""
    other = StateRoot(tmp_path / "other")
    for root in (state, other):
        root.run("run")
        rebuild(root.path)
    export(state.path, str(dataset), host="same")
    before = files_of(dataset)

    with pytest.raises(ForeignHost, match="another state root"):
        export(other.path, str(dataset), host="same")

    assert before == files_of(dataset)


@pytest.mark.parametrize("name", ["", "..", "a/b", "A", "host=a", "a" * 64, "ä", "a\n"])
def test_a_name_that_is_no_part_of_a_path_is_refused(name: str, host: Path, dataset: Path) -> None:
    """Before anything is written."""
    with pytest.raises(InvalidDestination):
        export(host, str(dataset), host=name)

    assert not dataset.exists()


def test_the_state_root_is_no_place_for_a_dataset(state: StateRoot, tmp_path: Path) -> None:
    """Not below it, and not by a link into it either."""
    state.run("run")
    rebuild(state.path)
    (tmp_path / "link").symlink_to(state.path / "runs")

    for place in (state.path / "dataset", tmp_path / "link" / "dataset"):
        with pytest.raises(InvalidDestination, match="lies in the state root"):
            export(state.path, str(place))


def test_the_evidence_is_left_as_it_was(state: StateRoot, dataset: Path) -> None:
    """Not a byte, name or time of the runs changes."""
    write_rich_run(state, "one")
    rebuild(state.path)

    def look() -> list[tuple[str, int, int]]:
        runs = sorted((state.path / "runs").rglob("*"))
        return [(str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in runs]

    before = look()

    export(state.path, str(dataset))

    assert before == look()


def test_a_link_in_place_of_the_lock_is_refused(state: StateRoot, dataset: Path, tmp_path: Path) -> None:
    """As in place of every other file of ours; what it leads to is left alone."""
    state.run("run")
    rebuild(state.path)
    (state.index / LOCK_NAME).symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UnsafePath, match="is a link"):
        export(state.path, str(dataset))

    assert not (tmp_path / "elsewhere").exists()


def test_one_export_at_a_time(state: StateRoot, dataset: Path) -> None:
    """A second one is told, and waits for nothing."""
    import fcntl

    state.run("run")
    rebuild(state.path)
    (state.index / LOCK_NAME).touch(mode=0o600)
    with (state.index / LOCK_NAME).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(WriterBusy, match="another export"):
            export(state.path, str(dataset))

    assert export(state.path, str(dataset)).written > 0
