"""A retention rule removes whole days, says so, and does not let them come back."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

pytest.importorskip("pyarrow", reason="the export is an extra")

from exported import assert_whole, manifest_of, parts_of
from sample_records import incident
from sample_state import StateRoot

from agent_workflow.index_store import rebuild
from agent_workflow.index_store.export import InvalidDestination, export

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
