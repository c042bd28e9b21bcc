"""Which sessions of a trace database are exported."""

from collections.abc import Sequence

from agent_workflow import index_store
from agent_workflow.cli.otlp.recorded import nanoseconds
from agent_workflow.tracer import TraceReader

_MOST_SESSIONS = 1_000_000


def selected(reader: TraceReader, named: Sequence[str], since: str | None) -> list[str]:
    """Return the ids of the sessions that are meant, oldest first where none are named.

    Args:
        reader: of the trace database.
        named: these, archived ones too; each once.
        since: those that began then or later, as ``index query --since`` takes it.

    Raises:
        NoSuchSession: one that is named is not there.
        InvalidQuestion: ``since`` is no time.
    """
    if named:
        return [str(reader.session(adw_id)["adw_id"]) for adw_id in dict.fromkeys(named)]
    earliest = None if since is None else int(index_store.parse_moment(since, "since") * 1e9)
    rows = reader.sessions(limit=_MOST_SESSIONS)
    rows.reverse()
    return [str(row["adw_id"]) for row in rows if earliest is None or _began(row["started_at"]) >= earliest]


def _began(started_at: object) -> int:
    return nanoseconds(started_at) or -1
