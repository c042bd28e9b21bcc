"""Routes about the databases themselves: which there are, and how each of them is."""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response

from agent_workflow.tracer import TraceReadError
from agent_workflow.tracer.viewing import TraceSource
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._errors import problem_of, trace_problem
from agent_workflow.visualizer._project_models import Health, Project
from agent_workflow.visualizer._projects import project_root
from agent_workflow.visualizer._replies import reply
from agent_workflow.visualizer._requests import ERRORS, Finder, served


def root_router() -> APIRouter:
    """Make the routes about all databases together."""
    router = APIRouter(tags=["projects"])

    @router.get("/projects", response_model=list[Project])
    def list_of_projects(request: Request) -> Response:
        """List the databases that are served, each with whether it can be read."""
        return reply([_project(database) for database in served(request).projects])

    return router


def project_router(find: Finder) -> APIRouter:
    """Make the routes about one database, found in one way."""
    router = APIRouter(tags=["projects"])

    @router.get("/health", response_model=Health, responses=ERRORS)
    def health(database: Annotated[Database, Depends(find)]) -> Response:
        """Say how the database is, and how fresh."""
        return reply(database.read(lambda source: _health(database, source)))

    return router


def _health(database: Database, source: TraceSource) -> dict[str, Any]:
    columns = source.columns("sessions")
    started = "max(started_at)" if "started_at" in columns else "NULL"
    count, newest = source.tuples(f"SELECT count(*), {started} FROM sessions")[0]  # noqa: S608
    log = database.path.with_name(database.path.name + "-wal")
    return {
        "ok": True,
        "db": str(database.path),
        "journal_mode": str(source.value("PRAGMA journal_mode")),
        "sessions": int(count),
        "project": database.name,
        "generation": source.generation(),
        "schema_version": int(source.value("PRAGMA user_version") or 0),
        "size_bytes": _size(database.path),
        "wal_bytes": _size(log),
        "last_session_at": newest,
        "archiving": "database" if "archived" in columns else "beside",
        "missing": _missing(source),
        "version": version("agent-workflow-visualizer"),
    }


def _missing(source: TraceSource) -> list[str]:
    """Name the tables and columns of the contract that the database lacks."""
    from agent_workflow.trace_schema import TABLES

    lacking = []
    for name, table in TABLES.items():
        present = source.columns(name)
        if not present:
            lacking.append(name)
            continue
        lacking += [
            f"{name}.{column}" for column in table.columns if column not in present and column != "start_marker"
        ]
    return lacking


def _project(database: Database) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": database.name,
        "root": str(project_root(database.path)),
        "db": str(database.path),
        "dbExists": database.path.is_file(),
        "lastRun": None,
        "available": True,
        "sessions": None,
        "problem": None,
        "error": None,
    }
    try:
        found = database.read(lambda source: _health(database, source))
    except TraceReadError as error:
        return row | {"available": False, "problem": trace_problem(error), "error": problem_of(error).error}
    return row | {"lastRun": found["last_session_at"], "sessions": found["sessions"]}


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
