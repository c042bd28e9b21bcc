"""A session that is stored as ended and goes on is shown at work, for as long as its events come."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace, at

SESSION = "aaaa0001"


def ago(seconds: float) -> str:
    """Return a time so many seconds before this moment."""
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def shown(client: TestClient) -> dict[str, Any]:
    """Read the session as the list has it."""
    row: dict[str, Any] = client.get("/api/sessions").json()[0]
    return row


@pytest.mark.parametrize("ended", [600, None], ids=["ended before", "never ended"])
@pytest.mark.parametrize("stored", ["fail", "success"])
def test_a_session_with_a_new_event_is_at_work_again(
    stored: str, ended: float | None, trace: Trace, client: TestClient
) -> None:
    """The list, the session, the facets and the filter agree, and nothing says that it failed."""
    trace.session(SESSION, stored, started_at=ago(900), ended_at=None if ended is None else ago(ended))
    trace.phase(SESSION, 1, "build", status="fail", error="exit 1")
    trace.event(SESSION, started_at=ago(1))

    row = shown(client)

    assert ("working", stored, None) == (row["shown_status"], row["status"], row["failure"])
    assert f"stored as {stored}, but events have come" in row["shown_because"]
    assert "working" == client.get(f"/api/sessions/{SESSION}").json()["session"]["shown_status"]
    assert {"working": 1} == client.get("/api/facets").json()["statuses"]
    assert [SESSION] == [one["adw_id"] for one in client.get("/api/sessions?status=working").json()]
    assert [] == client.get(f"/api/sessions?status={stored}").json()


def test_it_cannot_be_archived_while_it_is_at_work(trace: Trace, client: TestClient) -> None:
    """As little as any other session that runs."""
    trace.session(SESSION, "fail", started_at=ago(900), ended_at=ago(600))
    trace.event(SESSION, started_at=ago(1))

    reply = client.post(f"/api/sessions/{SESSION}/archive", json={"archived": True})

    assert 409 == reply.status_code
    assert "stored as fail" in reply.json()["error"]


@pytest.mark.parametrize("event", [at(3), at(10.5)], ids=["long ago", "with its end"])
def test_a_session_that_ended_stays_ended(event: str, trace: Trace, client: TestClient) -> None:
    """Old events, and what a writer adds together with the end, wake nobody up."""
    trace.session(SESSION, "fail")
    trace.event(SESSION, started_at=event)

    assert "fail" == shown(client)["shown_status"]


def test_an_event_within_a_second_of_the_end_belongs_to_it(trace: Trace, client: TestClient) -> None:
    """The session ended a moment ago; its last record came just behind."""
    trace.session(SESSION, "fail", started_at=ago(60), ended_at=ago(1.5))
    trace.event(SESSION, started_at=ago(1))

    assert "fail" == shown(client)["shown_status"]


def test_one_of_many_is_found_behind_the_events_of_a_busy_one(trace: Trace, client: TestClient) -> None:
    """Running sessions are judged by their processes alone, and tables without these columns by nothing."""
    trace.session("bbbb0002", "running", started_at=ago(500))
    trace.session(SESSION, "fail", started_at=ago(400), ended_at=ago(300))
    trace.event(SESSION, started_at=ago(2))
    for _ in range(50):
        trace.event("bbbb0002", started_at=ago(1))

    words = {row["adw_id"]: row["shown_status"] for row in client.get("/api/sessions").json()}

    assert {SESSION: "working", "bbbb0002": "working"} == words


@pytest.mark.parametrize("cell", ["x'ff00'", "7", "'yesterday'", "''", "NULL"])
@pytest.mark.parametrize("column", ["events.started_at", "sessions.ended_at", "sessions.status"])
def test_any_cell_of_another_writer_is_survived(column: str, cell: str, trace: Trace, client: TestClient) -> None:
    """What is no time says nothing, and the list is answered."""
    trace.session(SESSION, "fail", started_at=ago(900), ended_at=ago(600))
    trace.event(SESSION, started_at=ago(1))
    table, name = column.split(".")
    trace.connection.execute(f"UPDATE {table} SET {name} = {cell}")

    assert 200 == client.get("/api/sessions").status_code
    assert 200 == client.get("/api/facets").status_code
