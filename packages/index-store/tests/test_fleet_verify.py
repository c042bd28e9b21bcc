"""A dataset is compared with its manifests: what is missing, changed or unreadable is named, and nothing is touched."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

import fsspec
from exported import files_of, manifest_of
from sample_state import StateRoot, write_rich_run

from agent_workflow.evidence_schemas import find_contract
from agent_workflow.index_store import rebuild
from agent_workflow.index_store.export import MissingDataset, export
from agent_workflow.index_store.export.store import LocalStore
from agent_workflow.index_store.fleet import verify_fleet


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Give a dataset of two hosts."""
    for name in ("one", "two"):
        state = StateRoot(tmp_path / name)
        write_rich_run(state, f"run-of-{name}")
        rebuild(state.path)
        export(state.path, str(tmp_path / "dataset"), host=name)
    return tmp_path / "dataset"


def flip_a_bit(path: Path) -> None:
    """Damage a file and keep its size."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def grow(path: Path) -> None:
    """Damage a file so that its size tells it."""
    path.write_bytes(path.read_bytes() + b"x")


def replace_by_a_link(path: Path) -> None:
    """Put a link to the same content in its place."""
    path.rename(path.parent / "elsewhere")
    path.symlink_to("elsewhere")


@pytest.mark.parametrize("full", [False, True])
def test_a_sound_dataset_is_valid(full: bool, dataset: Path) -> None:
    """With the number of files of each host; looking changes nothing."""
    before = files_of(dataset)

    report = verify_fleet(str(dataset), full=full)

    assert (True, ()) == (report.valid, report.faults)
    assert {host: len(manifest_of(dataset, host)["parts"]) for host in ("one", "two")} == report.hosts
    assert before == files_of(dataset)


@pytest.mark.parametrize(
    ("damage", "verdict", "found_by_size"),
    [
        (Path.unlink, "missing", True),
        (replace_by_a_link, "missing", True),
        (grow, "mismatch", True),
        (flip_a_bit, "mismatch", False),
    ],
)
def test_a_damaged_file_is_named(
    damage: Callable[[Path], None], verdict: str, found_by_size: bool, dataset: Path
) -> None:
    """It alone, with its host; damage that keeps the size takes a look at every byte."""
    path = dataset / manifest_of(dataset, "two")["parts"][0]["path"]
    damage(path)

    sizes, full = verify_fleet(str(dataset)), verify_fleet(str(dataset), full=True)

    assert [("two", str(path), verdict)] == [fault[:3] for fault in full.faults]
    assert found_by_size == (not sizes.valid)


@pytest.mark.parametrize("content", [b"{", b'{"schema": "agent-workflow/export-manifest/v9"}'])
def test_a_manifest_that_cannot_be_read_hides_no_other_host(content: bytes, dataset: Path) -> None:
    """The others are compared as ever, and the report is of its contract."""
    manifest = dataset / "manifests/host=one/manifest.json"
    manifest.write_bytes(content)
    (dataset / manifest_of(dataset, "two")["parts"][0]["path"]).unlink()

    report = verify_fleet(str(dataset), full=True)

    assert [("one", "unreadable"), ("two", "missing")] == [(fault.host, fault.verdict) for fault in report.faults]
    assert report.hosts["one"] is None
    document = report.to_document()
    model = find_contract(str(document["schema"])).model
    assert model is not None
    model.model_validate_json(json.dumps(document))


def test_an_export_that_ends_meanwhile_is_no_fault(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it removed is looked for by the manifest that it left."""
    state, find = StateRoot(tmp_path / "two"), LocalStore.find
    moments = iter([True])

    def find_after_an_export(store: LocalStore, *pattern: str) -> dict[str, int]:
        if pattern[2:3] == ("host=two",) and next(moments, False):
            write_rich_run(state, "another-run")
            rebuild(state.path)
            export(state.path, str(dataset), host="two")
        return find(store, *pattern)

    monkeypatch.setattr(LocalStore, "find", find_after_an_export)

    report = verify_fleet(str(dataset), full=True)

    assert (True, ()) == (report.valid, report.faults)


def test_a_place_that_is_no_directory(dataset: Path) -> None:
    """The same through fsspec."""
    memory = fsspec.filesystem("memory")
    for name, content in files_of(dataset).items():
        memory.pipe_file(f"/verified/{name}", content)
    part = manifest_of(dataset, "one")["parts"][0]["path"]
    content = memory.cat_file(f"/verified/{part}")
    memory.pipe_file(f"/verified/{part}", content[:-1] + bytes([content[-1] ^ 1]))

    report = verify_fleet("memory://verified", full=True)

    assert [("one", f"memory:///verified/{part}", "mismatch")] == [fault[:3] for fault in report.faults]


def test_where_no_host_has_exported(tmp_path: Path) -> None:
    """As for a question."""
    with pytest.raises(MissingDataset):
        verify_fleet(str(tmp_path))
