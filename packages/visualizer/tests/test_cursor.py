"""The cursor contract: no event is lost or doubled, whatever happens to the database meanwhile."""

import shutil
import sqlite3
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from trace_playground import BASE, LATER, Trace


class Page:
    """What the page does: it keeps events by the contract in docs/api.md."""

    def __init__(self, client: TestClient, adw_id: str, limit: int = 500) -> None:
        self.client = client
        self.address = f"/api/sessions/{adw_id}/events"
        self.limit = limit
        self.events: list[str] = []
        self.place: dict[str, Any] = {"after": 0}
        self.resets = 0

    def poll(self) -> None:
        """Ask until there is no more."""
        while True:
            reply = self.client.get(self.address, params={**self.place, "limit": self.limit})
            assert 200 == reply.status_code, reply.text
            body = reply.json()
            if body["reset"]:
                self.events.clear()
                self.resets += 1
            self.events += [event["event_id"] for event in body["events"]]
            self.place = {"after": body["cursor"], "generation": body["generation"], "anchor": body["anchor"]}
            if not body["has_more"]:
                return


def test_pages_hold_every_event_once_and_in_order(trace: Trace, client: TestClient) -> None:
    """Reading in small pages gives the events of the session in the order they were written."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 25)
    page = Page(client, "aaaa0001", limit=4)

    page.poll()

    assert written == page.events


def test_a_full_page_that_is_the_last_is_followed_by_an_empty_one(trace: Trace, client: TestClient) -> None:
    """Exactly as many events as fit: has_more is a promise to ask again, not of more events."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 8)
    page = Page(client, "aaaa0001", limit=4)

    page.poll()

    assert written == page.events


def test_events_of_another_session_do_not_get_in(trace: Trace, client: TestClient) -> None:
    """Two sessions write in turns into one table."""
    for adw_id in ("aaaa0001", "aaaa0002"):
        trace.session(adw_id)
    mine = []
    for _ in range(10):
        mine.append(trace.event("aaaa0001"))
        trace.event("aaaa0002")
    page = Page(client, "aaaa0001", limit=3)

    page.poll()

    assert mine == page.events


def test_a_growing_session_is_followed_without_gaps(trace: Trace, client: TestClient) -> None:
    """Polls between writes see each event once."""
    trace.session("aaaa0001", status="running")
    page = Page(client, "aaaa0001", limit=3)
    written = []
    for burst in (1, 0, 7, 2, 3):
        written += trace.events("aaaa0001", burst)
        page.poll()

    assert written == page.events


def test_a_reload_begins_from_nothing(trace: Trace, client: TestClient) -> None:
    """A page that is loaded again asks from 0 and gets all of it."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 12)
    Page(client, "aaaa0001").poll()
    reloaded = Page(client, "aaaa0001")

    reloaded.poll()

    assert written == reloaded.events


def test_a_database_replaced_between_polls_resets_the_reader(trace: Trace, client: TestClient) -> None:
    """Another file under the same name: the old events are void, the new ones come from their beginning."""
    trace.session("aaaa0001")
    trace.events("aaaa0001", 12)
    page = Page(client, "aaaa0001", limit=5)
    page.poll()
    other = Trace(trace.path.with_name("other.db"))
    other.session("aaaa0001")
    other._events = 100
    written = other.events("aaaa0001", 7)
    other.close()
    trace.close()
    for ending in ("-wal", "-shm"):
        trace.path.with_name(trace.path.name + ending).unlink(missing_ok=True)
    other.path.replace(trace.path)

    page.poll()

    assert written == page.events
    assert 1 == page.resets


def test_a_generation_of_ours_that_is_renewed_resets_the_reader(trace: Trace, client: TestClient) -> None:
    """A rebuild fills the same file again and names a new generation."""
    trace.connection.execute("CREATE TABLE trace_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    trace.connection.execute("INSERT INTO trace_meta VALUES ('generation', 'one')")
    trace.session("aaaa0001")
    trace.events("aaaa0001", 9)
    page = Page(client, "aaaa0001", limit=4)
    page.poll()
    trace.connection.execute("BEGIN")
    trace.connection.execute("DELETE FROM events")
    trace.connection.execute("UPDATE trace_meta SET value = 'two'")
    trace.connection.execute("COMMIT")
    written = trace.events("aaaa0001", 3)

    page.poll()

    assert written == page.events
    assert 1 == page.resets


def test_rows_that_were_renumbered_reset_the_reader(trace: Trace, client: TestClient) -> None:
    """A merge deletes and writes again inside one file: the event at the cursor is another one."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 10)
    page = Page(client, "aaaa0001", limit=4)
    page.poll()
    trace.connection.execute("UPDATE events SET rowid = rowid + 1000")
    trace.connection.execute("UPDATE events SET rowid = rowid - 1001 WHERE rowid > 1001")

    page.poll()

    assert sorted(written) == sorted(page.events)
    assert len(written) == len(page.events)
    assert 1 == page.resets


@pytest.mark.parametrize("is_indexed", [False, True])
def test_numbers_for_ids_of_events_do_not_reset_the_reader(is_indexed: bool, trace: Trace, client: TestClient) -> None:
    """A foreign writer may count its events: the anchor that comes back is a text, and means the number."""
    columns = [row[1] for row in trace.connection.execute("PRAGMA table_info(events)")]
    listed = ", ".join(f"{name} INTEGER" if name == "event_id" else name for name in columns)
    trace.connection.execute("DROP TABLE events")
    trace.connection.execute(f"CREATE TABLE events ({listed})")
    if is_indexed:  # then polls go the short way
        trace.connection.execute("CREATE INDEX events_by_session ON events (adw_id)")
    trace.session("aaaa0001")
    for number in (11, 12, 13):
        trace.connection.execute("INSERT INTO events (event_id, adw_id, type) VALUES (?, 'aaaa0001', 'log')", (number,))
    page = Page(client, "aaaa0001")

    for _ in range(3):
        page.poll()

    assert 0 == page.resets
    assert 3 == len(page.events)


