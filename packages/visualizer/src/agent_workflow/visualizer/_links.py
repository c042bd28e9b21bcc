"""From a run of the index to the trace it was recorded in, and back: the index says where that lies."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from agent_workflow.index_store import IndexStoreError
from agent_workflow.tracer import TraceReadError
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._index_reading import Index, Row
from agent_workflow.visualizer._projects import Projects

Linker = Callable[[Sequence[Row]], list[Row]]


def with_traces(projects: Projects, runs: Sequence[Row]) -> list[Row]:
    """Add to each run where its trace can be looked at, with one statement for each database.

    Returns:
        The rows with ``trace``, a link or None, and ``trace_state``: ``served``; ``not_served``, though the file is
        there; ``gone``, the file; ``no_session``, it is served and does not hold it; ``unreadable`` now; None for a run
        that was not traced.
    """
    wanted: dict[str, list[str]] = {}
    for run in runs:
        if run["trace_database"] is not None:
            wanted.setdefault(run["trace_database"], []).append(run["adw_id"])
    looked_at = {path: _look(projects, Path(path), sessions) for path, sessions in wanted.items()}
    linked = []
    for run in runs:
        trace, state = None, None
        if run["trace_database"] is not None:
            database, held, state = looked_at[run["trace_database"]]
            if database is not None and state == "served":
                is_there = run["adw_id"] in held
                trace = {"project": database.name, "adw_id": run["adw_id"]} if is_there else None
                state = state if is_there else "no_session"
        linked.append(run | {"trace": trace, "trace_state": state})
    return linked


def _look(projects: Projects, path: Path, sessions: list[str]) -> tuple[Database | None, frozenset[str], str]:
    """Find a database among those served, which of some sessions it holds, and how it is."""
    database = projects.holding(path)
    try:
        path.stat()
        if database is None:
            return None, frozenset(), "not_served"
        return database, _held(database, sessions), "served"
    except (FileNotFoundError, NotADirectoryError, ValueError):  # the last where it is no path at all
        return database, frozenset(), "gone"
    except (OSError, TraceReadError):
        return database, frozenset(), "unreadable"  # it must not take the fleet with it


def _held(database: Database, sessions: list[str]) -> frozenset[str]:
    statement = "SELECT adw_id FROM sessions WHERE adw_id IN (SELECT value FROM json_each(?))"
    found = database.read(lambda source: source.tuples(statement, (json.dumps(sessions),)))
    return frozenset(str(row[0]) for row in found)


def published_run(index: Index, projects: Projects, database: Database, adw_id: str) -> dict[str, Any]:
    """Say whether the index has a run that a session was published as; of several, the newest."""
    try:
        with index.open() as reading:
            runs = reading.runs_of_session(adw_id)
    except IndexStoreError:
        return {"state": "no_index", "session_id": None}
    own = (run["session_id"] for run in runs if projects.holding(Path(run["trace_database"])) is database)
    session_id = next(own, None)
    return {"state": "not_indexed" if session_id is None else "indexed", "session_id": session_id}
