"""Nothing is cut off without a way to read it, and nothing is waited for that never comes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from page_server import Looker, Server
from page_traces import Trace
from playwright.sync_api import expect

pytestmark = pytest.mark.browser
PHASE = "aaaa0001_01_build"


@pytest.fixture
def trace(tmp_path: Path) -> Iterator[Trace]:
    """Make a trace with one phase."""
    made = Trace(tmp_path / "shop/sssf.db")
    made.session("aaaa0001")
    made.phase("aaaa0001", 1, "build")
    yield made
    made.close()


@pytest.fixture
def server(trace: Trace, tmp_path: Path) -> Iterator[Server]:
    """Serve it."""
    made = Server([trace.path], tmp_path / "state", tmp_path / "home")
    yield made
    made.stop()


def test_evidence_of_a_gate_that_was_cut_is_shown_whole(trace: Trace, server: Server, look: Looker) -> None:
    """Two thousand items: the first ones with a sentence, all of them when asked for."""
    checks = [{"item": f"file-{number}.txt", "ok": number != 1999, "note": "x" * 60} for number in range(2000)]
    trace.insert(
        "gate_results", adw_id="aaaa0001", phase_id=PHASE, gate="files", passed=0, checks_json=json.dumps(checks)
    )
    page = look.open(f"{server.address}#/s/aaaa0001/phase/{PHASE}")
    panel = page.get_by_role("complementary", name="Phase")
    expect(panel).to_contain_text("Only the beginning of")
    expect(panel.get_by_text("file-1999.txt")).to_have_count(0)

    panel.get_by_role("button", name="show all of it").click()

    expect(panel.get_by_text("file-1999.txt")).to_have_count(1)
    expect(panel).to_contain_text("1 of 2,000 items not good")


@pytest.mark.parametrize("payload", ["", "null", "0", "false", '""', "[]", "no JSON at all"])
def test_any_payload_is_shown_and_none_is_waited_for(payload: str, trace: Trace, server: Server, look: Looker) -> None:
    """An empty one, too: the panel never reads for ever."""
    event_id = trace.event("aaaa0001", "tool_call", payload, phase_id=PHASE, name="bash: make")

    page = look.open(f"{server.address}#/s/aaaa0001/event/{event_id}")

    panel = page.get_by_role("complementary", name="Event")
    expect(panel).to_contain_text("bash: make")
    expect(panel.locator("pre, .call-body, .stack").first).to_be_visible()
    expect(panel.get_by_text("Reading")).to_have_count(0)
