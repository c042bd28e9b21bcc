"""Every question with every filter it has, and the truth of the line above the answer."""

import os
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sample_state import (
    MOMENT,
    RunFiles,
    StateRoot,
    health,
    incident,
    launch_contract,
    lifecycle,
    metrics,
    node_standing,
    permission,
    process_result,
    provenance,
    remediation,
    session_status,
    stage,
    workflow_snapshot,
    workflow_status,
    write_repair,
)

from agent_workflow.index_store import (
    KINDS,
    Filters,
    InvalidQuestion,
    QueryReport,
    query,
    rebuild,
    status,
    sync,
    verify,
)
from agent_workflow.index_store.queries import FILTERS, parse_moment

# The same day, in the order of time: alpha, gamma, beta. In the order of their text, alpha would be the newest.
ALPHA, GAMMA, BETA = "2026-03-01T10:00:00+02:00", "2026-03-01T08:30:00.500Z", "2026-03-01T09:00:00+00:00"
LONG_AGO = "2026-02-01T00:00:00+00:00"


def write_run(state: StateRoot, name: str, at: str, *, executor: str, model: str, pack: str) -> RunFiles:
    """Make a run with the documents that filters look at."""
    run = state.run(name, created_at=at)
    contract = launch_contract(name, executor=executor, model=model, pack=pack, created_at=at)
    run.document("launch-contract.json", contract)
    run.document("run-provenance.json", provenance(name, started_at=at))
    run.document("execution-metrics.json", metrics(name, stage()))
    return run


def write_alpha(state: StateRoot) -> None:
    """Make the oldest run of the day: codex, large, with an open incident and a pending permission."""
    run = write_run(state, "alpha", ALPHA, executor="codex", model="large", pack="night")
    run.document("status.json", session_status("alpha", status="completed", created_at=ALPHA))
    run.document("process-result.json", process_result(error_category="none", recorded_at=ALPHA))
    run.document(
        "scores/score-set.json",
        {"schema": "agent-workflow/score-set/v1", "scores": [], "verdict": "pass"} | {"final_receipt_sha256": "a" * 64},
    )
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            "flow-a", {"node_id": "build", "dependencies": [], "executor": "codex", "model": "large"}, pack="night"
        ),
    )
    run.document(
        "workflow-status.json", workflow_status("flow-a", "running", node_standing("build", "running", run_id="gamma"))
    )
    run.journal("incidents.jsonl", [incident(1, category="stalled", recorded_at=ALPHA)])
    run.journal("permission-events.jsonl", [permission(1, recorded_at=ALPHA)])
    run.journal("remediations.jsonl", [remediation(1, incident_id=f"{1:024x}", recorded_at=ALPHA)])
    run.journal("run-health-samples.jsonl", [health(recorded_at=ALPHA, executor_state="S")])
    run.journal("newer.jsonl", [{"schema": "agent-workflow/something-new/v9"}])


