"""The one write: the review flag of a session."""

from typing import Any

from agent_workflow.tracer import MissingColumn, set_archived
from agent_workflow.tracer.viewing import TraceSource, session_row
from agent_workflow.visualizer._archive_flags import ArchiveFlags
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._errors import Refused
from agent_workflow.visualizer._live import live

_LIVE_WORDS = ("working", "waiting", "stalled")


def archive(database: Database, flags: ArchiveFlags, adw_id: str, *, archived: bool) -> dict[str, Any]:
    """Put a session away, or bring it back.

    Returns:
        The flag as it is now, and where it is kept.

    Raises:
        NoSuchSession: the trace does not hold it.
        Refused: it is running.
        TraceReadError, NotKept: the flag cannot be written.
    """

    def look(source: TraceSource) -> bool:
        session_row(source, adw_id, {})  # there is one
        return "archived" in source.columns("sessions")

    has_column = database.read(look)
    shown = live(database, database.version()).shown.get(adw_id)
    if archived and shown is not None and shown.word in _LIVE_WORDS:
        because = f" ({shown.because})" if shown.because else ""
        raise Refused(f"session {adw_id} is running{because}; it can be archived when it has ended")
    if has_column:
        try:
            set_archived(database.path, database.data_dir, adw_id, archived=archived)
        except MissingColumn:
            has_column = False  # the database was replaced by an older one at this moment
    if not has_column:
        flags.put(database.path, adw_id, archived=archived)
    return {"adw_id": adw_id, "archived": archived, "kept": "database" if has_column else "beside"}
