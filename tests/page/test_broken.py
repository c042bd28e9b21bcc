"""Databases that are broken, locked, gone, old or foreign: the page says what is wrong, and recovers by itself."""

import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from page_server import Looker, Server
from page_traces import BASE, FOREIGN, Trace, fill
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser
"""Milliseconds until the page must have noticed; it tries again after at most eight seconds."""


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    """Make a trace that nobody writes to any more."""
    trace = Trace(tmp_path / "shop/adws/adw_data/sssf.db")
    fill(trace)
    trace.close()
    return trace.path


Serving = Callable[..., Server]


@pytest.fixture
def serving(tmp_path: Path) -> Iterator[Serving]:
    """Serve databases; name it before what opens pages, so that they are closed first."""
    made: list[Server] = []

    def start(*databases: Path) -> Server:
        made.append(Server(list(databases), tmp_path / "state", tmp_path / "home"))
        return made[-1]

    yield start
    for server in made:
        server.stop()


@pytest.fixture
def server(sound: Path, serving: Serving) -> Server:
    """Serve the sound one."""
    return serving(sound)


def put(path: Path, data: bytes | None) -> None:
    """Put other content in the place of a database in one step, as a program that replaces a file does."""
    for companion in ("-wal", "-shm"):
        path.with_name(path.name + companion).unlink(missing_ok=True)
    if data is None:
        path.unlink()
        return
    beside = path.with_name("beside")
    beside.write_bytes(data)
    beside.replace(path)


def garbled(data: bytes) -> bytes:
    """Keep the first page and ruin the rest."""
    return data[:4096] + b"\xa5" * (len(data) - 4096)


BREAKS: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "deleted": (lambda _data: None, "no trace database"),
    "empty": (lambda _data: b"", "empty"),
    "not SQLite": (lambda _data: b"this is a letter, not a database\n" * 200, "not a trace database"),
    "truncated": (lambda data: data[:5000], "malformed"),
    "garbled": (garbled, "malformed"),
}


def says(page: Page, words: str) -> None:
    """Wait until the page says something about the database."""
    expect(page.locator("main")).to_contain_text(words)


def shows_the_session(page: Page) -> None:
    """Wait until the list is there and nothing is said to be wrong."""
    expect(page.locator("[role=row][data-status]")).to_have_count(1)
    expect(page.locator(".note")).to_have_count(0)


@pytest.mark.parametrize("breakage", BREAKS)
def test_the_list_says_what_is_wrong_and_recovers(
    breakage: str, sound: Path, server: Server, look_away: Looker
) -> None:
    """While it is looked at: what was read stays, marked as from before; a page opened now says it, too."""
    break_it, words = BREAKS[breakage]
    kept = sound.read_bytes()
    page = look_away.open(server.address)
    shows_the_session(page)

    put(sound, break_it(kept))

    says(page, words)
    says(page, "The page keeps trying")
    expect(page.locator("[role=row][data-status]")).to_have_count(1)
    later = look_away.open(server.address)
    says(later, words)

    put(sound, kept)

    shows_the_session(page)
    shows_the_session(later)


def test_a_trace_says_what_is_wrong_and_recovers(sound: Path, server: Server, look_away: Looker) -> None:
    """The same in the trace: its events stay, and come again when the database does."""
    kept = sound.read_bytes()
    page = look_away.open(f"{server.address}#/s/aaaa0001")
    events = page.locator(".event-row .row-link")
    expect(events).to_have_count(6)

    put(sound, b"this is a letter, not a database\n" * 200)

    says(page, "What is shown below is from before")
    expect(events).to_have_count(6)

    put(sound, kept)

    expect(page.get_by_text("The page keeps trying")).to_have_count(0)
    expect(events).to_have_count(6)


def test_a_replaced_database_is_shown_without_a_reload(sound: Path, server: Server, look: Looker) -> None:
    """Another file of the same name: its sessions, and none of the old ones."""
    page = look.open(server.address)
    shows_the_session(page)
    other = Trace(sound.with_name("other.db"))
    fill(other, "bbbb0002")
    other.close()

    put(sound, other.path.read_bytes())

    expect(page.get_by_text("bbbb0002").first).to_be_visible()
    expect(page.get_by_text("aaaa0001")).to_have_count(0)


