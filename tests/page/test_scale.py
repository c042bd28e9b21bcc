"""10,000 sessions, and one of 50,000 events: all in reach, few drawn, small. Times are printed (`-s`), not judged."""

import json
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from page_server import Looker, Server
from playwright.sync_api import Page, expect

from agent_workflow.trace_schema import migrate

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SESSIONS = 10_000
EVENTS = 50_000
LARGE = 20
"""So many events have payloads of 200 KB; the others are small."""
START = datetime(2026, 6, 1, tzinfo=UTC)


def moment(seconds: float) -> str:
    """Write a time so many seconds after the start."""
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def fill(path: Path) -> None:
    """Write the large trace."""
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection)
    connection.execute("BEGIN")
    for number in range(SESSIONS):
        adw_id = f"{number:08x}"
        status = "fail" if number % 9 == 0 else "success"
        began = number * 60.0
        connection.execute(
            "INSERT INTO sessions (adw_id, adw_name, request, status, engineer, started_at, ended_at,"
            " total_tokens, total_cost, archived) VALUES (?, 'adw_plan_build', ?, ?, 'dev', ?, ?, 1000, 0.01, 0)",
            (adw_id, f"Request number {number}", status, moment(began), moment(began + 50)),
        )
        for seq, name in enumerate(("request", "plan", "build"), 1):
            connection.execute(
                "INSERT INTO phases (phase_id, adw_id, seq, name, kind, owner, description, status, attempt, retries,"
                " started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, 'As asked', ?, 0, 1, ?, ?)",
                (
                    f"{adw_id}_{seq:02d}_{name}",
                    adw_id,
                    seq,
                    name,
                    "engineer" if seq == 1 else "agent",
                    ("dev", "planner", "builder")[seq - 1],
                    status,
                    moment(began + 15 * seq),
                    moment(began + 15 * seq + 14),
                ),
            )
    large = f"{SESSIONS - 1:08x}"
    began = (SESSIONS - 1) * 60.0
    for number in range(EVENTS):
        size = 200_000 if number % (EVENTS // LARGE) == 7 else 60
        payload = {
            "tool": "bash",
            "args": {"command": f"echo {number}"},
            "ok": number % 500 != 3,
            "result_snippet": "x" * size,
        }
        at = began + 15 + number * 0.0005
        connection.execute(
            "INSERT INTO events (event_id, adw_id, phase_id, parent_id, type, name, payload_json, started_at, ended_at)"
            " VALUES (?, ?, ?, '', 'tool_call', ?, ?, ?, ?)",
            (
                f"evt_{number:012x}",
                large,
                f"{large}_0{2 + number % 2}_{('plan', 'build')[number % 2]}",
                f"bash: echo {number}",
                json.dumps(payload),
                moment(at),
                moment(at + 0.0004),
            ),
        )
    connection.execute("COMMIT")
    connection.close()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve it."""
    folder = tmp_path_factory.mktemp("large")
    fill(folder / "sssf.db")
    server = Server([folder / "sssf.db"], folder / "state", folder / "home")
    yield server.address
    server.stop()


def since_navigation(page: Page) -> float:
    """Return the seconds since the page was gone to; a browser profile of its own was made before."""
    return float(page.evaluate("performance.now()")) / 1000


def heap(page: Page) -> float:
    """Measure what the tab's scripts hold, in MB, after a collection."""
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Runtime.getHeapUsage")
    return float(found["usedSize"] + found.get("embedderHeapUsedSize", 0)) / 1e6


def test_ten_thousand_sessions_are_all_in_reach(large: str, look: Looker) -> None:
    """First rows, the far end, and a search; only the rows in sight exist."""
    look.open(large).close()
    page = look.open(large)
    expect(page.get_by_text("Request number 9999")).to_be_visible()
    first = since_navigation(page)
    began = time.monotonic()
    page.keyboard.press("End")
    expect(page.get_by_text("Request number 0", exact=True)).to_be_visible()
    far = time.monotonic() - began
    rows = page.locator("[role=row][data-status]").count()
    began = time.monotonic()
    page.get_by_label("Search sessions").fill("number 4711")
    expect(page.get_by_text("Request number 4711")).to_be_visible()
    found = time.monotonic() - began
    print(f"first rows {first:.2f} s, far end {far:.2f} s, search {found:.2f} s, {rows} rows, heap {heap(page):.0f} MB")

    assert rows < 120
    assert heap(page) < 300


def test_fifty_thousand_events_are_all_in_reach(large: str, look: Looker) -> None:
    """Lanes and the first events, then all of them; the tab stays small while it is scrolled."""
    look.open(large).close()
    page = look.open(f"{large}#/s/{SESSIONS - 1:08x}")
    expect(page.locator(".event-row:not(.event-head)").first).to_be_visible()
    first = since_navigation(page)
    expect(page.get_by_text(f"{EVENTS:,} of {EVENTS:,}")).to_be_visible()
    whole = since_navigation(page)
    longest = page.evaluate(
        """() => new Promise((done) => {
          const box = document.querySelector('.virtual-box');
          let frames = 0, last = performance.now(), longest = 0;
          const step = () => {
            const now = performance.now();
            if (frames > 1) longest = Math.max(longest, now - last);
            last = now;
            box.scrollTop = (frames * 23_457) % (box.scrollHeight - box.clientHeight);
            if (++frames < 60) requestAnimationFrame(step); else done(longest);
          };
          requestAnimationFrame(step);
        })"""
    )
    page.keyboard.press("n")
    expect(page.get_by_role("complementary", name="Event")).to_contain_text("echo 3")
    print(f"first events {first:.2f} s, all {whole:.2f} s, longest frame {longest:.0f} ms, heap {heap(page):.0f} MB")

    assert page.locator(".event-row").count() < 120
    assert heap(page) < 300
