"""Everything that can go wrong here, and the one place where errors become words of HTTP."""

import logging
import sqlite3
from pathlib import Path
from typing import Final, NamedTuple

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from agent_workflow.index_store import IndexStoreError, InvalidQuestion, MissingDatabase, UnknownRun
from agent_workflow.tracer import NoSuchSession, NotATrace, NoTrace, TraceReadError, TracerError
from agent_workflow.tracer.viewing import NoSuchFile, NoSuchRecord, UnsafeName
from agent_workflow.visualizer._replies import json_bytes

log: Final = logging.getLogger("agent_workflow.visualizer")


class VisualizerError(Exception):
    """Base of all errors of this package."""


class MalformedRequest(VisualizerError):
    """An id, a filter or a body is not what it must be."""


class UnknownProject(VisualizerError):
    """No database of this name is served."""


class UnknownThing(VisualizerError):
    """What was asked for does not exist."""


class Refused(VisualizerError):
    """An action that would be wrong now."""


class NotKept(VisualizerError):
    """A review flag could not be written."""


class Problem(NamedTuple):
    """An error in words.

    Attributes:
        status: of HTTP.
        error: what is wrong, and what to do.
        problem: one word for programs.
    """

    status: int
    error: str
    problem: str


_WORDS: Final = {404: "unknown", 405: "refused", 413: "too_large"}
_NOT_FOUND: Final = (NoSuchSession, NoSuchRecord, NoSuchFile, UnknownProject, UnknownThing, UnknownRun)
_MALFORMED: Final = (MalformedRequest, UnsafeName, InvalidQuestion)


def problem_of(error: Exception) -> Problem:
    """Put an error into words."""
    if isinstance(error, _NOT_FOUND):
        return Problem(404, str(error), "unknown")
    if isinstance(error, _MALFORMED):
        return Problem(400, str(error), "malformed")
    if isinstance(error, Refused):
        return Problem(409, str(error), "refused")
    if isinstance(error, TraceReadError):
        return Problem(503, _with_place(error, error.path, error.hint), trace_problem(error))
    if isinstance(error, IndexStoreError):
        word = "index_missing" if isinstance(error, MissingDatabase) else "index_unavailable"
        return Problem(503, _with_place(error, None, error.hint), word)
    if isinstance(error, TracerError | VisualizerError | OSError):
        return Problem(503, str(error) or type(error).__name__, "unavailable")
    return Problem(503, f"the server met a fault that it does not know ({type(error).__name__})", "fault")


def trace_problem(error: TraceReadError) -> str:
    """Say in one word what is wrong with a trace database."""
    if isinstance(error, NoTrace):
        return "empty" if error.path is not None and Path(error.path).is_file() else "missing"
    if isinstance(error, NotATrace):
        return "empty" if error.path is not None and _size(error.path) == 0 else "not_a_trace"
    cause = error.__cause__
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return "locked"
    return "damaged" if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) else "unreadable"


def install(app: FastAPI) -> None:
    """Let an application answer every error with ``{"error": …}``."""

    def answer(_request: Request, error: Exception) -> Response:
        return error_reply(problem_of(error))

    def invalid(_request: Request, error: Exception) -> Response:
        return error_reply(Problem(400, _what_is_invalid(error), "malformed"))

    def http(_request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 400)
        words = {404: "no such route", 405: "this route does not take that method"}
        headers = getattr(error, "headers", None) or {}
        reply = error_reply(
            Problem(status, words.get(status, str(getattr(error, "detail", error))), _WORDS.get(status, "refused"))
        )
        reply.headers.update(headers)
        return reply

    for kind in (VisualizerError, TracerError, IndexStoreError, OSError):
        app.add_exception_handler(kind, answer)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)


def error_reply(problem: Problem) -> Response:
    """Make the reply of an error."""
    body = json_bytes({"error": problem.error, "problem": problem.problem})
    return Response(body, problem.status, media_type="application/json")


def _what_is_invalid(error: Exception) -> str:
    found = error.errors() if isinstance(error, RequestValidationError) else []
    parts = [f"{'.'.join(str(step) for step in item['loc'][1:]) or item['loc'][0]}: {item['msg']}" for item in found]
    return "; ".join(parts[:5]) or "the request is malformed"


def _with_place(error: Exception, path: Path | None, hint: str | None) -> str:
    place = f"{path}: " if path is not None else ""
    return f"{place}{error}" + (f"; {hint}" if hint else "")


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