def test_a_locked_database_is_told_and_read_when_it_is_free(sound: Path, server: Server, look_away: Looker) -> None:
    """A writer holds the whole file for itself: before the page is opened, and while it is."""
    holder = sqlite3.connect(sound, isolation_level=None)
    server.stop()  # while it has the file open, the journal's mode cannot be changed
    holder.execute("PRAGMA journal_mode = DELETE").fetchone()
    holder.execute("BEGIN EXCLUSIVE")
    server.start()
    page = look_away.open(server.address)

    says(page, "locked")

    holder.execute("COMMIT")
    shows_the_session(page)

    holder.execute("BEGIN EXCLUSIVE")
    holder.execute("UPDATE sessions SET request = 'Another request'")
    says(page, "locked")
    expect(page.locator("[role=row][data-status]")).to_have_count(1)

    holder.execute("COMMIT")
    holder.close()
    expect(page.get_by_text("Another request")).to_be_visible()
    shows_the_session(page)


def test_the_page_says_that_the_server_is_away_and_recovers(sound: Path, server: Server, look_away: Looker) -> None:
    """A calm banner while it is gone; what was read stays; everything goes on by itself."""
    page = look_away.open(server.address)
    shows_the_session(page)

    server.stop()
    expect(page.locator(".banner")).to_contain_text("The server has not answered since")
    expect(page.locator("[role=row][data-status]")).to_have_count(1)

    server.start()
    expect(page.locator(".banner")).to_have_count(0)
    expect(page.locator(".pulse")).to_contain_text("up to date")
    shows_the_session(page)


@pytest.fixture
def read_only(sound: Path, mount_disk: Callable[[str], Path]) -> Path:
    """Mount a file system read-only with the trace on it, or skip."""
    place = mount_disk("64m")
    shutil.copy(sound, place / "sssf.db")
    subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
    return place / "sssf.db"


def test_a_read_only_mount_is_shown_and_what_cannot_be_kept_is_told(
    read_only: Path, serving: Serving, look_away: Looker
) -> None:
    """No companion file can be made there, and no flag be written; the page shows the rest."""
    server = serving(read_only)
    page = look_away.open(server.address)
    shows_the_session(page)

    page.get_by_role("button", name="archive aaaa0001").click()

    expect(page.locator(".said")).to_contain_text("aaaa0001: ")
    expect(page.locator("[role=row][data-status]")).to_have_count(1)
    page.goto(f"{server.address}#/s/aaaa0001")
    expect(page.locator(".event-row .row-link")).to_have_count(6)


def test_databases_of_every_writer_are_shown(tmp_path: Path, serving: Serving, look: Looker) -> None:
    """Each as a project of one server: list, trace and phase, with nothing wrong on any of them.

    They are copies of the file alone, in WAL mode and without its companions, as people send them around.
    """
    databases = []
    for number, (writer, tables) in enumerate(FOREIGN.items()):
        trace = Trace(tmp_path / f"writer-{number}/sssf.db", BASE + tables)
        fill(trace)
        trace.close()
        assert [trace.path] == list(trace.path.parent.iterdir()), writer
        databases.append(trace.path)
    server = serving(*databases)
    page = look.open(server.address)
    for number, writer in enumerate(FOREIGN):
        base = f"{server.address}#/p/writer-{number}"
        page.goto(base)
        shows_the_session(page)
        expect(page.locator("[role=row][data-status]"), writer).to_contain_text("gates failed after 2 attempt(s)")
        page.goto(f"{base}/s/aaaa0001/phase/aaaa0001_02_build")
        expect(page.get_by_role("complementary", name="Phase"), writer).to_contain_text("tests_pass")
        expect(page.locator(".event-row .row-link"), writer).to_have_count(6)


WORDS = ("stopped", "paused", "waiting", "queued", "a word of 2031", None)


def test_a_status_of_another_writer_is_shown_as_it_is(tmp_path: Path, serving: Serving, look: Looker) -> None:
    """In the list, in the trace, and among what can be filtered by."""
    trace = Trace(tmp_path / "shop/sssf.db")
    for number, word in enumerate(WORDS):
        trace.session(f"aaaa000{number}", word or "fail")
        trace.phase(f"aaaa000{number}", 1, "build", status="queued", started_at=None, ended_at=None)
    trace.connection.execute("UPDATE sessions SET status = NULL WHERE status = 'fail'")
    trace.close()
    server = serving(trace.path)
    page = look.open(server.address)
    rows = page.locator("[role=row][data-status]")
    expect(rows).to_have_count(len(WORDS))
    for number, word in enumerate(WORDS):
        shown = word or "unknown"
        expect(rows.filter(has_text=f"aaaa000{number}").locator(".c-status")).to_contain_text(shown)
        expect(page.get_by_label("Status").locator("option", has_text=f"{shown} (1)")).to_have_count(1)
    for number, word in enumerate(WORDS):
        page.goto(f"{server.address}#/s/aaaa000{number}")
        expect(page.get_by_label("Breadcrumb")).to_contain_text(f"aaaa000{number}")
        expect(page.locator(".summary .status")).to_contain_text(word or "unknown")
        expect(page.locator(".phases")).to_contain_text("not started")
