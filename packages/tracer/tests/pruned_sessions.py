"""Sessions to delete, and deletions that are killed, each one step later than the one before.

``python pruned_sessions.py FOLDER`` makes ``FOLDER/<step>`` for every step and prints how many there were; the last one
got through. What was announced is in ``announced.json`` beside the trace, as a receipt would have it.
"""

import hashlib
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from agent_workflow.tracer import Tracer
from agent_workflow.tracer.retention import SessionRemoval, delete_session, survey_sessions

LONG_AGO = "2026-01-01T00:00:00.000+00:00"
TABLES = ("sessions", "phases", "events", "envelopes", "gate_results", "processes", "agent_sessions", "ledger")
OLD, OTHER = "old1", "other1"


def database(folder: Path) -> Path:
    """Return where the trace database of a folder is."""
    return folder / "sssf.db"


def make_session(folder: Path, adw_id: str, *, status: str = "success", pid: int = 2**22 + 1) -> Path:
    """Record a session with rows in every table, and return its directory."""
    tracer = Tracer(database(folder), folder, adw_id)
    ended = None if status == "running" else LONG_AGO
    tracer.row("sessions", adw_name="x", request="do", status=status, started_at=LONG_AGO, ended_at=ended)
    phase = f"{adw_id}-p1"
    tracer.row("phases", phase_id=phase, seq=1, name="work", kind="agent", status="success", started_at=LONG_AGO)
    for number in range(3):
        tracer.event("log", f"note {number}", {"n": number}, phase_id=phase)
    tracer.row("envelopes", envelope_id=f"{adw_id}-e1", phase_id=phase, agent="a", payload_json="{}", valid=1)
    tracer.numbered_row("gate_results", phase_id=phase, gate="tests_pass", passed=1, created_at=LONG_AGO)
    tracer.numbered_row("processes", kind="adw", name="", pid=pid, command="x", started_at=LONG_AGO, ended_at=ended)
    tracer.row("agent_sessions", agent="a", coding_agent="pi", created_at=LONG_AGO)
    tracer.reserve.release()
    tracer.close()
    directory = folder / "sessions" / adw_id
    (directory / "builder").mkdir()
    (directory / "builder" / "raw_output.jsonl").write_text('{"type": "text"}\n')
    (directory / "context_handoff" / "plan.md").write_text("# Plan\n")
    for path in directory.rglob("*"):
        os.utime(path, (1_767_225_600, 1_767_225_600))  # as long ago as its rows say
    return directory


def make_trace(folder: Path) -> Path:
    """Make a trace with two sessions and a table of another writer."""
    folder.mkdir(parents=True, exist_ok=True)
    make_session(folder, OLD)
    make_session(folder, OTHER)
    connection = sqlite3.connect(database(folder))
    connection.execute("CREATE TABLE ledger (adw_id TEXT, entry TEXT)")
    connection.executemany("INSERT INTO ledger VALUES (?, 'x')", [(OLD,), (OTHER,)])
    connection.commit()
    connection.close()
    return folder


def files_of(directory: Path) -> dict[str, str]:
    """Return every file with its digest."""
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def rows(folder: Path, adw_id: str) -> dict[str, int]:
    """Count the rows of a session."""
    connection = sqlite3.connect(database(folder))
    try:
        return {
            table: connection.execute(f"SELECT count(*) FROM {table} WHERE adw_id = ?", (adw_id,)).fetchone()[0]
            for table in TABLES
        }
    finally:
        connection.close()


def announcing(folder: Path, adw_id: str) -> Callable[[Sequence[Mapping[str, object]], Mapping[str, object]], None]:
    """Return what writes down the announcement."""

    def announce(files: Sequence[Mapping[str, object]], intent: Mapping[str, object]) -> None:
        path = str(folder / "sessions" / adw_id)
        (folder / "announced.json").write_text(json.dumps({"files": files, "intent": {**intent, "path": path}}))

    return announce


def delete(folder: Path, adw_id: str = OLD, step: Callable[[str], None] = lambda _name: None) -> SessionRemoval:
    """Delete one session that may go."""
    (planned,) = (s for s in survey_sessions(database(folder), folder).ended if s.adw_id == adw_id)
    return delete_session(planned, announcing(folder, adw_id), tag="4c4c4c4c4c4c", step=step)


def main() -> None:
    """Kill until one deletion gets through."""
    folder = Path(sys.argv[1])
    for number in range(1, 2000):
        if _is_through(make_trace(folder / str(number)), number):
            print(number)
            return


def _is_through(trace: Path, number: int) -> bool:
    pid = os.fork()
    if pid == 0:
        _delete_and_die(trace, number)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return False
    assert os.WEXITSTATUS(status) == 0
    return True


def _delete_and_die(trace: Path, number: int) -> NoReturn:
    passed = 0

    def step(_name: str) -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        assert delete(trace, step=step).outcome == "deleted"
    except BaseException as error:  # noqa: BLE001 - the fork must never go on as its parent
        sys.stderr.write(f"{error!r}\n")
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
