"""A retention rule removes whole days, says so, and does not let them come back."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import assert_whole, files_of, manifest_of, parts_of
from sample_records import incident
from sample_state import StateRoot

from agent_workflow.index_store import rebuild
from agent_workflow.index_store.export import ImplausibleClock, InvalidDestination, export

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def aged(state: StateRoot) -> StateRoot:
    """Give an index with rows of three days, and with some that have none."""
    for day in ("2026-03-01", "2026-03-05", "2026-03-09"):
        state.run(f"run-{day}", created_at=f"{day}T12:00:00Z").journal(
            "incidents.jsonl", [incident(1, recorded_at=f"{day}T12:00:00Z")]
        )
    state.run("timeless", created_at="")
    rebuild(state.path)
    return state


def days_in(dataset: Path, table: str) -> set[str]:
    """Return the days of a table that are there."""
    return {path.split("date=")[1][:10] for path in parts_of(dataset) if path.startswith(f"table={table}/")}


def test_whole_days_go_and_are_recorded(aged: StateRoot, tmp_path: Path) -> None:
    """Each removed partition with its rows and digest; rows without a day have no age and stay."""
    dataset = tmp_path / "dataset"
    export(aged.path, str(dataset), host="h")
    before = {(p["table"], p["date"]): p for p in manifest_of(dataset, "h")["parts"]}

    report = export(aged.path, str(dataset), host="h", retain_days=5, now=NOW)

    retention = assert_whole(dataset, "h")["retention"]
    assert {"2026-03-05", "2026-03-09"} == days_in(dataset, "incidents")
    assert {"1970-01-01", "2026-03-05", "2026-03-09"} == days_in(dataset, "runs")
    assert ("2026-03-05", date(2026, 3, 5)) == (retention["kept_since"], report.kept_since)
    assert {("runs", "2026-03-01"), ("incidents", "2026-03-01"), ("events", "2026-03-01")} == {
        (gone["table"], gone["date"]) for gone in retention["removed"]
    }
    for gone in retention["removed"]:
        assert gone.items() <= before[gone["table"], gone["date"]].items()
    assert 3 == report.retired


def test_what_was_removed_does_not_come_back(aged: StateRoot, tmp_path: Path) -> None:
    """Not by an export without the rule, nor by one with more days; what was recorded stays recorded, once."""
    dataset = tmp_path / "dataset"
    export(aged.path, str(dataset), host="h")
    export(aged.path, str(dataset), host="h", retain_days=5, now=NOW)
    removed = manifest_of(dataset, "h")["retention"]["removed"]

    export(aged.path, str(dataset), host="h")
    export(aged.path, str(dataset), host="h", retain_days=300, now=NOW)

    assert {"2026-03-05", "2026-03-09"} == days_in(dataset, "incidents")
    assert removed == manifest_of(dataset, "h")["retention"]["removed"]


@pytest.mark.parametrize("days", [0, -1, 36_501])
def test_a_number_of_days_that_is_none_is_refused(days: int, aged: StateRoot, tmp_path: Path) -> None:
    """Nothing is written, and nothing removed."""
    with pytest.raises(InvalidDestination):
        export(aged.path, str(tmp_path / "dataset"), retain_days=days)

    assert not (tmp_path / "dataset").exists()


def note_exported(dataset: Path, moment: datetime) -> None:
    """Make the host have exported at a time."""
    note = dataset / "manifests/host=h/exported.json"
    note.write_text(json.dumps(json.loads(note.read_bytes()) | {"exported_at": moment.isoformat()}))


@pytest.mark.parametrize("days_ahead", [32, 3650])
def test_a_clock_that_is_set_ahead_removes_nothing(days_ahead: int, aged: StateRoot, tmp_path: Path) -> None:
    """By what the host told before it cannot be now; what was recorded since, under that clock, is no witness."""
    dataset = tmp_path / "dataset"
    export(aged.path, str(dataset), host="h", retain_days=20, now=NOW)
    note_exported(dataset, NOW)
    before, ahead = files_of(dataset), NOW + timedelta(days=days_ahead)
    aged.run("run-ahead", created_at=ahead.isoformat())
    rebuild(aged.path)

    with pytest.raises(ImplausibleClock, match="has told nothing since 2026-03-10"):
        export(aged.path, str(dataset), host="h", retain_days=20, now=ahead)

    assert before == files_of(dataset)


def test_evidence_of_a_time_to_come_is_no_witness(aged: StateRoot, tmp_path: Path) -> None:
    """One row of a clock that was far ahead would let every other such clock pass."""
    dataset = tmp_path / "dataset"
    aged.run("run-ahead", created_at=(NOW + timedelta(days=20_000)).isoformat())
    rebuild(aged.path)
    export(aged.path, str(dataset), host="h")
    note_exported(dataset, NOW)

    with pytest.raises(ImplausibleClock, match="has told nothing since 2026-03-10"):
        export(aged.path, str(dataset), host="h", retain_days=20, now=NOW + timedelta(days=3650))


def test_a_host_that_paused_or_has_no_work_goes_on(aged: StateRoot, tmp_path: Path) -> None:
    """One that exports is awake, however old its evidence; a month's pause is none to ask about."""
    dataset, much_later = tmp_path / "dataset", NOW + timedelta(days=300)
    export(aged.path, str(dataset), host="h")
    note_exported(dataset, much_later)

    report = export(aged.path, str(dataset), host="h", retain_days=20, now=much_later + timedelta(days=31))

    assert date(2027, 1, 15) == report.kept_since
    assert {"1970-01-01"} == days_in(dataset, "runs")


def test_an_export_without_the_rule_says_that_the_clock_is_right(aged: StateRoot, tmp_path: Path) -> None:
    """It is the next step that the refusal names."""
    dataset, now = tmp_path / "dataset", datetime.now(UTC)
    export(aged.path, str(dataset), host="h")
    note_exported(dataset, now - timedelta(days=40))
    with pytest.raises(ImplausibleClock, match="would remove its days for good"):
        export(aged.path, str(dataset), host="h", retain_days=20 * 365)

    export(aged.path, str(dataset), host="h")
    report = export(aged.path, str(dataset), host="h", retain_days=20 * 365)

    assert report.kept_since is not None


@pytest.mark.parametrize("retain_days", [None, 20])
def test_a_rule_that_was_given_under_such_a_clock_is_told(
    retain_days: int | None, aged: StateRoot, tmp_path: Path
) -> None:
    """Else all that is recorded until then would be left out without a word; the host can start anew."""
    dataset = tmp_path / "dataset"
    export(aged.path, str(dataset), host="h", retain_days=20, now=NOW + timedelta(days=3650))
    assert {"1970-01-01"} == days_in(dataset, "runs")

    with pytest.raises(ImplausibleClock, match="keeps nothing before 2036-02-16, which is to come") as refused:
        export(aged.path, str(dataset), host="h", retain_days=retain_days, now=NOW)
    Path(str(refused.value.path)).unlink()
    export(aged.path, str(dataset), host="h", retain_days=retain_days, now=NOW)

    assert {"2026-03-01", "2026-03-05", "2026-03-09"} == days_in(dataset, "incidents")
