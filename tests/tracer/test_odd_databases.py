"""What other writers may do to a trace: go on after its end, store what is no text and no number."""

import contextlib
import json
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import pytest
from old_traces import LATER, READING, add_event, make
from tracer_lab import Project

from agent_workflow.tracer import TraceReader, TraceReadError, rebuild


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


def original(folder: Path, adw_id: str, payload: object, phase_id: str) -> None:
    """Write the files of a session as the original tracer did: events alone."""
    event = {"event_id": f"evt_{adw_id}", "ts": "2026-01-01T00:00:00+00:00", "adw_id": adw_id, "phase_id": phase_id}
    directory = folder / "sessions" / adw_id
    directory.mkdir(parents=True)
    line = json.dumps({**event, "type": "phase_start", "name": "plan", "payload": payload})
    (directory / "events.jsonl").write_text(line + "\n")


@pytest.mark.parametrize(
    ("payload", "phase_id", "damaged"),
    [
        (["no", "object"], "odd_01_plan", []),
        ({"kind": {"no": "word"}, "owner": [1]}, "odd_01_plan", []),
        ({"kind": "code"}, "good_01_plan", ["odd: phases good_01_plan belongs to another session as well"]),
    ],
    ids=["payload", "words", "copied directory"],
)
def test_odd_files_of_the_original_tracer(tmp_path: Path, payload: object, phase_id: str, damaged: list[str]) -> None:
    """They cost neither the database nor the other sessions anything."""
    db = tmp_path / "sssf.db"
    original(tmp_path, "good", {"kind": "code", "owner": "ci"}, "good_01_plan")
    rebuild(db, tmp_path)
    with TraceReader(db) as reader:
        before = reader.phases("good")
    original(tmp_path, "odd", payload, phase_id)

    report = rebuild(db, tmp_path)

    assert (None, damaged) == (report.set_aside, report.damaged)
    with TraceReader(db) as reader:
        assert before == reader.phases("good")
        assert {"good", "odd"} == {row["adw_id"] for row in reader.sessions()}


def test_a_newer_database_is_not_filled(tmp_path: Path) -> None:
    """It is left as it is, and whoever asks is told."""
    db = tmp_path / "sssf.db"
    rebuild(db, tmp_path)
    with contextlib.closing(sqlite3.connect(db)) as connection:
        connection.execute("PRAGMA user_version = 99")

    with pytest.raises(TraceReadError, match="newer"):
        rebuild(db, tmp_path)
