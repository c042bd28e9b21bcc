"""An export that builds on the last one writes what one to an empty place would, and does no more than it has to."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import assert_whole, files_of, manifest_of, parts_of
from sample_records import health, incident, lifecycle, provenance
from sample_state import StateRoot, write_rich_run
from traced_runs import imported_run, seal

from agent_workflow.index_store import rebuild, sync
from agent_workflow.index_store.export import DEFAULT_POLICY, FieldClass, Policy, export
from agent_workflow.index_store.export import tables as export_tables

EVERYTHING = Policy(frozenset(FieldClass) - {FieldClass.INDEX})
DAYS = 9


def write_days(state: StateRoot) -> None:
    """Write a run for each of some days, with records of that day."""
    for number in range(1, DAYS + 1):
        run = state.run(f"run-{number}", created_at=f"2026-03-0{number}T12:00:00Z")
        run.journal("incidents.jsonl", [incident(number, recorded_at=f"2026-03-0{number}T12:00:00Z")])
        run.journal("health.jsonl", [health(recorded_at=f"2026-03-0{number}T13:00:00Z")])


@pytest.fixture
def kept(state: StateRoot, tmp_path: Path) -> Path:
    """Give a dataset of an index of several days."""
    write_days(state)
    rebuild(state.path)
    export(state.path, str(tmp_path / "kept"), host="h")
    return tmp_path / "kept"


def fresh_files(state: StateRoot, place: Path, policy: Policy = DEFAULT_POLICY) -> dict[str, bytes]:
    """Return what an export to an empty place writes."""
    export(state.path, str(place), host="h", policy=policy)
    return files_of(place)


def grow(state: StateRoot, run: Path, day: str) -> None:
    """Append a record of some day to a journal."""
    scratch = state.run("scratch", created_at="")
    scratch.journal("incidents.jsonl", [incident(7, recorded_at=f"{day}T07:00:00Z")])
    record = (state.path / "runs" / "scratch" / "incidents.jsonl").read_bytes()
    state.remove("scratch")
    with (run / "incidents.jsonl").open("ab") as journal:
        journal.write(record)


def add(state: StateRoot, run: Path, day: str) -> None:
    """Add a run with records of its day, and one without a time."""
    records = [lifecycle(1, timestamp=f"{day}T00:00:00Z"), {"type": "timeless"}]
    state.run(f"{run.name}-new", created_at=f"{day}T23:59:59.5Z").journal("events.jsonl", records)


def archive(state: StateRoot, run: Path, day: str) -> None:
    """Move a run to the archive."""
    (state.path / "archive").mkdir(exist_ok=True, mode=0o700)
    run.rename(state.path / "archive" / run.name)


def mend(state: StateRoot, run: Path, day: str) -> None:
    """Remove what is broken anywhere."""
    for broken in (state.path / "runs").glob("*/broken.jsonl"):
        broken.unlink()


WAYS: dict[str, Callable[[StateRoot, Path, str], object]] = {
    "grow": grow,
    "add": add,
    "remove": lambda state, run, _: state.remove(run.name),
    "break": lambda _state, run, _day: (run / "broken.jsonl").write_bytes(b'{"no": json}\n{}\n'),
    "mend": mend,
    "archive": archive,
    "timeless": lambda state, run, _: state.run(f"{run.name}-t").journal("events.jsonl", [{"type": "timeless"}]),
    "odd": lambda state, run, _: state.run(f"{run.name}-odd", created_at="the other day"),
    "rich": lambda state, run, _: write_rich_run(state, f"{run.name}-rich"),
    "nothing": lambda *_: None,
}
"""How evidence changes."""


def change(state: StateRoot, chance: Random) -> str:
    """Change the evidence in one of the ways that it changes; return which."""
    way = chance.choice(["grow", "grow", "add", *WAYS])
    run = chance.choice(sorted((state.path / "runs").iterdir()))
    WAYS[way](state, run, f"2026-03-{chance.randint(1, 12):02d}")
    return way


@pytest.mark.parametrize("seed", [1, 3])
def test_whatever_changes_the_files_are_those_of_an_export_to_an_empty_place(
    seed: int, state: StateRoot, kept: Path, tmp_path: Path
) -> None:
    """Runs that grow, come, go, break, are mended or archived, in any order: every file and the manifest are alike."""
    chance, ways = Random(seed), []
    for step in range(7):
        ways += [change(state, chance) for _ in range(chance.randint(1, 2))]
        sync(state.path)

        report = export(state.path, str(kept), host="h")

        fresh = fresh_files(state, tmp_path / f"fresh-{step}")
        assert fresh == files_of(kept), ways
        assert len(parts_of(kept)) == report.written + report.unchanged


def test_every_class_of_fields_builds_on_the_last_export_too(state: StateRoot, tmp_path: Path) -> None:
    """With paths and texts, and with a policy that keeps the names of runs."""
    write_days(state)
    rebuild(state.path)
    policies = {"all": EVERYTHING, "money": Policy(frozenset({FieldClass.MONEY}))}
    for name, policy in policies.items():
        export(state.path, str(tmp_path / name), host="h", policy=policy)
    write_rich_run(state, "rich")
    sync(state.path)

    for name, policy in policies.items():
        report = export(state.path, str(tmp_path / name), host="h", policy=policy)

        assert fresh_files(state, tmp_path / f"fresh-{name}", policy) == files_of(tmp_path / name)
        assert report.unchanged > report.written


def test_a_run_that_is_superseded_leaves_again(state: StateRoot, kept: Path, tmp_path: Path) -> None:
    """Nothing of it has changed, and yet its rows say that it counts no more, and later that it counts again."""
    seal(imported_run(state, "s1"))
    sync(state.path)
    export(state.path, str(kept), host="h")

    newer = imported_run(state, "s1-2", retry_of="s1")
    newer.document("run-provenance.json", provenance("s1-2", started_at="2026-02-27T12:00:00Z"))
    seal(newer)
    sync(state.path)
    export(state.path, str(kept), host="h")

    assert fresh_files(state, tmp_path / "grown") == files_of(kept)
    state.remove("s1-2")
    sync(state.path)
    export(state.path, str(kept), host="h")
    assert fresh_files(state, tmp_path / "gone") == files_of(kept)


def read_rows(state: StateRoot, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Export, and return how many rows were made into columns, by table."""
    fetched: dict[str, int] = {}
    whole = export_tables.fetch_table

    def counting(*arguments: object, **options: object) -> object:
        table = whole(*arguments, **options)  # type: ignore[arg-type]  # passed through
        fetched[table.told.name] = fetched.get(table.told.name, 0) + table.told.rows
        return table

    monkeypatch.setattr("agent_workflow.index_store.export.table_work.fetch_table", counting)
    export(state.path, str(dataset), host="h")
    monkeypatch.undo()
    return fetched


