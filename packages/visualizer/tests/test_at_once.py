"""Answers of the short way are kept as long as nobody has written, and never longer; few of them, and small."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from trace_playground import Trace

from agent_workflow.trace_schema import migrate
from agent_workflow.tracer.viewing import Cursor, TraceSource
from agent_workflow.visualizer import _at_once
from agent_workflow.visualizer._at_once import AtOnce, NotAtOnce
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._event_pages import PageRequest, event_page_at_once

SESSION = "aaaa0001"


@pytest.fixture
def database(trace: Trace) -> Iterator[Database]:
    """Make a trace with our indexes, and open it for reading at once."""
    migrate(trace.connection)
    trace.session(SESSION)
    trace.events(SESSION, 5)
    made = Database("shop", trace.path)
    made.at_once.prepare()
    yield made
    made.close()


def ids(database: Database, asked: PageRequest) -> list[str]:
    """Ask for a page and return the ids of its events."""
    import json

    page = json.loads(event_page_at_once(database, asked).body)
    return [event["event_id"] for event in page["events"]]


def test_the_same_poll_again_reads_no_event(database: Database) -> None:
    """Only whether somebody has written is looked at: with new events as with none."""
    source = database.at_once._quick.source  # type: ignore[union-attr]  # it was just prepared
    for after in (0, 5):
        asked = PageRequest(SESSION, Cursor(after))
        first = event_page_at_once(database, asked)
        statements: list[str] = []
        source._connection.set_trace_callback(statements.append)

        again = event_page_at_once(database, asked)
        source._connection.set_trace_callback(None)

        assert first == again
        assert ["PRAGMA data_version"] == statements


def test_a_new_poll_is_one_statement(database: Database) -> None:
    """Generation, anchor and events come from one state of the database, and with one lock."""
    asked = PageRequest(SESSION, Cursor(3))
    event_page_at_once(database, PageRequest(SESSION))
    source = database.at_once._quick.source  # type: ignore[union-attr]  # it was just prepared
    statements: list[str] = []
    source._connection.set_trace_callback(statements.append)

    ids(database, asked)
    source._connection.set_trace_callback(None)

    assert ["PRAGMA", "SELECT"] == [statement.split()[0] for statement in statements]


def test_many_that_prepare_at_once_open_one_connection(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another one would be lost, and open for as long as the server lives."""
    opened: list[TraceSource] = []
    everybody = threading.Barrier(4)

    class Slow(TraceSource):
        def __init__(self, path: Path, *, wait_ms: int) -> None:
            time.sleep(0.05)  # time enough for the others to look
            super().__init__(path, wait_ms=wait_ms)
            opened.append(self)

    monkeypatch.setattr(_at_once, "TraceSource", Slow)
    at_once = AtOnce(trace.path)

    def prepare() -> None:
        everybody.wait()
        at_once.prepare()

    threads = [threading.Thread(target=prepare) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    at_once.close()

    assert 1 == len(opened)


def test_a_commit_makes_every_kept_answer_void(database: Database, trace: Trace) -> None:
    """New events, a changed one, and rowids that were handed out anew."""
    asked = PageRequest(SESSION)
    before = ids(database, asked)

    fresh = trace.event(SESSION)

    assert [*before, fresh] == ids(database, asked)

    trace.connection.execute("DELETE FROM events WHERE event_id = ?", (before[0],))
    trace.connection.execute("VACUUM")

    assert [*before[1:], fresh] == ids(database, asked)


def test_another_file_makes_every_kept_answer_void(database: Database, trace: Trace, tmp_path: Path) -> None:
    """A database that was put in the place of the open one is not answered from memory."""
    assert 5 == len(ids(database, PageRequest(SESSION)))
    other = tmp_path / "other.db"
    trace.connection.execute("VACUUM INTO ?", (str(other),))
    connection = sqlite3.connect(other, isolation_level=None)
    connection.execute("DELETE FROM events")
    connection.close()
    for companion in ("-wal", "-shm"):
        trace.path.with_name(trace.path.name + companion).unlink()
    other.replace(trace.path)

    with pytest.raises(NotAtOnce):
        ids(database, PageRequest(SESSION))
    database.at_once.prepare()

    assert [] == ids(database, PageRequest(SESSION))


def test_what_is_kept_is_bounded_in_number_and_size(database: Database) -> None:
    """A reader that asks for ever new things, or for large ones, leaves no more than two megabytes behind."""
    at_once = database.at_once

    def answer(size: int) -> Any:
        return lambda _source: (b"x" * size, size)

    for number in range(2_000):
        at_once.read(("small", number), answer(10))
    for number in range(20):
        at_once.read(("large", number), answer(900_000))
    quick = at_once._quick
    assert quick is not None

    assert len(quick.answers) <= 256
    assert quick.bytes == sum(len(kept) for kept in quick.answers.values()) <= 2_000_000


def test_nothing_is_opened_in_the_loop(trace: Trace) -> None:
    """Before a thread has opened the connection there is no answer, not even an error of the file."""
    at_once = AtOnce(trace.path.with_name("nowhere.db"))

    def never(_source: TraceSource) -> tuple[None, int]:
        raise AssertionError("asked without a connection")

    with pytest.raises(NotAtOnce):
        at_once.read("anything", never)
