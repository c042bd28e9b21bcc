"""Incidents and permissions are journals of states: what is open and pending now."""

from collections.abc import Mapping
from typing import Any

import pytest
from sample_records import incident, permission
from sample_state import StateRoot

from agent_workflow.index_store import Filters, open_index, query, sync

# Incidents and permissions are journals of states.


def overview(state: StateRoot, session_id: str = "run") -> Mapping[str, Any]:
    """Sync, and return a run's row."""
    sync(state.path)
    (row,) = query(state.path, "runs", Filters(session=session_id)).rows
    return row


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


def waiting(state: StateRoot, limit: int = 100) -> tuple[list[str], list[str]]:
    """Sync, and return what is open and what is pending, run and subject."""
    sync(state.path)
    with open_index(state.path) as index:
        incidents, permissions = index.open_incidents(limit), index.pending_permissions(limit)
    assert query(state.path, "incidents").columns == incidents.columns
    assert query(state.path, "permissions").columns == permissions.columns
    return (
        [f"{row['session_id']} {str(row['incident_id'])[-1]}" for row in incidents.rows],
        [f"{row['session_id']} {row['target']}" for row in permissions.rows],
    )


def test_what_is_open_and_pending_is_what_the_overview_counts(state: StateRoot) -> None:
    """Newest first over all runs; the order of the journal decides, though the clock was stepped back."""
    early, late = "2026-03-01T08:00:00+00:00", "2026-03-01T09:00:00+00:00"
    one = state.run("one")
    one.journal("incidents.jsonl", [incident(1, recorded_at=late), incident(1, state="resolved", recorded_at=early)])
    one.journal("incidents.jsonl", [incident(2, recorded_at=early)])
    one.journal("permission-events.jsonl", [permission(1, target="a", recorded_at=early)])
    two = state.run("two")
    two.journal("incidents.jsonl", [incident(1, state="resolved", recorded_at=late), incident(1, recorded_at=late)])
    two.journal("permission-events.jsonl", [permission(1, target="a"), permission(2, target="a", state="cleared")])
    two.journal("permission-events.jsonl", [permission(3, target="b", recorded_at=late)])

    assert (["two 1", "one 2"], ["two b", "one a"]) == waiting(state)
    assert (["two 1"], ["two b"]) == waiting(state, limit=1)
    assert (1, 1) == (overview(state, "one")["open_incident_count"], overview(state, "two")["pending_permission_count"])


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