def write_beta(state: StateRoot) -> None:
    """Make the newest run: claude, small, failed, with everything settled."""
    run = write_run(state, "beta", BETA, executor="claude", model="small", pack="day")
    run.document("status.json", session_status("beta", status="failed", created_at=BETA, failure_category="timeout"))
    run.document("process-result.json", process_result(error_category="timeout", recorded_at=BETA))
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            "flow-b",
            {"node_id": "test", "dependencies": ["lint"], "executor": "claude", "model": "small"},
            {"node_id": "lint", "dependencies": []},
            pack="day",
        ),
    )
    run.document(
        "workflow-status.json",
        workflow_status("flow-b", "completed", node_standing("test", "completed"), node_standing("lint", "failed")),
    )
    run.journal("incidents.jsonl", [incident(2, category="crashed", state="resolved", recorded_at=BETA)])
    run.journal("permission-events.jsonl", [permission(2, state="denied", recorded_at=BETA)])
    run.journal("remediations.jsonl", [remediation(2, incident_id=f"{2:024x}", recorded_at=BETA)])
    run.journal("run-health-samples.jsonl", [health(recorded_at=BETA, executor_state="Z")])
    run.journal("events.jsonl", [lifecycle(1, new="failed", timestamp=BETA)])


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the state root that the questions with filters are put to; nobody changes it."""
    state = StateRoot(tmp_path_factory.mktemp("host") / "state")
    write_alpha(state)
    write_beta(state)
    state.run("gamma", archived=True, created_at=GAMMA)
    sealed = state.run("sealed", archived=True)
    sealed.seal(started_at=LONG_AGO)
    write_repair(state, sealed, "repair-1", created_at=ALPHA)
    write_repair(state, sealed, "repair-2", created_at=BETA)
    state.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    (state.run("linked").path / "link.json").symlink_to("status.json")
    (state.path / "runs" / "no run!").touch()
    rebuild(state.path)
    return state.path


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


# Times.


def test_runs_are_newest_first_whatever_their_offset(host: Path) -> None:
    """By the moment, not by its text; runs without a time come last."""
    sessions = [row["session_id"] for row in query(host, "runs").rows]

    assert ["beta", "gamma", "alpha", "sealed", "broken", "linked"] == sessions


@pytest.mark.parametrize(
    "kind", ["incidents", "permissions", "health", "remediations", "metrics", "processes", "workflows"]
)
def test_rows_are_newest_first_whatever_their_offset(host: Path, kind: str) -> None:
    """The row of beta is an hour younger than that of alpha, though its text is less."""
    rows = query(host, kind).rows
    owners = [str(row.get("session_id") or row["owner_run_id"]) for row in rows]

    assert ["beta", "alpha"] == [owner for owner in owners if owner in ("alpha", "beta")]


def test_repairs_are_newest_first_whatever_their_offset(host: Path) -> None:
    """By the moment they were made."""
    assert ["repair-2", "repair-1"] == [row["repair_id"] for row in query(host, "repairs").rows]


@pytest.mark.parametrize(
    "moment",
    [
        "2026-03-01T08:30:00.5Z",
        "2026-03-01T08:30:00.500000+00:00",
        "2026-03-01T10:30:00.5+02:00",
        "2026-03-01T03:30:00.5-05:00",
        "2026-03-01 08:30:00.5",
        "20260301T083000.5Z",
    ],
)
def test_a_moment_is_one_moment_in_any_notation(host: Path, moment: str) -> None:
    """Rows of that very moment pass both bounds; a time without an offset is UTC."""
    rows = query(host, "runs", Filters(since=moment, until=moment)).rows

    assert ["gamma"] == [row["session_id"] for row in rows]


@pytest.mark.parametrize(
    ("since", "until", "expected"),
    [
        ("2026-03-01T08:30:00.501Z", None, ["beta"]),
        (None, "2026-03-01T08:30:00.499Z", ["alpha", "sealed"]),
        ("2026-03-01", "2026-03-01", ["beta", "gamma", "alpha"]),
        ("2026-03-02", None, []),
        (None, "2026-02-01", ["sealed"]),
        (None, "2026-01-31", []),
        ("0001-01-01", "9999-12-31", ["beta", "gamma", "alpha", "sealed"]),
        ("1s", None, []),
        (None, "1s", ["beta", "gamma", "alpha", "sealed"]),
    ],
)
def test_bounds_of_time_hold_to_the_millisecond(
    host: Path, since: str | None, until: str | None, expected: list[str]
) -> None:
    """A date alone means its whole day; what has no time is in no span of it."""
    rows = query(host, "runs", Filters(since=since, until=until)).rows

    assert expected == [row["session_id"] for row in rows]


@pytest.mark.parametrize(
    ("age", "expected"),
    [
        ("30s", "2026-03-01T07:59:30Z"),
        ("90m", "2026-03-01T06:30:00Z"),
        ("24h", "2026-02-28T08:00:00Z"),
        ("7d", "2026-02-22T08:00:00Z"),
        ("2w", "2026-02-15T08:00:00Z"),
        ("0s", "2026-03-01T08:00:00Z"),
    ],
)
def test_an_age_counts_back_from_now(age: str, expected: str) -> None:
    """In seconds, minutes, hours, days or weeks."""
    now = datetime.fromisoformat(MOMENT)

    assert datetime.fromisoformat(expected).timestamp() == parse_moment(age, "since", now)


def test_an_age_counts_back_from_the_present(tmp_path: Path) -> None:
    """A run of ten minutes ago is younger than an hour and older than a minute."""
    state = StateRoot(tmp_path / "state")
    ten_minutes_ago = datetime.fromtimestamp(datetime.now(UTC).timestamp() - 600, UTC).isoformat()
    state.run("recent", created_at=ten_minutes_ago)
    sync(state.path)

    assert query(state.path, "runs", Filters(since="1h", until="1m")).rows
    assert () == query(state.path, "runs", Filters(since="1m")).rows
    assert () == query(state.path, "runs", Filters(until="1h")).rows


@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    "text", ["yesterday", "", "1y", "-1h", "1.5h", "h", "2026-13-01", "2026-03-01T25:00", "now'--", "999999w"]
)
def test_what_is_no_time_is_refused(host: Path, name: str, text: str) -> None:
    """By the name of the filter, with an example of each notation."""
    with pytest.raises(InvalidQuestion, match=f"--{name}") as refusal:
        query(host, "runs", Filters(**{name: text}))

    assert "24h" in str(refusal.value.hint)


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


# Incidents and permissions are journals of states.


def overview(state: StateRoot, session_id: str = "run") -> Mapping[str, Any]:
    """Sync, and return a run's row."""
    sync(state.path)
    (row,) = query(state.path, "runs", Filters(session=session_id)).rows
    return row


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an empty state root."""
    return StateRoot(tmp_path / "state")


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["open"], 1),
        (["open", "resolved"], 0),
        (["open", "resolved", "open"], 1),
        (["resolved"], 0),
        (["open", "open"], 1),
    ],
)
def test_an_incident_is_open_while_its_latest_event_is(state: StateRoot, states: list[str], expected: int) -> None:
    """However often it was opened and resolved before."""
    state.run("run").journal("incidents.jsonl", [incident(1, state=word) for word in states])

    assert expected == overview(state)["open_incident_count"]


def test_the_order_of_the_journal_counts_not_the_clock(state: StateRoot) -> None:
    """A clock that was stepped back does not reopen what was resolved afterwards."""
    records = [
        incident(1, state="open", recorded_at="2026-03-01T09:00:00Z"),
        incident(1, state="resolved", recorded_at="2026-03-01T08:00:00Z"),
        permission_at(1, "pending", "2026-03-01T09:00:00Z"),
        permission_at(1, "cleared", "2026-03-01T08:00:00Z"),
    ]
    run = state.run("run")
    run.journal("incidents.jsonl", records[:2])
    run.journal("permission-events.jsonl", records[2:])

    row = overview(state)

    assert 0 == row["open_incident_count"]
    assert 0 == row["pending_permission_count"]


def permission_at(number: int, word: str, at: str) -> dict[str, Any]:
    """Return a permission's state at a moment."""
    return permission(number, state=word, recorded_at=at)


