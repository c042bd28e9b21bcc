"""What routes share: ids that are checked, the database a request is about, documented errors."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final

from fastapi import Path, Request, Response

from agent_workflow.tracer.viewing import TraceSource
from agent_workflow.visualizer._archive_flags import ArchiveFlags
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._errors import MalformedRequest
from agent_workflow.visualizer._index_reading import Index
from agent_workflow.visualizer._projects import Projects
from agent_workflow.visualizer._replies import is_known, reply, tag, unchanged
from agent_workflow.visualizer._trace_models import ErrorReply

_ID: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$"
_RECORD_ID: Final = r"^[A-Za-z0-9_.:-]{1,200}$"

AdwId = Annotated[str, Path(pattern=_ID, description="The session's id.")]
AgentName = Annotated[str, Path(pattern=_ID, description="The agent's name.")]
RecordId = Annotated[str, Path(pattern=_RECORD_ID, description="The record's id.")]
ProjectName = Annotated[str, Path(pattern=_ID, description="A name that /api/projects lists.")]

ERRORS: Final[dict[int | str, dict[str, Any]]] = {
    400: {"model": ErrorReply, "description": "An id, a filter or a body is malformed."},
    404: {"model": ErrorReply, "description": "Nothing of that name."},
    503: {"model": ErrorReply, "description": "The source cannot be read now; says what is wrong, recovers by itself."},
}
UNCHANGED: Final[dict[int | str, dict[str, Any]]] = {304: {"description": "Nothing has changed since the ETag sent."}}


@dataclass(frozen=True)
class Served:
    """Everything that is served by one application.

    Attributes:
        projects: the trace databases.
        flags: archive flags of foreign databases.
        index: the evidence index.
    """

    projects: Projects
    flags: ArchiveFlags
    index: Index


def served(request: Request) -> Served:
    """Return what the application serves."""
    found: Served = request.app.state.served
    return found


# Asynchronous although they wait for nothing: a plain function would cost a change of threads for each request.
async def the_only_database(request: Request) -> Database:
    """Find the database of an address without a project."""
    return served(request).projects.named(None)


async def named_database(request: Request, project: ProjectName) -> Database:
    """Find the database of an address with a project."""
    return served(request).projects.named(project)


Finder = Callable[..., Any]


def polled(request: Request, database: Database, ask: Callable[[TraceSource], Any]) -> Response:
    """Answer a poll; 304 while nobody has written to the database."""
    etag = tag(request.url.path, request.url.query, database.version())
    return unchanged(etag) if is_known(request, etag) else reply(database.read(ask), etag)


def words(given: str | None) -> tuple[str, ...]:
    """Split a comma-separated filter.

    Raises:
        MalformedRequest: it names too many.
    """
    found = tuple(word for word in re.split(r"\s*,\s*", given.strip()) if word) if given else ()
    if len(found) > 50:
        raise MalformedRequest("a filter may name at most 50 words")
    return found
