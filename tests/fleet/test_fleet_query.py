"""``fleet query`` answers as the indexes of all hosts do together, and the documented views of DuckDB do too."""

from pathlib import Path

import duckdb
import pytest
from cells import cells, view_of
from fleet_engines import Rows, statements, views_for
from three_hosts import HOSTS, export_all, moment

from agent_workflow.index_store import KINDS, MAXIMUM_LIMIT, Filters, query
from agent_workflow.index_store.fleet import query_fleet


@pytest.fixture(scope="session")
def duckdb_views(dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """Give DuckDB with the documented views."""
    connection = duckdb.connect()
    for statement in statements(views_for("duckdb", dataset, tmp_path_factory.mktemp("duckdb"))):
        connection.execute(statement)
    return connection


@pytest.mark.parametrize("kind", KINDS)
def test_there_is_something_to_compare(kind: str, indexes: dict[str, Rows]) -> None:
    """Every kind has rows, so that equal answers mean something."""
    assert len(indexes[kind]) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_the_sum_of_the_indexes(kind: str, dataset: Path, indexes: dict[str, Rows]) -> None:
    """Every row of every host, every cell that may leave."""
    report = query_fleet(str(dataset), kind, limit=MAXIMUM_LIMIT)

    assert cells(kind, indexes[kind]) == cells(kind, report.rows)
    assert HOSTS == tuple(host.host for host in report.hosts)


@pytest.mark.parametrize("kind", KINDS)
def test_the_columns_are_those_of_the_index(kind: str, dataset: Path, roots: dict[str, Path]) -> None:
    """With the host before them, in the same order."""
    report = query_fleet(str(dataset), kind)

    assert ("host", *query(roots["0123"], kind).columns) == report.columns


@pytest.mark.parametrize("kind", KINDS)
def test_the_documented_views_answer_alike(
    kind: str, duckdb_views: duckdb.DuckDBPyConnection, indexes: dict[str, Rows]
) -> None:
    """The SQL files are no second truth."""
    asked = duckdb_views.execute(f"SELECT * FROM {view_of(kind)}")
    names = [column[0] for column in asked.description or ()]
    rows = [dict(zip(names, row, strict=True)) for row in asked.fetchall()]

    assert cells(kind, indexes[kind]) == cells(kind, rows)


COLUMNS_OF_FILTERS = {
    "session": ("session_id", "owner_run_id", "bound_run_id", "configured_session_id", "source_session_id"),
    "state": ("durable_status", "index_state", "state", "workflow_state", "executor_state", "evaluation_state"),
    "category": ("category", "failure_category", "attempt_classification", "error_category"),
    "executor": ("executor",),
    "model": ("model",),
    "pack": ("pack_id",),
    "since": ("recorded_at", "started_at", "created_at", "detected_at"),
    "until": ("recorded_at", "started_at", "created_at", "detected_at"),
}
"""Where the values are found that a filter may be given."""


def values_of(name: str, rows: Rows) -> list[str]:
    """Return up to three values that the rows of a kind have for a filter, spread over what there is, and odd ones."""
    found = sorted({str(row[c]) for row in rows for c in COLUMNS_OF_FILTERS[name] if row.get(c) is not None})
    odd = ["2026-03-01", "36500d", "2100-01-01"] if name in ("since", "until") else ["nowhere", "", "ünï' OR 1=1 --"]
    return [*dict.fromkeys((*found[:1], *found[len(found) // 2 :][:1], *found[-1:])), *odd]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in KINDS.items() for name in names])
def test_a_filter_narrows_as_in_the_index(
    kind: str, name: str, dataset: Path, roots: dict[str, Path], indexes: dict[str, Rows]
) -> None:
    """Every filter of every kind lets through the same rows, for values that there are and for others."""
    narrowed = []
    for value in values_of(name, [*indexes[kind], *(indexes["runs"] if name in ("since", "until") else [])]):
        filters = Filters(**{name: value})
        expected = [
            {"host": h, **row} for h, root in roots.items() for row in query(root, kind, filters, limit=10_000).rows
        ]

        report = query_fleet(str(dataset), kind, filters, limit=10_000)

        assert cells(kind, expected) == cells(kind, report.rows), value
        narrowed.append(len(expected))
    assert any(narrowed), "no value that lets a row through was tried"
    assert any(count < len(indexes[kind]) for count in narrowed)


TIES_OF_THE_INDEX = ("errors", "notices", "attempts")
"""Kinds whose ties the index breaks by what never leaves it."""


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in TIES_OF_THE_INDEX])
def test_one_host_answers_in_the_order_of_its_index(kind: str, roots: dict[str, Path], tmp_path: Path) -> None:
    """Newest first, ties likewise, so that a limit cuts at the same row."""
    export_all({"0123": roots["0123"]}, tmp_path)

    expected = query(roots["0123"], kind).rows
    report = query_fleet(str(tmp_path), kind)

    for name in (
        c for c in ("session_id", "workflow_id", "node_id", "repair_id", "source_sequence") if c in report.columns
    ):
        assert [row[name] for row in expected] == [row[name] for row in report.rows]


def test_the_hosts_have_what_makes_a_comparison_hard(indexes: dict[str, Rows]) -> None:
    """Money in several currencies, attempts of either verdict, runs in error or superseded, and awkward text."""
    assert [3, 3] == [sum(row["acceptance_eligible"] == n for row in indexes["runs"]) for n in (0, 1)]
    assert {"USD", "EUR", None} == {row["currency"] for row in indexes["metrics"]}
    assert {"current", "error"} == {row["index_state"] for row in indexes["runs"]}
    assert {0, 1} == {row["superseded"] for row in indexes["runs"]} == {row["superseded"] for row in indexes["metrics"]}
    assert any('"' in row["summary"] and "\n" in row["summary"] for row in indexes["incidents"])
    assert {"broken", "linked"} == {row["session_id"] for row in indexes["runs"] if row["index_state"] == "error"}


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8, 13])
@pytest.mark.parametrize("kind", ["events", "runs", "incidents", "health", "metrics", "repairs", "workflow-nodes"])
def test_a_limit_cuts_where_the_index_cuts(kind: str, limit: int, dataset: Path, tmp_path: Path) -> None:
    """Newest days are read first, and rows without a time come last, whatever day they lie on."""
    whole = query_fleet(str(dataset), kind, limit=MAXIMUM_LIMIT).rows

    assert whole[:limit] == query_fleet(str(dataset), kind, limit=limit).rows
    times = [row.get("recorded_at", row.get("run_at", row.get("created_at"))) for row in whole]
    if kind in ("events", "incidents", "health", "metrics", "repairs"):
        timed = [str(time) for time in times if time is not None]
        assert sorted(timed, reverse=True, key=lambda time: str(moment(time))) == timed
        assert [None] * (len(times) - len(timed)) == times[len(timed) :]
