"""Every question with every filter it has, its limits, and what is refused."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from sample_records import lifecycle
from sample_state import StateRoot

from agent_workflow.index_store import KINDS, Filters, InvalidQuestion, QueryReport, query, sync, verify
from agent_workflow.index_store.queries import FILTERS


def key_of(kind: str, row: Mapping[str, Any]) -> str:
    """Name a row by what it is about."""
    key = {
        "workflows": "workflow_id",
        "workflow-nodes": "node_id",
        "repairs": "repair_id",
        "performance": "executor",
        "notices": "source_path",
    }.get(kind, "session_id")
    if kind == "attempts":
        return f"{row['attempt_classification']}, {row['evaluation_state']}"
    return str(row[key])


# kind, filter, value, what the rows that pass are about
CASES: list[tuple[str, str, str, list[str]]] = [
    ("runs", "session", "beta", ["beta"]),
    ("runs", "state", "failed", ["beta"]),
    ("runs", "state", "error", ["broken", "linked"]),
    ("runs", "category", "timeout", ["beta"]),
    ("runs", "executor", "codex", ["alpha"]),
    ("runs", "model", "small", ["beta"]),
    ("runs", "pack", "night", ["alpha"]),
    ("runs", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("runs", "until", "2026-03-01T10:15:00+02:00", ["alpha", "sealed"]),
    ("incidents", "session", "alpha", ["alpha"]),
    ("incidents", "state", "resolved", ["beta"]),
    ("incidents", "category", "stalled", ["alpha"]),
    ("incidents", "executor", "claude", ["beta"]),
    ("incidents", "model", "large", ["alpha"]),
    ("incidents", "pack", "day", ["beta"]),
    ("incidents", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("incidents", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("permissions", "session", "alpha", ["alpha"]),
    ("permissions", "state", "denied", ["beta"]),
    ("permissions", "executor", "claude", ["beta"]),
    ("permissions", "model", "large", ["alpha"]),
    ("permissions", "pack", "day", ["beta"]),
    ("permissions", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("permissions", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("performance", "executor", "codex", ["codex"]),
    ("performance", "model", "small", ["claude"]),
    ("workflows", "session", "alpha", ["flow-a"]),
    ("workflows", "state", "completed", ["flow-b"]),
    ("workflows", "pack", "night", ["flow-a"]),
    ("workflow-nodes", "session", "gamma", ["build"]),
    ("workflow-nodes", "session", "beta", ["lint", "test"]),
    ("workflow-nodes", "state", "failed", ["lint"]),
    ("workflow-nodes", "executor", "claude", ["test"]),
    ("workflow-nodes", "model", "large", ["build"]),
    ("workflow-nodes", "pack", "day", ["lint", "test"]),
    ("errors", "session", "linked", ["linked"]),
    ("errors", "category", "run_index_failed", ["broken"]),
    ("errors", "category", "unsafe_source", ["linked"]),
    ("errors", "since", "1h", ["broken", "linked"]),
    ("errors", "until", "1h", []),
    ("repairs", "session", "sealed", ["repair-1", "repair-2"]),
    ("repairs", "session", "alpha", []),
    ("repairs", "since", "2026-03-01T08:45:00Z", ["repair-2"]),
    ("repairs", "until", "2026-03-01T08:45:00Z", ["repair-1"]),
    ("events", "session", "sealed", ["sealed"]),
    ("events", "state", "denied", ["beta"]),
    ("events", "category", "stalled", ["alpha"]),
    ("events", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("events", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("health", "session", "alpha", ["alpha"]),
    ("health", "state", "Z", ["beta"]),
    ("health", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("health", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("remediations", "session", "alpha", ["alpha"]),
    ("remediations", "category", "crashed", ["beta"]),
    ("remediations", "executor", "codex", ["alpha"]),
    ("remediations", "model", "small", ["beta"]),
    ("remediations", "pack", "night", ["alpha"]),
    ("remediations", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("remediations", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("attempts", "state", "verified", ["None, verified"]),
    ("attempts", "category", "completed-not-accepted", ["completed-not-accepted, not_planned"]),
    ("metrics", "session", "alpha", ["alpha"]),
    ("metrics", "executor", "claude", ["beta"]),
    ("metrics", "model", "large", ["alpha"]),
    ("metrics", "pack", "day", ["beta"]),
    ("metrics", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("metrics", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("processes", "session", "alpha", ["alpha"]),
    ("processes", "category", "timeout", ["beta"]),
    ("processes", "executor", "codex", ["alpha"]),
    ("processes", "model", "small", ["beta"]),
    ("processes", "pack", "night", ["alpha"]),
    ("processes", "since", "2026-03-01T08:45:00Z", ["beta"]),
    ("processes", "until", "2026-03-01T08:45:00Z", ["alpha"]),
    ("notices", "session", "alpha", ["newer.jsonl"]),
    ("notices", "category", "invalid_run_name", ["runs/no run!"]),
    ("notices", "since", "1h", ["newer.jsonl", "runs/no run!"]),
    ("notices", "until", "1h", []),
]


@pytest.mark.parametrize(("kind", "name", "value", "expected"), CASES)
def test_a_filter_lets_through_what_it_names(host: Path, kind: str, name: str, value: str, expected: list[str]) -> None:
    """And nothing else."""
    rows = query(host, kind, Filters(**{name: value})).rows

    assert expected == sorted({key_of(kind, row) for row in rows})


def test_every_filter_of_every_kind_is_tried() -> None:
    """The cases above are all there are."""
    assert {(kind, name) for kind, names in KINDS.items() for name in names} == {case[:2] for case in CASES}


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_has_rows_and_columns_without_a_filter(host: Path, kind: str) -> None:
    """Each row has all the columns, in their order."""
    report = query(host, kind)

    assert report.rows
    assert {report.columns} == {tuple(row) for row in report.rows}


@pytest.mark.parametrize("kind", list(KINDS))
def test_an_answer_without_rows_still_has_its_columns(host: Path, kind: str) -> None:
    """A table of nothing has a head."""
    name = KINDS[kind][0]

    report = query(host, kind, Filters(**{name: "nobody"}))

    assert () == report.rows
    assert query(host, kind).columns == report.columns


def test_filters_narrow_together(host: Path) -> None:
    """A row must pass all of them."""
    both = query(host, "runs", Filters(executor="codex", state="completed")).rows
    neither = query(host, "runs", Filters(executor="codex", state="failed")).rows

    assert ["alpha"] == [row["session_id"] for row in both]
    assert () == neither


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in FILTERS if name not in names]
)
def test_a_filter_that_a_kind_has_not_is_refused_by_name(host: Path, kind: str, name: str) -> None:
    """The refusal says which it takes."""
    with pytest.raises(InvalidQuestion, match=f"{kind} cannot be filtered by {name}") as refusal:
        query(host, kind, Filters(**{name: "x"}))

    assert all(taken in str(refusal.value.hint) for taken in KINDS[kind])


def test_filters_are_a_closed_list() -> None:
    """The fields of the filters are exactly the names."""
    assert FILTERS == tuple(field.name for field in fields(Filters))


def test_a_kind_that_there_is_not_is_refused(host: Path) -> None:
    """The refusal lists those that there are."""
    with pytest.raises(InvalidQuestion, match="there is no kind 'secrets'") as refusal:
        query(host, "secrets")

    assert all(kind in str(refusal.value.hint) for kind in KINDS)


# Limits.


@pytest.mark.parametrize("limit", [1, 2, 3])
@pytest.mark.parametrize("kind", list(KINDS))
def test_a_limit_keeps_the_first_rows(host: Path, kind: str, limit: int) -> None:
    """Those that come first without it."""
    everything = query(host, kind, limit=10_000).rows

    assert everything[:limit] == query(host, kind, limit=limit).rows


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2**63])
def test_a_limit_out_of_bounds_is_refused(host: Path, limit: int) -> None:
    """Rather than bent into bounds."""
    with pytest.raises(InvalidQuestion, match=f"limit {limit} is not between 1 and 10000"):
        query(host, "runs", limit=limit)


def test_the_largest_limit_is_taken(tmp_path: Path) -> None:
    """Of more rows, the newest 10,000 are given; without a limit, 100."""
    state = StateRoot(tmp_path / "state")
    state.run("run").journal("events.jsonl", [lifecycle(number) for number in range(1, 10_051)])
    sync(state.path)

    rows = query(state.path, "events", limit=10_000).rows

    assert 10_000 == len(rows)
    assert [10_050, 51] == [rows[0]["source_sequence"], rows[-1]["source_sequence"]]
    assert 100 == len(query(state.path, "events").rows)


# Values are data.


@pytest.mark.parametrize(
    "value",
    ["' OR '1'='1", "x'; DROP TABLE runs; --", "%", "_____", "*", "", "alpha\0", ":session", "?1", "A" * 100_000],
)
def test_a_filters_value_is_data(host: Path, value: str) -> None:
    """It is compared as it stands, and never becomes part of a statement."""
    for kind, names in KINDS.items():
        for name in names:
            if name not in ("since", "until"):
                assert () == query(host, kind, Filters(**{name: value})).rows, (kind, name)

    assert verify(host).valid


def test_a_value_that_is_no_text_is_refused(host: Path) -> None:
    """A terminal may pass bytes that no id, name or state can have."""
    with pytest.raises(InvalidQuestion, match="session"):
        query(host, "runs", Filters(session="alpha\udcff"))


def test_an_answer_is_a_document(host: Path) -> None:
    """As the contract of the answer has it."""
    report: QueryReport = query(host, "runs", Filters(session="alpha"))

    document = report.to_document()

    assert "agent-workflow/index-query/v1" == document["schema"]
    assert ("runs", "json-jsonl-sealed-receipts") == (document["kind"], document["authority"])
    assert ("incomplete", 4, 0, 2) == tuple(
        document[name] for name in ("freshness", "current_run_count", "stale_run_count", "error_count")
    )
    assert [dict(row) for row in report.rows] == document["rows"]
