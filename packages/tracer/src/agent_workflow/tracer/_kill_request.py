"""The note that a run was asked to end, written to its trace before the first signal.

Agents are ended before their workflow. Without the note, what a workflow makes of that (its agent failed, or ended well
when it was told to end) would be taken for its own end.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._replay import replay_state, session_lock
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer._spend import events_with
from agent_workflow.tracer._tracer import Tracer

ENDED_BY_KILL: Final = "ended by trace kill"
FRONT_WAS_KILLED: Final = "agent-workflow run was killed, and the command was ended"
KILL: Final = "kill"
"""Name of the ``log`` event; its payload says whether the run is ``asked_to_end``."""
_LOCK_SECONDS: Final = 5.0


def note_kill(db: Path, data_dir: Path, adw_id: str, warn: Callable[[str], None], *, asked_to_end: bool) -> bool:
    """Note that a running session is asked to end, or that this was given up.

    Args:
        db: the trace database.
        data_dir: where its session directory is.
        adw_id: the session.
        warn: told when it cannot be noted; the run can be ended all the same.
        asked_to_end: false when what was to be ended is still alive and is left alone.

    Returns:
        Whether it was noted: not for a session that has ended, or whose files are not there or hold no rows.
    """
    files = SessionFiles.of(data_dir, adw_id)
    try:
        with session_lock(files, _LOCK_SECONDS):
            if replay_state(files).session().get("status") != RUNNING:
                return False
            tracer = Tracer(db, data_dir, adw_id, warn=warn)
            try:
                tracer.event("log", KILL, {"asked_to_end": asked_to_end, "by": "trace kill"})
            finally:
                tracer.close()  # the reserve stays: the run needs it for its end
    except FileNotFoundError:
        return False
    except (TracerError, OSError) as error:
        warn(f"session {adw_id}: it cannot be noted that it is asked to end: {error}")
        return False
    return True


def was_asked_to_end(files: SessionFiles, since: str) -> bool:
    """Tell whether a session was asked to end at or after a time, and that was not given up.

    Args:
        files: the session.
        since: as the trace writes times.
    """
    asked = False
    for record in events_with(files, b'"asked_to_end"'):
        payload = record.get("payload")
        if record.get("name") == KILL and str(record.get("ts")) >= since and isinstance(payload, dict):
            asked = payload.get("asked_to_end") is True
    return asked