def test_incidents_are_counted_apart(state: StateRoot) -> None:
    """Two that are open are two, whatever became of a third."""
    run = state.run("run")
    run.journal("incidents.jsonl", [incident(1), incident(2), incident(3), incident(3, state="resolved")])

    assert 2 == overview(state)["open_incident_count"]


def test_runs_do_not_share_incidents(state: StateRoot) -> None:
    """The same incident id in another run is another incident."""
    state.run("run").journal("incidents.jsonl", [incident(1)])
    state.run("other").journal("incidents.jsonl", [incident(1), incident(1, state="resolved")])

    assert 1 == overview(state)["open_incident_count"]
    assert 0 == overview(state, "other")["open_incident_count"]


def test_the_last_open_incident_is_the_latest_that_is_still_open(state: StateRoot) -> None:
    """A resolved one does not count, though it was seen later."""
    run = state.run("run")
    later = incident(2, recorded_at="2026-03-01T10:00:00Z")
    run.journal(
        "incidents.jsonl", [incident(1, recorded_at="2026-03-01T09:00:00Z"), later, later | {"state": "resolved"}]
    )

    assert "2026-03-01T09:00:00Z" == overview(state)["last_open_incident_at"]


@pytest.mark.parametrize(
    ("states", "expected"),
    [(["pending"], 1), (["pending", "cleared"], 0), (["pending", "denied"], 0), (["cleared", "pending"], 1)],
)
def test_a_permission_is_pending_while_its_latest_event_is(state: StateRoot, states: list[str], expected: int) -> None:
    """Each event has an id of its own; what is asked for makes it one permission."""
    events = [permission(number, state=word) for number, word in enumerate(states)]
    state.run("run").journal("permission-events.jsonl", events)

    assert expected == overview(state)["pending_permission_count"]


