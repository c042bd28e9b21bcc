"""Closing a session that cannot close itself: by its own process on the way out, or by whoever finds it dead."""

from collections.abc import Callable
from pathlib import Path

from agent_workflow.tracer import _clock
from agent_workflow.tracer._errors import TraceReadError, TracerError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._identity import RecordedProcess, judge
from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer._json import clip
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer._replay import Row, SessionState, replay_state, session_lock
from agent_workflow.tracer._shown import LOST, RUNNING
from agent_workflow.tracer._tracer import Tracer

ERROR_CHARACTERS = 1_000
REFUSED_CONFIGURATION = "the configuration cannot be used"
PROCESS_IS_GONE = "the workflow's process is gone; it was killed or the machine went down"


def close_session(tracer: Tracer, reason: str, *, name: str, own_process: int | None = None) -> bool:
    """Write the end of a session: its open phases and the session fail, its process rows are closed.

    Of one that has ended already, rows of dead processes are closed: its workflow was killed as it finished.

    Args:
        tracer: of that session.
        reason: why, in words for a reader.
        name: of the error event.
        own_process: number of the row of the workflow process that closes its own session; it is closed too.

    Returns:
        ``False`` when it had ended already, or somebody else's session turns out to be at work.

    Raises:
        TraceWriteFailed: the files cannot take it.
    """
    with session_lock(tracer.files):
        state = replay_state(tracer.files)
        if state.session().get("status") != RUNNING:
            tracer.rows(*process_ends(state, own_process))
            return False
        if own_process is None and is_at_work(state):
            return False
        open_phases = [row for row in state.of("phases") if row.get("status") in (RUNNING, "queued")]
        last = open_phases[-1] if open_phases else next(reversed(state.of("phases")), {})
        tracer.event("error", name, {"error": reason}, phase_id=str(last.get("phase_id", "")))
        for phase in open_phases:
            end_phase(tracer, phase["phase_id"], str(phase.get("name")), "fail", reason)
        end = {"status": "fail", "ended_at": _clock.now()}
        tracer.rows(("sessions", end), *process_ends(state, own_process))
    return True


def is_at_work(state: SessionState, besides: int | None = None) -> bool:
    """Tell whether a workflow process is at work in a session.

    Args:
        state: of the session, from its files.
        besides: a process that does not count.
    """
    rows = [RecordedProcess.from_row(row) for row in state.of("processes")]
    return any(
        row.kind == "adw" and row.ended_at is None and row.pid != besides and judge(row, find(row.pid or 0)) == "alive"
        for row in rows
    )


def end_phase(tracer: Tracer, phase_id: str, name: str, status: str, error: str | None, parent_id: str = "") -> None:
    """Write the end of a phase to its row and as an event."""
    tracer.row(
        "phases",
        phase_id=phase_id,
        status=status,
        error=None if error is None else clip(error, ERROR_CHARACTERS),
        ended_at=_clock.now(),
    )
    tracer.event("phase_end", name, {"status": status}, phase_id=phase_id, parent_id=parent_id)
    tracer.tidy()


def process_ends(state: SessionState, own_process: int | None) -> list[tuple[str, Row]]:
    """Return what closes the rows of processes that have ended, and of this one; for ``Tracer.rows``."""
    rows = [RecordedProcess.from_row(row) for row in state.of("processes") if row.get("ended_at") is None]
    return [
        ("processes", {"id": row.id, "ended_at": _clock.now()})
        for row in rows
        if row.id == own_process or judge(row, find(row.pid or 0)) != "alive"
    ]


def close_lost_sessions(db: Path, data_dir: Path, warn: Callable[[str], None], *, skip: str = "") -> list[str]:
    """Close every session of a database whose process has gone, also where only its process rows are left open.

    Args:
        db: the trace database.
        data_dir: where its session directories are.
        warn: told about sessions that cannot be closed.
        skip: a session that the caller looks after.

    Returns:
        The ids that were closed, without those that had ended.
    """
    try:
        with TraceReader(db) as reader:
            lost = {row["adw_id"] for row in reader.running_sessions() if row["shown_status"] == LOST}
            left = (lost | left_open(reader, data_dir)) - {skip}
            stored = {adw_id: rows_of(reader, adw_id) for adw_id in sorted(left)}
    except TraceReadError as error:
        warn(f"{db}: cannot look for lost sessions: {error}")
        return []
    closed = []
    for adw_id, rows in stored.items():
        try:
            if close_lost_session(db, data_dir, adw_id, rows, warn):
                closed.append(adw_id)
        except (TracerError, OSError) as error:
            warn(f"session {adw_id} is lost and cannot be closed: {error}")
    return closed


def left_open(reader: TraceReader, data_dir: Path) -> set[str]:
    """Find ended sessions, of those with files of rows, that have the row of a dead process still open."""
    dead = {row.recorded.adw_id for row in reader.left_processes() if row.state != "alive"}
    return {adw_id for adw_id in dead if is_valid_id(adw_id) and SessionFiles.of(data_dir, adw_id).state.exists()}


def close_lost_session(
    db: Path,
    data_dir: Path,
    adw_id: str,
    stored: dict[str, list[Row]],
    warn: Callable[[str], None],
    *,
    reason: str = PROCESS_IS_GONE,
    name: str = LOST,
) -> bool:
    """Close one session whose process has gone, once.

    Args:
        db: the trace database.
        data_dir: where its session directory is.
        adw_id: the session.
        stored: its rows in the database, written to files that have none (a session of the original tracer).
        warn: told when the database cannot take it.
        reason: why, in words for a reader.
        name: of the error event.

    Raises:
        TraceWriteFailed: its files cannot take it.
    """
    tracer = Tracer(db, data_dir, adw_id, warn=warn)
    try:
        adopt(tracer, stored)
        if not is_at_work(replay_state(tracer.files)):
            tracer.reserve.release()
        tracer.copy_all()
        return close_session(tracer, reason, name=name)
    finally:
        tracer.close()


def rows_of(reader: TraceReader, adw_id: str) -> dict[str, list[Row]]:
    """Read all rows of a session but its events, as the database has them."""
    return {
        "sessions": [reader.session(adw_id)],
        "phases": reader.phases(adw_id),
        "envelopes": reader.envelopes(adw_id),
        "gate_results": reader.gate_results(adw_id),
        "processes": [process.recorded.row() for process in reader.processes(adw_id)],
        "agent_sessions": reader.agent_sessions(adw_id),
    }


def adopt(tracer: Tracer, stored: dict[str, list[Row]]) -> None:
    """Give a session of the original tracer the file that it lacks, so that a rebuild finds all of it."""
    if tracer.files.state.stat().st_size:
        return
    # At once: where a part of the rows is in a file, a rebuild drops the others.
    tracer.rows(*((table, row) for table, rows in stored.items() for row in rows))