def test_vacuum_loses_nothing(trace: Trace, client: TestClient) -> None:
    """VACUUM between two polls, after rows of another session were deleted."""
    trace.session("aaaa0001")
    trace.session("aaaa0002")
    trace.events("aaaa0002", 20)
    written = trace.events("aaaa0001", 10)
    page = Page(client, "aaaa0001", limit=4)
    page.poll()
    trace.connection.execute("DELETE FROM events WHERE adw_id = 'aaaa0002'")
    trace.connection.execute("VACUUM")
    written += trace.events("aaaa0001", 2)

    page.poll()

    assert written == page.events


def test_two_servers_over_one_database_give_one_answer(trace: Trace, client: TestClient, serve: Any) -> None:
    """A cursor of one server is good at another one."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 6)
    page = Page(client, "aaaa0001", limit=4)
    page.poll()
    written += trace.events("aaaa0001", 6)
    page.client = serve(trace.path)

    page.poll()

    assert written == page.events
    assert 0 == page.resets


def test_a_database_copied_aside_and_back_loses_nothing(trace: Trace, client: TestClient) -> None:
    """A backup is put back: same content, another file."""
    trace.session("aaaa0001")
    written = trace.events("aaaa0001", 6)
    page = Page(client, "aaaa0001", limit=4)
    page.poll()
    trace.close()
    aside = trace.path.with_name("backup.db")
    shutil.copy(trace.path, aside)
    aside.replace(trace.path)

    page.poll()

    assert written == page.events


def test_an_idle_poll_is_304_and_reads_no_payload(trace: Trace, client: TestClient) -> None:
    """The payload of the last page is not even looked at when nothing is new."""
    trace.session("aaaa0001")
    trace.events("aaaa0001", 5)
    first = client.get("/api/sessions/aaaa0001/events").json()
    place = {"after": first["cursor"], "generation": first["generation"], "anchor": first["anchor"]}
    empty = client.get("/api/sessions/aaaa0001/events", params=place)

    again = client.get("/api/sessions/aaaa0001/events", params=place, headers={"if-none-match": empty.headers["etag"]})

    assert [] == empty.json()["events"]
    assert (304, b"") == (again.status_code, again.content)


def test_an_idle_poll_stays_idle_while_another_session_writes(trace: Trace, client: TestClient) -> None:
    """What others write does not wake a reader."""
    for adw_id in ("aaaa0001", "aaaa0002"):
        trace.session(adw_id)
    trace.events("aaaa0001", 5)
    etag = client.get("/api/sessions/aaaa0001/events").headers["etag"]
    trace.events("aaaa0002", 5)

    again = client.get("/api/sessions/aaaa0001/events", headers={"if-none-match": etag})

    assert 304 == again.status_code


def test_without_generation_and_anchor_nothing_is_checked(trace: Trace, client: TestClient) -> None:
    """Viewers that know only rowids get what they always got."""
    trace.session("aaaa0001")
    trace.events("aaaa0001", 5)

    body = client.get("/api/sessions/aaaa0001/events", params={"after": 3}).json()

    assert [4, 5] == [event["rowid"] for event in body["events"]]
    assert (5, False, False) == (body["cursor"], body["has_more"], body["reset"])


def test_an_unknown_session_is_an_empty_page(client: TestClient) -> None:
    """It may be about to begin."""
    reply = client.get("/api/sessions/nobody/events", params={"after": 7})

    assert 200 == reply.status_code
    assert ([], 7) == (reply.json()["events"], reply.json()["cursor"])


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["mine", "other", "poll", "rebuild", "vacuum"]), st.integers(1, 6)), max_size=14
    ),
    limit=st.integers(1, 5),
)
def test_any_history_ends_with_exactly_what_is_there(
    tmp_path_factory: Any, steps: list[tuple[str, int]], limit: int
) -> None:
    """Whatever is written, rebuilt and polled in whatever order: the last poll holds what the database holds."""
    from trace_playground import client_of

    folder = tmp_path_factory.mktemp("history")
    trace = Trace(folder / "sssf.db", BASE + LATER)
    trace.session("aaaa0001", status="running")
    with client_of([trace.path], folder) as client:
        page = Page(client, "aaaa0001", limit)
        for step, count in [*steps, ("poll", 1)]:
            if step == "mine":
                trace.events("aaaa0001", count)
            elif step == "other":
                trace.events("aaaa0002", count)
            elif step == "poll":
                page.poll()
            elif step == "rebuild":
                _replace(trace)
            else:
                trace.connection.execute("VACUUM")
        expected = [row[0] for row in trace.connection.execute(
            "SELECT event_id FROM events WHERE adw_id = 'aaaa0001' ORDER BY rowid"
        )]  # fmt: skip
        trace.close()

    assert expected == page.events


def _replace(trace: Trace) -> None:
    """Put a copy, without every second event of the others, in the database's place."""
    aside = trace.path.with_name("new.db")
    copy = sqlite3.connect(aside)
    trace.connection.backup(copy)
    copy.execute("DELETE FROM events WHERE adw_id = 'aaaa0002' AND rowid % 2 = 0")
    copy.commit()
    copy.close()
    trace.connection.close()
    for ending in ("-wal", "-shm"):
        trace.path.with_name(trace.path.name + ending).unlink(missing_ok=True)
    aside.replace(trace.path)
    trace.connection = sqlite3.connect(trace.path, isolation_level=None, check_same_thread=False)