def test_permissions_for_different_targets_are_counted_apart(state: StateRoot) -> None:
    """Granting one leaves the other pending."""
    events = [permission(1, target="rm"), permission(2, target="curl"), permission(3, target="rm", state="cleared")]
    state.run("run").journal("permission-events.jsonl", events)

    assert 1 == overview(state)["pending_permission_count"]


def test_a_run_without_journals_has_no_incidents_and_no_health(state: StateRoot) -> None:
    """None counted is zero; never seen is unknown."""
    state.run("run")

    row = overview(state)

    assert (0, 0) == (row["open_incident_count"], row["pending_permission_count"])
    assert (None, None) == (row["last_open_incident_at"], row["last_health_at"])


# Money and time: unknown is not zero.


def performance(state: StateRoot, *stages: dict[str, Any]) -> Mapping[str, Any]:
    """Give each stage a run of its own, and return the one row that sums them up."""
    for number, one in enumerate(stages):
        state.run(f"run-{number}").document("execution-metrics.json", metrics(f"run-{number}", one))
    sync(state.path)
    (row,) = query(state.path, "performance").rows
    return row


def test_one_currency_has_an_average(state: StateRoot) -> None:
    """Over the samples that have an amount, and no others."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, currency="USD"),
        stage(provider_billed_cost=2.0, currency="USD"),
        stage(currency="USD"),
    )

    assert 3 == row["sample_count"]
    assert (2, 1.5, "USD") == billed(row)


def billed(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what a row says of billed money."""
    return row["provider_billed_sample_count"], row["avg_provider_billed_cost"], row["provider_billed_currency"]


def estimated(row: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return what a row says of estimated money."""
    return row["local_estimated_sample_count"], row["avg_local_estimated_cost"], row["local_estimated_currency"]


def test_mixed_currencies_have_neither_currency_nor_average(state: StateRoot) -> None:
    """Their sum would mean nothing."""
    row = performance(
        state, stage(provider_billed_cost=1.0, currency="USD"), stage(provider_billed_cost=2.0, currency="EUR")
    )

    assert (2, None, None) == billed(row)


def test_a_sample_without_currency_leaves_no_average(state: StateRoot) -> None:
    """It could be of any."""
    row = performance(state, stage(provider_billed_cost=1.0, currency="USD"), stage(provider_billed_cost=2.0))

    assert (2, None, None) == billed(row)


def test_no_sample_is_no_average(state: StateRoot) -> None:
    """And not zero; nor does the currency of what was not measured count."""
    row = performance(state, stage(currency="USD"))

    assert (0, None, None) == billed(row)
    assert (0, None, None) == estimated(row)


def test_a_cost_of_zero_is_a_cost(state: StateRoot) -> None:
    """Free is known, and counts in the average."""
    row = performance(
        state, stage(provider_billed_cost=0, currency="USD"), stage(provider_billed_cost=3.0, currency="USD")
    )

    assert (2, 1.5, "USD") == billed(row)


def test_billed_and_estimated_money_stay_apart(state: StateRoot) -> None:
    """Each has its own samples, average and currency."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, currency="USD"),
        stage(local_estimated_cost=9.0, currency="EUR"),
        stage(local_estimated_cost=11.0, currency="EUR"),
    )

    assert (1, 1.0, "USD") == billed(row)
    assert (2, 10.0, "EUR") == estimated(row)


