"""The recorder's order of writing: files first, then the database."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agent_workflow.tracer import (
    Tracer,
    TracerError,
    rebuild,
)


def test_file_before_database(tmp_path: Path) -> None:
    """When a call returns, the event is the last line of its file and a committed row of the database."""
    tracer = Tracer(tmp_path / "sssf.db", tmp_path, "run1")
    event_id = tracer.event("log", "naïve \ud83d", {"a": [1, None, "\u2028"]}, phase_id="p")

    line = json.loads(tracer.files.events.read_bytes().split(b"\n")[-2])
    other = sqlite3.connect(tmp_path / "sssf.db")
    row = other.execute("SELECT event_id, adw_id, phase_id, type, name, payload_json FROM events").fetchone()
    other.close()
    tracer.close()

    assert event_id == line["event_id"] == row[0]
    assert ("run1", "p", "log", "naïve ?", '{"a": [1, null, "\\u2028"]}') == row[1:]
    assert [
        "event_id",
        "ts",
        "adw_id",
        "phase_id",
        "type",
        "name",
        "payload",
        "parent_id",
        "tokens",
        "started_at",
        "ended_at",
    ] == list(line)


def test_log_is_copied_back_between_phases(tmp_path: Path) -> None:
    """The database's log does not grow with the number of phases, and a reader in the way is not waited for."""
    tracer = Tracer(tmp_path / "sssf.db", tmp_path, "run1")
    log = tmp_path / "sssf.db-wal"
    sizes = []
    for _ in range(4):
        for _ in range(400):
            tracer.event("log", "large", {"text": "x" * 8000})
        tracer.tidy()
        sizes.append(log.stat().st_size)
    tracer.close()

    assert sizes[0] > 4 * 1024 * 1024
    assert max(sizes) < 2 * sizes[0]


@pytest.mark.parametrize("adw_id", ["", ".", "..", "a/b", "-a", "a" * 129, "ä"])
def test_session_ids_that_are_refused(tmp_path: Path, adw_id: str) -> None:
    """An id that could leave the sessions' folder names no session."""
    with pytest.raises(TracerError):
        Tracer(tmp_path / "sssf.db", tmp_path, adw_id)


def test_number_that_another_session_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes that draw the same number both keep their row, and a rebuild agrees."""
    numbers = iter([7, 7, 8])
    monkeypatch.setattr("agent_workflow.tracer._ids.new_row_id", lambda: next(numbers))
    drawn = []
    for adw_id in ("one", "two"):
        tracer = Tracer(tmp_path / "sssf.db", tmp_path, adw_id)
        tracer.row("sessions", status="success")
        drawn.append(tracer.numbered_row("gate_results", gate=adw_id))
        tracer.close()
    before = gates_in(tmp_path / "sssf.db")

    report = rebuild(tmp_path / "sssf.db", tmp_path)

    assert [7, 8] == drawn
    assert [(7, "one", "one"), (8, "two", "two")] == before
    assert report.lost_nothing
    assert before == gates_in(tmp_path / "sssf.db")


def gates_in(db: Path) -> list[Any]:
    """Read the rows of all gates."""
    connection = sqlite3.connect(db)
    rows = connection.execute("SELECT id, adw_id, gate FROM gate_results ORDER BY id").fetchall()
    connection.close()
    return rows
