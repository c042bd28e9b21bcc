"""Databases that are missing, broken, locked or replaced: the reply says what is wrong, and it recovers by itself."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from trace_playground import Trace, fill

pytestmark = pytest.mark.slow

READS = ("/api/health", "/api/sessions", "/api/sessions/aaaa0001", "/api/sessions/aaaa0001/events", "/api/facets")


def _delete(path: Path) -> None:
    for ending in ("", "-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


def _empty(path: Path) -> None:
    _delete(path)
    path.write_bytes(b"")


def _no_sqlite(path: Path) -> None:
    _delete(path)
    path.write_bytes(b"this is a letter, not a database\n" * 200)


def _truncate(path: Path) -> None:
    _delete_companions(path)
    with path.open("r+b") as file:
        file.truncate(5000)


def _garble(path: Path) -> None:
    _delete_companions(path)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(bytes(data))


def _other_tables(path: Path) -> None:
    _delete(path)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()


def _folder(path: Path) -> None:
    _delete(path)
    path.mkdir()


def _delete_companions(path: Path) -> None:
    for ending in ("-wal", "-shm"):
        path.with_name(path.name + ending).unlink(missing_ok=True)


BREAKS: dict[str, tuple[Callable[[Path], None], set[str]]] = {
    "deleted": (_delete, {"missing"}),
    "empty": (_empty, {"empty"}),
    "not SQLite": (_no_sqlite, {"not_a_trace"}),
    "truncated": (_truncate, {"damaged", "not_a_trace", "unreadable"}),
    "garbled": (_garble, {"damaged", "not_a_trace", "unreadable"}),
    "of something else": (_other_tables, {"not_a_trace"}),
    "a folder": (_folder, {"missing", "unreadable", "not_a_trace"}),
}


@pytest.fixture
def sound(trace: Trace) -> Path:
    """Make a sound trace that nobody writes to any more, and a copy to put back."""
    fill(trace)
    trace.close()
    shutil.copy(trace.path, trace.path.with_name("sound.db"))
    return trace.path


@pytest.mark.parametrize("breakage", BREAKS)
@pytest.mark.parametrize("was_open", [True, False], ids=["while it is served", "from the beginning"])
def test_the_reply_says_what_is_wrong_and_recovers(breakage: str, was_open: bool, sound: Path, serve: Any) -> None:
    """503 with a word and a sentence, for every route; the next poll after the repair is answered."""
    break_it, problems = BREAKS[breakage]
    client: TestClient = serve(sound)
    if was_open:
        assert 200 == client.get("/api/sessions").status_code
    break_it(sound)

    replies = [client.get(route) for route in READS]
    listed = client.get("/api/projects").json()[0]

    for reply in replies:
        body = reply.json()
        if reply.status_code != 200:  # a part that was not damaged may still be read
            assert 503 == reply.status_code
            assert body["problem"] in problems, body
            assert sound.name in body["error"]
    assert 503 in [reply.status_code for reply in replies]
    assert listed["available"] in (False, breakage in ("truncated", "garbled"))

    if sound.is_dir():
        sound.rmdir()
    _delete(sound)
    shutil.copy(sound.with_name("sound.db"), sound)

    assert [200] * len(READS) == [client.get(route).status_code for route in READS]


def test_a_database_that_comes_later_is_served_when_it_is_there(tmp_path: Any, serve: Any) -> None:
    """The server starts without one and waits."""
    path = tmp_path / "sssf.db"
    client: TestClient = serve(path)

    assert "missing" == client.get("/api/sessions").json()["problem"]

    made = Trace(path)
    fill(made)
    made.close()

    assert ["aaaa0001"] == [row["adw_id"] for row in client.get("/api/sessions").json()]


def test_a_database_opened_before_its_tables_exist_is_read_when_they_do(tmp_path: Any, serve: Any) -> None:
    """A run has created the file and not yet the tables."""
    path = tmp_path / "sssf.db"
    sqlite3.connect(path).close()
    client: TestClient = serve(path)
    client.get("/api/sessions")

    made = Trace(path)
    fill(made)
    made.close()

    assert 200 == client.get("/api/sessions").status_code


def test_a_column_that_comes_later_is_shown_when_it_is_there(tmp_path: Any, serve: Any) -> None:
    """An upgrade of the tables under an open connection is noticed."""
    from trace_playground import BASE

    trace = Trace(tmp_path / "sssf.db", BASE)
    trace.session("aaaa0001")
    client: TestClient = serve(trace.path)
    assert client.get("/api/sessions").json()[0]["adw_name"] is None
    trace.connection.execute("ALTER TABLE sessions ADD COLUMN adw_name TEXT")
    trace.connection.execute("UPDATE sessions SET adw_name = 'adw_plan'")
    trace.close()

    assert "adw_plan" == client.get("/api/sessions").json()[0]["adw_name"]


def test_a_locked_database_is_503_and_read_when_it_is_free(sound: Path, serve: Any) -> None:
    """A writer holds the whole file for itself, longer than a reader waits."""
    holder = sqlite3.connect(sound, isolation_level=None)
    holder.execute("PRAGMA journal_mode = DELETE").fetchone()
    client: TestClient = serve(sound)
    assert 200 == client.get("/api/sessions").status_code
    holder.execute("BEGIN EXCLUSIVE")

    locked = client.get("/api/sessions?limit=3")
    holder.execute("COMMIT")
    holder.close()

    assert (503, "locked") == (locked.status_code, locked.json()["problem"])
    assert 200 == client.get("/api/sessions?limit=3").status_code


def test_a_database_locked_before_it_was_opened_is_503_and_read_when_it_is_free(sound: Path, serve: Any) -> None:
    """Opening waits no longer than reading does, and is not tried twice."""
    holder = sqlite3.connect(sound, isolation_level=None)
    holder.execute("PRAGMA journal_mode = DELETE").fetchone()
    holder.execute("BEGIN EXCLUSIVE")
    client: TestClient = serve(sound)

    replies = [client.get(route) for route in READS]
    holder.execute("COMMIT")
    holder.close()

    assert {(503, "locked")} == {(reply.status_code, reply.json()["problem"]) for reply in replies}
    assert [200] * len(READS) == [client.get(route).status_code for route in READS]


def test_a_database_without_its_companions_is_read(sound: Path, serve: Any) -> None:
    """A copy of the file alone, in WAL mode, as people send it around."""
    assert not sound.with_name(sound.name + "-wal").exists()

    assert ["aaaa0001"] == [row["adw_id"] for row in serve(sound).get("/api/sessions").json()]


@pytest.fixture
def read_only(sound: Path, tmp_path: Path) -> Iterator[Path]:
    """Mount a file system read-only with the trace on it, or skip."""
    place = tmp_path / "mount"
    place.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "none", str(place)], capture_output=True)
    if made.returncode:
        pytest.skip("may not mount a file system here")
    try:
        shutil.copy(sound, place / "sssf.db")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        yield place / "sssf.db"
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_read_only_mount_is_read_and_archived_beside(read_only: Path, serve: Any) -> None:
    """No companion can be made there; what cannot be written says so."""
    client: TestClient = serve(read_only)

    assert ["aaaa0001"] == [row["adw_id"] for row in client.get("/api/sessions").json()]

    reply = client.post("/api/sessions/aaaa0001/archive", json={"archived": True})

    assert reply.status_code in (200, 503), reply.text
    assert 200 == client.get("/api/sessions").status_code


@pytest.mark.parametrize("name", ["a?b.db", "a#b.db", "100%.db", "with space.db", "naïve.db"])
def test_a_path_of_any_characters_is_opened(name: str, tmp_path: Any, serve: Any) -> None:
    """None of them means anything in the name of a file."""
    trace = Trace(tmp_path / name)
    trace.session("aaaa0001")
    trace.close()

    assert 1 == len(serve(trace.path).get("/api/sessions").json())


def test_one_broken_database_leaves_the_others_alone(sound: Path, tmp_path: Any, serve: Any) -> None:
    """Several are served: the broken one is 503, the sound one answers."""
    client: TestClient = serve(sound, tmp_path / "nowhere" / "sssf.db")
    names = {row["name"]: row["available"] for row in client.get("/api/projects").json()}

    assert {"shop": True, "nowhere": False} == names
    assert 200 == client.get("/api/projects/shop/sessions").status_code
    assert 503 == client.get("/api/projects/nowhere/sessions").status_code
    assert 404 == client.get("/api/projects/elsewhere/sessions").status_code


def test_addresses_without_a_project_need_exactly_one_database(sound: Path, tmp_path: Any, serve: Any) -> None:
    """With several, and with none, the reply says where the names are."""
    several: TestClient = serve(sound, tmp_path / "other" / "sssf.db")
    none: TestClient = serve()

    for client in (several, none):
        reply = client.get("/api/sessions")

        assert 404 == reply.status_code
        assert "/api/projects" in reply.json()["error"]
    assert [] == none.get("/api/projects").json()