def test_a_mixture_of_one_kind_of_money_does_not_spoil_the_other(state: StateRoot) -> None:
    """Estimates in two currencies, bills in one."""
    row = performance(
        state,
        stage(provider_billed_cost=1.0, local_estimated_cost=1.0, currency="USD"),
        stage(local_estimated_cost=2.0, currency="EUR"),
    )

    assert (1, 1.0, "USD") == billed(row)
    assert (2, None, None) == estimated(row)


def test_averages_leave_out_what_is_unknown(state: StateRoot) -> None:
    """An average of 10 and unknown is 10; of nothing but unknown it is unknown."""
    row = performance(state, stage(input_tokens=10, elapsed_seconds=4.0), stage(elapsed_seconds=2.0))

    assert (10.0, 3.0) == (row["avg_input_tokens"], row["avg_elapsed_seconds"])
    assert (None, None) == (row["avg_output_tokens"], row["avg_first_output_latency_seconds"])


def test_an_unknown_metric_stays_unknown(state: StateRoot) -> None:
    """No price, no tokens, no latency: none of them is zero."""
    performance(state, stage())

    (row,) = query(state.path, "metrics").rows

    unknown = ("input_tokens", "output_tokens", "provider_billed_cost", "local_estimated_cost", "currency")
    assert dict.fromkeys(unknown) == {name: row[name] for name in unknown}


def test_stages_executors_and_models_are_groups_of_their_own(state: StateRoot) -> None:
    """A run of two stages gives two rows, and another model a third."""
    for name, model in (("one", "large"), ("two", "large"), ("three", "small")):
        run = state.run(name)
        run.document("launch-contract.json", launch_contract(name, executor="codex", model=model))
        run.document("execution-metrics.json", metrics(name, stage("total"), stage("verification")))
    sync(state.path)

    groups = {(row["model"], row["stage"]): row["sample_count"] for row in query(state.path, "performance").rows}

    assert {
        ("large", "total"): 2,
        ("large", "verification"): 2,
        ("small", "total"): 1,
        ("small", "verification"): 1,
    } == groups


def test_attempts_are_summed_up_by_their_outcome(state: StateRoot) -> None:
    """Runs in error are no attempts; eligible ones are counted among the others."""
    state.run("one", executor_result="completed", acceptance_eligible=True)
    state.run("two", executor_result="completed", acceptance_eligible=False)
    state.run("three", executor_result="failed")
    state.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(state.path)

    rows = query(state.path, "attempts").rows

    assert [("completed", 2, 1), ("failed", 1, 0)] == [
        (row["executor_result"], row["run_count"], row["acceptance_eligible_count"]) for row in rows
    ]


# The line above the answer.


def freshness(state: StateRoot) -> tuple[str, int, int, int]:
    """Return the word, and how many runs are current, stale and in error, as query and status say alike."""
    asked, known = query(state.path, "runs").freshness, status(state.path).freshness
    assert asked == known
    return asked.word, asked.current_runs, asked.stale_runs, asked.error_runs


@pytest.fixture
def indexed(state: StateRoot) -> StateRoot:
    """Give an index of an active run, an archived one and a sealed one."""
    state.run("active").journal("events.jsonl", [lifecycle(1)])
    state.run("archived", archived=True)
    state.run("sealed").seal()
    sync(state.path)
    return state


def test_an_index_is_missing_until_it_is_made(state: StateRoot) -> None:
    """The runs that it would have are counted all the same."""
    state.run("run")

    report = status(state.path)

    assert ("missing", 1, 0, 1) == (
        report.freshness.word,
        report.freshness.source_runs,
        report.freshness.current_runs,
        report.freshness.stale_runs,
    )
    assert not report.exists