def test_a_small_change_costs_its_days(state: StateRoot, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the tables with records only the runs of that day are read; of all others nothing."""
    with (state.path / "runs" / "run-2" / "incidents.jsonl").open("ab") as journal:
        journal.write((state.path / "runs" / "run-2" / "incidents.jsonl").read_bytes())
    sync(state.path)

    found = read_rows(state, kept, monkeypatch)

    # Once to see which days the run has, once with the other runs of those days.
    assert {"runs": 2, "events": 6, "incidents": 4, "health": 2} == {n: rows for n, rows in found.items() if rows}


def test_nothing_changed_is_nothing_read(state: StateRoot, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a sync that found nothing, no row is made into a column, and only the manifest tells of the sync."""
    before = files_of(kept)
    sync(state.path)

    assert {} == read_rows(state, kept, monkeypatch)

    changed = {path for path, content in files_of(kept).items() if before[path] != content}
    assert {"manifests/host=h/manifest.json"} == changed


def test_an_unchanged_index_needs_no_pyarrow(state: StateRoot, kept: Path) -> None:
    """Which takes longer to import than the whole export."""
    program = (
        "import sys; from pathlib import Path; from agent_workflow.index_store.export import export; "
        f"report = export(Path({str(state.path)!r}), {str(kept)!r}, host='h'); "
        "print(report.written, 'pyarrow' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)

    assert "0 False" == done.stdout.strip()


def test_a_part_that_is_gone_or_cut_off_is_put_again(state: StateRoot, kept: Path) -> None:
    """Of tables that are kept by run, and of the others."""
    write_rich_run(state, "rich")
    sync(state.path)
    export(state.path, str(kept), host="h")
    before = files_of(kept)
    tables = ("incidents", "workflows", "runs")
    for number, table in enumerate(tables):
        part = next(path for path in (kept / f"table={table}").rglob("part-*"))
        part.write_bytes(part.read_bytes()[:100]) if number else part.unlink()

    report = export(state.path, str(kept), host="h")

    assert before == files_of(kept)
    assert len(tables) == report.written


def checkpoint_of(state: StateRoot) -> Path:
    """Return the file that the last export left in the index."""
    (found,) = state.index.glob("export-*.json")
    return found


@pytest.mark.parametrize("doubt", ["gone", "torn", "changed", "manifest", "policy", "generation", "link"])
def test_a_doubt_is_full_work(
    doubt: str, state: StateRoot, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkpoint that is not whole, or not of this index, policy and manifest, is as good as none."""
    checkpoint = checkpoint_of(state)
    if doubt == "gone":
        checkpoint.unlink()
    elif doubt == "torn":
        checkpoint.write_bytes(checkpoint.read_bytes()[:-10])
    elif doubt == "changed":
        checkpoint.write_bytes(checkpoint.read_bytes().replace(b"2026-03-01", b"2026-03-02"))
    elif doubt == "manifest":
        manifest = kept / "manifests/host=h/manifest.json"
        manifest.write_bytes(manifest.read_bytes().replace(b'"0.', b'"9.', 1))
    elif doubt == "policy":
        export(state.path, str(kept), host="h", policy=EVERYTHING)
    elif doubt == "generation":
        rebuild(state.path)
    if doubt == "link":
        checkpoint.rename(tmp_path / "elsewhere")
        checkpoint.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Exception, match="is a link"):
            export(state.path, str(kept), host="h")
        return

    found = read_rows(state, kept, monkeypatch)

    assert DAYS == found["runs"]
    assert fresh_files(state, tmp_path / "fresh") == files_of(kept)


def test_a_value_that_is_odd_is_counted_whatever_was_read(state: StateRoot, kept: Path) -> None:
    """Where a time is none, the next exports still tell how many there are; and none once it is gone."""
    state.run("odd", created_at="the other day")
    sync(state.path)
    export(state.path, str(kept), host="h")
    state.run("more", created_at="2026-03-01T00:00:00Z")
    sync(state.path)

    export(state.path, str(kept), host="h")

    assert {"created_at": 1} == manifest_of(kept, "h")["tables"]["runs"]["unrepresentable"]
    state.remove("odd")
    sync(state.path)
    export(state.path, str(kept), host="h")
    assert {} == manifest_of(kept, "h")["tables"]["runs"]["unrepresentable"]


def test_somebody_elses_file_beside_the_parts_stays(kept: Path, state: StateRoot) -> None:
    """An export removes what an export wrote, and nothing else."""
    day = next((kept / "table=runs").rglob("part-*")).parent
    (day / "_SUCCESS").write_text("of another program\n")
    (day / f"part-{'0' * 64}.parquet").write_bytes(b"of an export that crashed")
    (day / ".writing-7-part").write_bytes(b"")

    report = export(state.path, str(kept), host="h")

    assert 2 == report.removed
    assert ["_SUCCESS"] == [path.name for path in day.iterdir() if not path.name.startswith("part-")]
    assert_whole(kept, "h")
