"""From a run of the index to the trace it was published from, and back.

Until launch contracts name the trace database, a run and a session belong together when their ids are equal and, where
the run tells its working directory, the trace database lies in it.
"""

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from agent_workflow.tracer import TraceReadError
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._projects import Projects

Link = dict[str, str] | None


def trace_links(projects: Projects, sessions: Iterable[str]) -> Callable[[str, str | None], Link]:
    """Look a set of runs up in all databases, one statement each.

    Returns:
        A function from a run's id and working directory to its link.
    """
    wanted = json.dumps(list(sessions))
    holders: dict[str, list[Database]] = {}
    for database in projects:
        for adw_id in _held(database, wanted):
            holders.setdefault(adw_id, []).append(database)

    def link(session: str, workdir: str | None) -> Link:
        found = [one for one in holders.get(session, []) if workdir is None or _lies_in(one.path, Path(workdir))]
        return {"project": found[0].name, "adw_id": session} if len(found) == 1 else None

    return link


def _held(database: Database, wanted: str) -> list[str]:
    statement = "SELECT adw_id FROM sessions WHERE adw_id IN (SELECT value FROM json_each(?))"
    try:
        return [str(row[0]) for row in database.read(lambda source: source.tuples(statement, (wanted,)))]
    except TraceReadError:
        return []  # a database that cannot be read now must not take the fleet with it


def _lies_in(path: Path, folder: Path) -> bool:
    return folder in path.parents