def test_a_state_root_that_is_not_there_is_missing(tmp_path: Path) -> None:
    """And is not made by asking."""
    report = status(tmp_path / "nowhere")

    assert ("missing", 0) == (report.freshness.word, report.freshness.source_runs)
    assert not (tmp_path / "nowhere").exists()


def test_an_unchanged_host_is_current(indexed: StateRoot) -> None:
    """Every run counts."""
    assert ("current", 3, 0, 0) == freshness(indexed)


def test_a_changed_run_is_stale(indexed: StateRoot) -> None:
    """One that grew by a record."""
    RunFiles(indexed.path / "runs" / "active").journal("events.jsonl", [lifecycle(2)])

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_new_run_is_stale(indexed: StateRoot) -> None:
    """It has no rows yet."""
    indexed.run("new")

    assert ("stale", 3, 1, 0) == freshness(indexed)


def test_a_removed_run_is_stale(indexed: StateRoot) -> None:
    """Its rows are there still."""
    indexed.remove("active")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_run_that_was_archived_is_stale(indexed: StateRoot) -> None:
    """It is somewhere else than its rows say."""
    (indexed.path / "runs" / "active").rename(indexed.path / "archive" / "active")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_touched_artifact_of_a_sealed_run_is_stale(indexed: StateRoot) -> None:
    """It is no source, but its receipt speaks of it."""
    os.utime(indexed.path / "runs" / "sealed" / "output.log")

    assert ("stale", 2, 1, 0) == freshness(indexed)


def test_a_log_of_an_unsealed_run_may_grow(indexed: StateRoot) -> None:
    """Nothing of it is in the index."""
    (indexed.path / "runs" / "active" / "output.log").write_text("more and more\n")

    assert ("current", 3, 0, 0) == freshness(indexed)


def test_a_run_in_error_makes_the_index_incomplete(indexed: StateRoot) -> None:
    """It is neither current nor stale."""
    indexed.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(indexed.path)

    assert ("incomplete", 3, 0, 1) == freshness(indexed)


def test_a_mended_run_is_current_after_the_next_sync(indexed: StateRoot) -> None:
    """Between the two it is stale, and still in error as far as the index knows."""
    journal = indexed.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    sync(indexed.path)
    journal.unlink()

    between = freshness(indexed)
    sync(indexed.path)

    assert ("stale", 3, 1, 1) == between
    assert ("current", 4, 0, 0) == freshness(indexed)


def test_an_archive_that_was_left_out_makes_the_index_incomplete(state: StateRoot) -> None:
    """It is not stale: nobody asked for it; and a full sync completes it."""
    state.run("active")
    state.run("archived", archived=True)
    sync(state.path, active_only=True)

    narrow = freshness(state)
    sync(state.path)

    assert ("incomplete", 1, 0, 0) == narrow
    assert ("current", 2, 0, 0) == freshness(state)


def test_a_bad_repair_makes_the_index_incomplete(indexed: StateRoot) -> None:
    """Its error belongs to no run."""
    sealed = RunFiles(indexed.path / "runs" / "sealed")
    repair = write_repair(indexed, sealed, "repair-1")
    (repair.path / "canonical-completion.json").write_text("{}")
    sync(indexed.path)

    assert ("incomplete", 3, 0, 1) == freshness(indexed)


def test_a_run_of_a_retired_format_is_neither_current_nor_an_error(indexed: StateRoot) -> None:
    """It is kept, excluded and counted by itself."""
    indexed.run("historical").document("old.json", {"schema": "agent-workflow/execution-metrics/retired-v1"})
    sync(indexed.path)

    report = query(indexed.path, "runs")

    assert ("current", 3, 0, 0) == freshness(indexed)
    assert 1 == report.freshness.historical_runs
    assert ["historical"] == [row["session_id"] for row in report.rows if row["index_state"] == "error"]


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
