"""What other writers may do to a trace: go on after its end, store what is no text and no number."""

import json
from datetime import UTC, datetime

import pytest
from old_traces import LATER, READING, add_event, make
from tracer_lab import Project

from agent_workflow.tracer import TraceReader


@pytest.mark.parametrize("stored", ["fail", "success"])
def test_a_session_that_goes_on_after_its_end(project: Project, stored: str) -> None:
    """Events since a session was stored as ended show it at work, as on the page; the row is left as it is."""
    make(project.db, [*LATER, f"UPDATE sessions SET status = '{stored}', ended_at = '2026-01-02T03:05:00.000+00:00'"])
    before = json.loads(project.cli("trace", "sessions", "--json").out)["sessions"][0]
    add_event(project.db, "evt_2", datetime.now(UTC).isoformat(timespec="milliseconds"))

    after = json.loads(project.cli("trace", "sessions", "--json").out)["sessions"][0]
    killed = project.cli("trace", "kill", "old1")

    assert (stored, stored) == (before["status"], before["shown_status"])
    assert (stored, "running") == (after["status"], after["shown_status"])
    assert f"nothing runs\nsession old1: {stored}\n" == killed.out


def test_text_that_is_no_utf8(project: Project) -> None:
    """Bytes that another writer stored as text hide neither their row nor the others, from any command."""
    make(
        project.db,
        [*LATER, "UPDATE events SET name = CAST(x'68656c6c6fff' AS TEXT)", "UPDATE phases SET error = x'00ff'"],
    )

    shown = [project.cli(*command) for command in READING]

    assert "hello\ufffd" in shown[2].out
    assert "<2 bytes>" in shown[1].out


def test_cells_of_another_type(project: Project) -> None:
    """Times that are numbers and numbers that are words, which SQLite keeps, are unknown and stop no command."""
    odd = [
        "UPDATE sessions SET started_at = 1754000000, total_tokens = 'many', total_cost = 'free'",
        "UPDATE phases SET seq = 'first', attempt = x'ff', started_at = 12.5, ended_at = 'never'",
        "UPDATE events SET tokens = 'few', started_at = 7, ended_at = 1e999",
    ]
    make(project.db, [*LATER, *odd])

    shown = [project.cli(*command) for command in READING]

    assert "old1" in shown[0].out
    with TraceReader(project.db) as reader:
        session = reader.session("old1")
    assert (None, None, "success") == (session["total_tokens"], session["total_cost"], session["shown_status"])


def test_a_running_session_is_not_archived(project: Project) -> None:
    """Whoever put it away would lose sight of what still works; a lost one may be put away."""
    make(project.db, [*LATER, "UPDATE sessions SET status = 'running'"])
    add_event(project.db, "evt_2", datetime.now(UTC).isoformat(timespec="milliseconds"))

    done = project.cli("trace", "archive", "old1", code=1)
    kept = project.session("old1")["archived"]
    project.cli("trace", "archive", "old1", "--undo")
    make(project.root / "lost.db", [*LATER, "UPDATE sessions SET status = 'running'"])
    project.cli("trace", "archive", "old1", "--db", "lost.db")

    assert "session old1 is running; it can be archived when it has ended" in done.err
    assert 0 == kept
