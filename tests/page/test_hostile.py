"""Hostile text in every field: it is text, it can be seen for what it is, and it runs nothing."""

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_server import Looker, Server
from playwright.sync_api import expect

from agent_workflow.trace_schema import TABLES, migrate

pytestmark = pytest.mark.browser
EVIL = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    " **bold** [x](javascript:alert(1))"
)
HIDDEN = "a\u202eb\u2066c\u200bd\x07e\x1b[31mred\x1b[0m \x1b]0;title\x07"
TEXT = EVIL + HIDDEN
LONG = "x" * 1_000_000


def insert(connection: sqlite3.Connection, table: str, **values: object) -> None:
    """Insert a row, hostile text wherever nothing else is given."""
    row = {
        name: TEXT if declared.startswith("TEXT") else None for name, declared in TABLES[table].columns.items()
    } | values
    marks = ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Write a trace whose every text is an attack."""
    path = tmp_path / "sssf.db"
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection)
    at = "2026-07-01T00:00:00.000+00:00"
    later = "2026-07-01T00:00:09.000+00:00"
    insert(
        connection,
        "sessions",
        adw_id="evil0001",
        status="fail",
        started_at=at,
        ended_at=later,
        total_tokens=5,
        total_cost=None,
        archived=0,
    )
    insert(
        connection,
        "phases",
        phase_id="evil0001_01_x",
        adw_id="evil0001",
        seq=1,
        kind="agent",
        owner="worker",
        status="fail",
        attempt=0,
        retries=1,
        started_at=at,
        ended_at=later,
    )
    insert(
        connection,
        "agent_sessions",
        adw_id="evil0001",
        agent="worker",
        color="red;background:url(//evil)",
        context_tokens=1,
        context_window=0,
    )
    payloads = {
        "agent_start": {"model": TEXT, "purpose": TEXT, "tools": [TEXT], "session_id": TEXT},
        "tool_call": {"tool": TEXT, "args": {"command": TEXT + LONG, TEXT: TEXT}, "result_snippet": TEXT, "ok": False},
        "gate_fail": {"checks": [{"item": TEXT, "ok": False, "note": TEXT}], "violations": [TEXT]},
        "handoff": {"summary": TEXT, "artifacts": [TEXT]},
        "log": {"message": TEXT},
        "error": {"error": TEXT + "\n" + LONG},
        TEXT: {"anything": TEXT},
    }
    for number, (kind, payload) in enumerate(payloads.items()):
        insert(
            connection,
            "events",
            event_id=f"evt_{number}",
            adw_id="evil0001",
            phase_id="evil0001_01_x",
            type=kind,
            payload_json=json.dumps(payload),
            started_at=at,
            ended_at=None,
        )
    insert(
        connection,
        "events",
        event_id="evt_broken",
        adw_id="evil0001",
        phase_id="evil0001_01_x",
        type="log",
        payload_json="{no json " + TEXT,
        started_at=at,
        ended_at=None,
    )
    insert(
        connection,
        "gate_results",
        id=1,
        adw_id="evil0001",
        phase_id="evil0001_01_x",
        attempt=1,
        passed=0,
        checks_json=None,
    )
    insert(
        connection,
        "gate_results",
        id=2,
        adw_id="evil0001",
        phase_id="evil0001_01_x",
        attempt=1,
        passed=1,
        checks_json="[]",
        violations_json="[]",
    )
    insert(
        connection,
        "envelopes",
        envelope_id="env_1",
        adw_id="evil0001",
        phase_id="evil0001_01_x",
        valid=0,
        attempt=1,
        payload_json=json.dumps({"raw": TEXT}),
        created_at=at,
    )
    insert(connection, "processes", id=1, adw_id="evil0001", pid=1, kind="adw", started_at=at, ended_at=later)
    connection.close()
    return path


@pytest.fixture
def hostile_page(hostile: Path, tmp_path: Path) -> Iterator[str]:
    """Serve it."""
    server = Server([hostile], tmp_path / "state", tmp_path / "home")
    yield server.address
    server.stop()


def test_hostile_text_is_only_text(hostile_page: str, look: Looker) -> None:
    """On every screen that shows it, markup is letters, hidden characters are visible, and nothing ran."""
    page = look.open(hostile_page)
    expect(page.locator("[role=row][data-status]")).to_have_count(1)
    expect(page.locator(".row-link").first).to_contain_text("<img src=x onerror=")
    screens = [
        "#/s/evil0001",
        "#/s/evil0001/phase/evil0001_01_x",
        *(f"#/s/evil0001/event/evt_{n}" for n in range(7)),
        "#/s/evil0001/event/evt_broken",
    ]
    for screen in screens:
        page.goto(hostile_page + screen)
        expect(page.get_by_text("<script>").first).to_be_attached()
        page.wait_for_timeout(200)

        assert "owned" not in page.title()
        assert 0 == page.locator("#app img, #app script, #app iframe, #app a[href^='javascript']").count()
        shown = page.locator("#app").inner_text()
        assert not {"\u202e", "\u2066", "\u200b", "\x07", "\x1b"} & set(shown), screen
        assert "[U+202E]" in shown
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), screen


def test_gates_tell_nothing_inspected_from_no_evidence(hostile_page: str, look: Looker) -> None:
    """NULL and an empty list are different answers."""
    page = look.open(f"{hostile_page}#/s/evil0001/phase/evil0001_01_x")
    panel = page.get_by_role("complementary", name="Phase")
    expect(panel.locator(".problems li")).to_have_count(3)
    expect(panel).to_contain_text("No evidence recorded.")
    expect(panel).to_contain_text("Inspected nothing.")
    expect(page.locator(".summary")).to_contain_text("unknown")


def test_a_line_of_a_megabyte_is_there_when_it_is_asked_for(hostile_page: str, look: Looker) -> None:
    """Only its beginning is drawn at first; one press shows all of it, wrapped."""
    page = look.open(f"{hostile_page}#/s/evil0001/event/evt_1")
    block = page.locator(".text-block", has_text="argument command")
    assert len(block.locator("pre").inner_text()) < 10_000
    block.get_by_role("button", name="show all").click()
    expect(block.get_by_role("button", name="show less")).to_be_visible()
    assert len(block.locator("pre").inner_text()) > 1_000_000
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
