"""The short way of a plain poll answers exactly as the documented route does, or leaves it to that."""

import sqlite3
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace

from agent_workflow.trace_schema import migrate
from agent_workflow.visualizer import _short_way
from agent_workflow.visualizer._event_pages import event_page_at_once

pytestmark = pytest.mark.slow

ADDRESS = "/api/sessions/aaaa0001/events"
PLAIN = {"after": "0", "generation": "", "anchor": ""}


@pytest.fixture
def ours(trace: Trace) -> Trace:
    """Give the trace the tables and the indexes that our tracer makes."""
    migrate(trace.connection)
    trace.session("aaaa0001")
    return trace


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note which requests were answered by the short way at once."""
    noted: list[str] = []

    def noting(database: Any, asked: Any) -> Any:
        answer = event_page_at_once(database, asked)
        noted.append(asked.adw_id)
        return answer

    monkeypatch.setattr(_short_way, "event_page_at_once", noting)
    return noted


def both(client: TestClient, **place: Any) -> tuple[Any, Any]:
    """Ask over the short way (twice, the first opens its connection) and over the documented route."""
    client.get(ADDRESS, params=place)
    short = client.get(ADDRESS, params=place)
    documented = client.get(ADDRESS, params={**place, "q": ""})
    return short, documented


TEXTS = ["plain", '{"ok": true}', "\x00\x01\x1f\x7f", '"\\/\b', "\u2028\u202e\U0001f600", "ÿ" * 4000, ""]


def test_any_text_is_written_alike(ours: Trace, client: TestClient, taken: list[str]) -> None:
    """Quotes, control and bidi characters, other planes: both ways write the same JSON."""
    for text in TEXTS:
        payload = "" if "\x00" in text or len(text) > 1000 else text  # those are left to the documented route
        ours.event("aaaa0001", text, payload=payload, name=text, phase_id=text, tokens=len(text))

    short, documented = both(client)

    assert taken
    assert documented.json() == short.json()
    assert documented.headers["etag"] == short.headers["etag"]


@pytest.mark.parametrize(
    "cell", ["x'ff00fe'", "9e999", "-9e999", "1.5", "NULL", "CAST(x'c328' AS TEXT)", "9007199254740993", "'12'"]
)
@pytest.mark.parametrize("column", ["tokens", "name", "payload_json"])
def test_any_cell_is_written_alike(cell: str, column: str, ours: Trace, client: TestClient) -> None:
    """Bytes, infinity, broken text: what the short way cannot write it leaves to the other."""
    ours.events("aaaa0001", 3)
    ours.connection.execute(f"UPDATE events SET {column} = {cell} WHERE rowid = 2")

    short, documented = both(client)

    assert 200 == short.status_code
    assert documented.json() == short.json()


def test_large_payloads_are_left_to_the_documented_route(ours: Trace, client: TestClient, taken: list[str]) -> None:
    """They must be cut."""
    ours.event("aaaa0001", payload={"text": "x" * 10_000})

    short, documented = both(client)

    assert [] == taken
    assert documented.json() == short.json()
    assert short.json()["events"][0]["payload_cut"]


def test_many_events_are_left_to_a_thread(ours: Trace, client: TestClient, taken: list[str]) -> None:
    """The loop is for what is quick."""
    ours.events("aaaa0001", 200)

    short, documented = both(client)

    assert [] == taken
    assert documented.json() == short.json()


@pytest.mark.parametrize("limit", [1, 3, 5, 0, 1000, 5000])
def test_limits_are_alike(limit: int, ours: Trace, client: TestClient) -> None:
    """Clamped to 1 to 1,000 on both ways."""
    ours.events("aaaa0001", 5)

    short, documented = both(client, limit=limit)

    assert documented.json() == short.json()


def test_a_poll_sees_what_was_written_a_moment_ago(ours: Trace, client: TestClient, taken: list[str]) -> None:
    """An answer that was kept is void with the next commit."""
    ours.events("aaaa0001", 3)
    first = client.get(ADDRESS).json()
    place = {"after": first["cursor"], "generation": first["generation"], "anchor": first["anchor"]}
    for _ in range(3):
        assert [] == client.get(ADDRESS, params=place).json()["events"]

    fresh = ours.event("aaaa0001")

    assert [fresh] == [event["event_id"] for event in client.get(ADDRESS, params=place).json()["events"]]
    assert len(taken) >= 3


def test_a_locked_database_does_not_hold_the_loop(ours: Trace, client: TestClient) -> None:
    """The short way never waits; the thread does, and says 503 in the end."""
    ours.events("aaaa0001", 3)
    ours.connection.execute("PRAGMA journal_mode = DELETE").fetchone()
    both(client)
    holder = sqlite3.connect(ours.path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")

    reply = client.get(ADDRESS)
    holder.execute("COMMIT")
    holder.close()

    assert (503, "locked") == (reply.status_code, reply.json()["problem"])
    assert 200 == client.get(ADDRESS).status_code


@pytest.mark.parametrize(
    "query",
    [
        "after=x",
        "after=-1",
        "limit=abc",
        "after=1&limit=abc",
        "limit=abc&limit=",
        "after=99999999999999999999",
        "after",
    ],
)
def test_mistakes_are_left_to_the_documented_route(
    query: str, ours: Trace, client: TestClient, taken: list[str]
) -> None:
    """It says what is wrong."""
    both(client)
    taken.clear()

    reply = client.get(f"{ADDRESS}?{query}")

    assert [] == taken
    assert ("malformed", 400) == (reply.json()["problem"], reply.status_code)


@pytest.mark.parametrize("query", ["anchor=evt%5F1", "anchor=a+b", "after=1&&limit=2", "after=1&q=text", "newest=true"])
def test_what_is_not_plain_is_left_to_the_documented_route(
    query: str, ours: Trace, client: TestClient, taken: list[str]
) -> None:
    """Encoded, oddly joined, narrowed: only that route reads it."""
    ours.events("aaaa0001", 3)
    both(client)
    taken.clear()

    reply = client.get(f"{ADDRESS}?{query}")

    assert [] == taken
    assert 200 == reply.status_code


@pytest.mark.parametrize(
    "query", ["limit=2&after=1", "after=1&limit=5&limit=2", "generation=&after=1&anchor=&limit=2", "limit=2&"]
)
def test_plain_parameters_may_come_in_any_order(query: str, ours: Trace, client: TestClient, taken: list[str]) -> None:
    """Of one that comes twice both ways take the last."""
    ours.events("aaaa0001", 4)
    both(client)
    taken.clear()

    short = client.get(f"{ADDRESS}?{query}")
    documented = client.get(f"{ADDRESS}?{query.removesuffix('&')}&q=")

    assert 1 == len(taken)
    assert documented.json() == short.json()


def test_several_databases_are_polled_by_their_names(ours: Trace, tmp_path: Any, serve: Any) -> None:
    """Scoped addresses go the same way; an unknown project is 404, a missing database 503."""
    ours.events("aaaa0001", 2)
    client: TestClient = serve(ours.path, tmp_path / "gone" / "sssf.db")

    assert 2 == len(client.get(f"/api/projects/shop{ADDRESS[4:]}").json()["events"])
    assert 404 == client.get(f"/api/projects/none{ADDRESS[4:]}").status_code
    assert 503 == client.get(f"/api/projects/gone{ADDRESS[4:]}").status_code
    assert 404 == client.get(ADDRESS).status_code
