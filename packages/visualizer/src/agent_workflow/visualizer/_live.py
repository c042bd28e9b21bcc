"""What the running sessions of a database are doing now, looked at no more than once a second."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from agent_workflow.tracer import parse_time
from agent_workflow.tracer.viewing import (
    RecordedProcess,
    Row,
    Shown,
    TraceSource,
    by_session,
    judged,
    look,
    parts_of,
    resumed,
    running_rows,
)
from agent_workflow.visualizer._database import Database

_SECONDS: Final = 1.0


class Live(NamedTuple):
    """The running sessions.

    Attributes:
        shown: what to show for each session that is stored as running, or goes on although it is stored as ended.
        digest: changes when any of it changes.
    """

    shown: Mapping[str, Shown]
    digest: str


def live(database: Database, version: str) -> Live:
    """Return what is shown for the running sessions of a database in a state.

    Raises:
        TraceReadError: it cannot be read now.
    """
    return database.memory.get(
        "live", version, lambda: database.read(lambda source: _look(database, source)), seconds=_SECONDS
    )


def _look(database: Database, source: TraceSource) -> Live:
    rows = running_rows(source)
    recorded = by_session(parts_of(source, "processes", [str(row["adw_id"]) for row in rows]))
    shown = {str(row["adw_id"]): _shown(database, source, row, recorded.get(str(row["adw_id"]), [])) for row in rows}
    shown |= resumed(source, shown.keys())
    digest = ";".join(f"{adw_id}={one.word}{(one.last_sign_at or '')[:18]}" for adw_id, one in sorted(shown.items()))
    return Live(shown, digest)


def _shown(database: Database, source: TraceSource, row: Row, processes: list[Row]) -> Shown:
    adw_id = str(row["adw_id"])
    looked_at = [judged(RecordedProcess.from_row(process)) for process in processes]
    with database.rowids_lock:
        last = database.rowids.last(source, adw_id)
    sign = None
    if last:
        ended = source.expression("events", "ended_at")
        found = source.tuples(f"SELECT started_at, {ended} FROM events WHERE rowid = ?", (last,))  # noqa: S608
        sign = parse_time(found[0][1] or found[0][0]) if found else None
    return look(row["status"], row["started_at"], sign, looked_at, database.session_directory(adw_id))
