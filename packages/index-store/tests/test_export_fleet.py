"""A dataset as a fleet asks it: hosts with different policies, leftovers, damage, places that are no directory."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")
pytest.importorskip("duckdb", reason="the fleet is an extra")

import fsspec
from exported import files_of, parts_of
from sample_records import incident
from sample_state import StateRoot, write_rich_run
from traced_runs import imported_run, seal

from agent_workflow.index_store import KINDS, Filters, InvalidQuestion, rebuild
from agent_workflow.index_store.export import (
    DamagedDataset,
    FieldClass,
    InvalidDestination,
    MissingDataset,
    NewerDataset,
    Policy,
    export,
)
from agent_workflow.index_store.export.store import open_store
from agent_workflow.index_store.fleet import query_fleet

EVERYTHING = Policy(frozenset(FieldClass) - {FieldClass.INDEX})


@pytest.fixture
def two_hosts(tmp_path: Path) -> Path:
    """Give a dataset of two hosts, one of which lets everything out."""
    for name, policy in (("open", EVERYTHING), ("shut", Policy(frozenset({FieldClass.IDENTITY})))):
        state = StateRoot(tmp_path / name)
        write_rich_run(state, f"run-of-{name}")
        rebuild(state.path)
        export(state.path, str(tmp_path / "dataset"), host=name, policy=policy)
    return tmp_path / "dataset"


def test_what_a_host_leaves_out_is_null_and_said(two_hosts: Path) -> None:
    """In the rows of that host only."""
    report = query_fleet(str(two_hosts), "incidents")

    summaries = {row["host"]: row["summary"] for row in report.rows}
    assert {"open": "no progress", "shut": None} == summaries
    assert {"open": ("indexed_at",)} == {host.host: host.left_out for host in report.hosts if host.host == "open"}
    assert {"summary", "state", "recorded_at"} <= set(report.hosts[1].left_out)


def test_the_envelope_is_that_of_the_index(two_hosts: Path) -> None:
    """Sums over the hosts, and each host by itself."""
    document = query_fleet(str(two_hosts), "runs").to_document()

    assert ("agent-workflow/fleet-query/v1", "json-jsonl-sealed-receipts", "current", "runs") == tuple(
        document[key] for key in ("schema", "authority", "freshness", "kind")
    )
    assert (2, 0, 0) == tuple(document[f"{word}_count"] for word in ("current_run", "stale_run", "error"))
    hosts = document["hosts"]
    assert isinstance(hosts, list)
    assert ["open", "shut"] == [host["host"] for host in hosts if isinstance(host, dict)]
    assert json.loads(json.dumps(document)) == document


def test_a_stale_host_makes_the_answer_stale(two_hosts: Path, tmp_path: Path) -> None:
    """As it stood when it exported."""
    root = tmp_path / "open"
    (root / "runs" / "run-of-open" / "status.json").touch()

    export(root, str(two_hosts), host="open", policy=EVERYTHING)

    report = query_fleet(str(two_hosts), "runs")
    assert "stale" == report.freshness
    assert {"open": "stale", "shut": "current"} == {host.host: host.freshness for host in report.hosts}


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_host_answers_every_kind(kind: str, state: StateRoot, tmp_path: Path) -> None:
    """With its columns and no row."""
    rebuild(state.path)
    export(state.path, str(tmp_path / "dataset"), host="h")

    report = query_fleet(str(tmp_path / "dataset"), kind)

    assert () == report.rows
    assert "host" == report.columns[0]
    assert len(report.columns) > 4


def test_leftovers_are_in_no_answer(two_hosts: Path) -> None:
    """A part that no manifest names, and one on the way, are as if they were not there."""
    before = query_fleet(str(two_hosts), "incidents")
    part = next(path for path in parts_of(two_hosts) if "table=incidents" in path)
    shutil.copy(two_hosts / part, (two_hosts / part).with_name(f"part-{'0' * 64}.parquet"))
    (two_hosts / part).with_name(".writing-1-part-x.parquet").write_bytes(b"PAR1 half")

    assert before.rows == query_fleet(str(two_hosts), "incidents").rows


def test_a_part_that_is_gone_is_an_error(two_hosts: Path) -> None:
    """Never a smaller answer."""
    for path in parts_of(two_hosts):
        if "table=incidents" in path:
            (two_hosts / path).unlink()

    with pytest.raises(DamagedDataset):
        query_fleet(str(two_hosts), "incidents")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"schema": "agent-workflow/export-manifest/v1"}', b"null", b"[" * 100_000]
)
def test_a_manifest_that_is_none_is_an_error(content: bytes, two_hosts: Path) -> None:
    """It names the file."""
    (two_hosts / "manifests" / "host=open" / "manifest.json").write_bytes(content)

    with pytest.raises(DamagedDataset, match=r"host=open/manifest\.json"):
        query_fleet(str(two_hosts), "runs")


def test_a_place_without_a_host_is_told(tmp_path: Path) -> None:
    """A directory that is not there, or has nothing."""
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(MissingDataset):
            query_fleet(str(place), "runs")


@pytest.mark.parametrize(("kind", "filters"), [("flights", Filters()), ("health", Filters(model="large"))])
def test_a_wrong_question_is_refused_as_by_the_index(kind: str, filters: Filters, two_hosts: Path) -> None:
    """Before the dataset is looked at."""
    with pytest.raises(InvalidQuestion):
        query_fleet(str(two_hosts), kind, filters)


@pytest.fixture
def remote() -> Iterator[str]:
    """Give a place behind fsspec that is no directory of this machine."""
    file_system = fsspec.filesystem("memory")
    file_system.store.clear()
    yield "memory://bucket/fleet"
    file_system.store.clear()
    file_system.pseudo_dirs[:] = [""]


def test_a_remote_place_is_exported_to_and_asked(remote: str, tmp_path: Path) -> None:
    """With the same files as a directory, and the same answers; what is old is removed there too."""
    state = StateRoot(tmp_path / "state")
    write_rich_run(state, "one")
    rebuild(state.path)
    export(state.path, str(tmp_path / "local"), host="h")

    first = export(state.path, remote, host="h")
    second = export(state.path, remote, host="h")

    file_system = fsspec.filesystem("memory")
    there = {path.removeprefix("/bucket/fleet/"): file_system.cat_file(path) for path in file_system.find("/bucket")}
    there.pop("manifests/host=h/exported.json")
    assert files_of(tmp_path / "local") == there
    assert (0, first.written) == (second.written, second.unchanged)
    for kind in KINDS:
        assert query_fleet(str(tmp_path / "local"), kind).rows == query_fleet(remote, kind).rows
    write_rich_run(state, "two")
    rebuild(state.path)
    assert export(state.path, remote, host="h").removed > 0


@pytest.mark.parametrize("place", ["", "file://", "nosuch://bucket/x", "file://elsewhere/srv/x", "file://relative"])
def test_a_place_that_cannot_be_is_refused(place: str) -> None:
    """With a reason."""
    with pytest.raises(InvalidDestination):
        query_fleet(place, "runs")


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost", "file:///"])
def test_a_place_is_the_same_however_it_is_named(prefix: str, tmp_path: Path) -> None:
    """As a path or as a URL of a file, with this host in it or with none."""
    assert str(tmp_path) == open_store(f"{prefix}{tmp_path}").url


def test_a_dataset_of_another_version_is_told_from_a_damaged_one(two_hosts: Path) -> None:
    """Nobody is told to remove what a newer host wrote; its export is refused as well."""
    manifest = next(two_hosts.glob("manifests/*/manifest.json"))
    manifest.write_bytes(manifest.read_bytes().replace(b"export-manifest/v1", b"export-manifest/v2"))

    with pytest.raises(NewerDataset, match="v2, which this version does not know") as refused:
        query_fleet(str(two_hosts), "runs")

    assert "update agent-workflow" == refused.value.hint


@pytest.mark.parametrize("odd", ["0001-01-01T00:00:00+05:00", "9999-12-31T23:59:59-10:00", "2026-02-29T00:00:00Z"])
def test_a_row_whose_time_is_none_comes_behind_those_that_have_one(odd: str, tmp_path: Path) -> None:
    """Although it lies on the day of its run, which is later."""
    state = StateRoot(tmp_path / "state")
    good = "2026-03-01T08:00:00Z"
    state.run("late", created_at="2027-01-01T00:00:00Z").journal(
        "incidents.jsonl", [incident(1, recorded_at=odd), incident(2, recorded_at=good)]
    )
    rebuild(state.path)
    export(state.path, str(tmp_path / "dataset"), host="h")

    rows = query_fleet(str(tmp_path / "dataset"), "incidents", limit=1).rows

    assert ["2026-03-01T08:00:00+00:00"] == [row["recorded_at"] for row in rows]


@pytest.mark.parametrize("kind", ["attempts", "performance"])
def test_a_session_counts_once_in_a_fleet(kind: str, tmp_path: Path) -> None:
    """By the newest run of it on its host; one of the same name on another host is another."""
    for name in ("grown", "whole"):
        state = StateRoot(tmp_path / name)
        seal(imported_run(state, "s1"))
        if name == "grown":
            seal(imported_run(state, "s1-2", retry_of="s1"))
        rebuild(state.path)
        export(state.path, str(tmp_path / "dataset"), host=name)

    rows = query_fleet(str(tmp_path / "dataset"), kind).rows

    counted = {row["host"]: row[{"attempts": "run_count", "performance": "sample_count"}[kind]] for row in rows}
    assert {"grown": 1, "whole": 1} == counted
