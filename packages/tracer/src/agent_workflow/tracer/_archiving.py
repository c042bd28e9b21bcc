"""The review flag: it says that a person has looked at a run. Nothing of the run reads or writes it."""

import sqlite3
from pathlib import Path

from agent_workflow.tracer import _clock
from agent_workflow.tracer._connect import BUSY_TIMEOUT_MS
from agent_workflow.tracer._errors import MissingColumn, StillRunning, TraceReadError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import Journal
from agent_workflow.tracer._json import encode
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer._shown import RUNNING


def set_archived(db: Path, data_dir: Path, adw_id: str, *, archived: bool) -> None:
    """Put a session away, or bring it back.

    Args:
        db: the trace database; its tables are not changed.
        data_dir: where the session's files are, so that a rebuild keeps the flag.
        adw_id: the session.
        archived: whether it is put away.

    Raises:
        NoSuchSession: the trace does not hold it.
        StillRunning: it is to be put away, and has not ended.
        MissingColumn: the database is older than the flag.
        TraceReadError: it cannot be written.
    """
    with TraceReader(db) as reader:
        session = reader.session(adw_id)
        if archived and session["shown_status"] == RUNNING:
            hint = f"it can be archived when it has ended; agent-workflow trace kill {adw_id} stops it"
            raise StillRunning(f"session {adw_id} is running", path=db, hint=hint)
        if "archived" not in reader.columns("sessions"):
            raise MissingColumn(
                "this database is older than archiving",
                path=db,
                hint="agent-workflow trace rebuild brings it up to date",
            )
    files = SessionFiles.of(data_dir, adw_id)
    if files.state.exists():
        record = {"ts": _clock.now(), "table": "sessions", "row": {"adw_id": adw_id, "archived": int(archived)}}
        journal = Journal(files.state)
        try:
            journal.append(encode(record).encode("ascii") + b"\n")
        finally:
            journal.close()
    connection = sqlite3.connect(db, timeout=BUSY_TIMEOUT_MS / 1000, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("UPDATE sessions SET archived = ? WHERE adw_id = ?", (int(archived), adw_id))
    except sqlite3.Error as error:
        raise TraceReadError(f"cannot be written: {error}", path=db) from error
    finally:
        connection.close()
