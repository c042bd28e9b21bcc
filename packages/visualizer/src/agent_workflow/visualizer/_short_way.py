"""The short way of a plain poll for events: what every open page asks twice a second.

Only a request that is well-formed beyond doubt goes it; everything else, and every mistake, is left to the documented
route, which answers the same by the same function. It saves the routing and validation of a framework, and, where there
is nothing to wait for and little to read, the change of threads: each costs more than what the database does.
"""

import asyncio
import re
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent_workflow.tracer import TracerError
from agent_workflow.tracer.viewing import Cursor
from agent_workflow.visualizer._at_once import NotAtOnce
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._errors import VisualizerError, error_reply, problem_of
from agent_workflow.visualizer._event_pages import EventReply, PageRequest, event_page, event_page_at_once
from agent_workflow.visualizer._projects import Projects
from agent_workflow.visualizer._replies import knows

_PATH: Final = re.compile(
    r"/api(?:/projects/([A-Za-z0-9][A-Za-z0-9_.-]{0,127}))?/sessions/([A-Za-z0-9][A-Za-z0-9_.-]{0,127})/events\Z"
)
_QUERY: Final = re.compile(
    r"(?:(?:after=([0-9]{1,18})|limit=([0-9]{1,18})|generation=([\w.~-]{0,250})|anchor=([\w.~-]{0,250}))(?:&|\Z))*\Z",
    re.ASCII,
)
_LONGEST: Final = 700
_PARSED: Final = 512
_THREADS: Final = 4

Poll = tuple[Database, PageRequest]


class ShortWay:
    """Pure ASGI, inside of the guard."""

    def __init__(self, app: ASGIApp, projects: Projects) -> None:
        self.app = app
        self._plain_poll = lru_cache(_PARSED)(partial(plain_poll, projects))
        self._threads = ThreadPoolExecutor(_THREADS, "event-polls")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a plain poll, or let the request go on."""
        found = None
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"].endswith("/events"):
            query: bytes = scope["query_string"]
            found = self._plain_poll(scope["path"], query) if len(query) <= _LONGEST else None
        if found is None:
            await self.app(scope, receive, send)
            return
        known = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"if-none-match"), None)
        try:
            answer = event_page_at_once(*found)
        except NotAtOnce:
            await (await self._patiently(*found, known))(scope, receive, send)
            return
        await _send(answer, known, send)

    async def _patiently(self, database: Database, asked: PageRequest, known: str | None) -> Response:
        """Answer in a thread: SQLite may wait there for a lock, never in the loop that all other requests need."""

        def work() -> Response:
            answer = event_page(database, asked, known)
            database.at_once.prepare()
            return answer

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (TracerError, VisualizerError, OSError) as error:
            return error_reply(problem_of(error))


async def _send(answer: EventReply, known: str | None, send: Send) -> None:
    if knows(known, answer.etag):
        await send({"type": "http.response.start", "status": 304, "headers": answer.headers[:1]})
        await send({"type": "http.response.body", "body": b""})
    else:
        await send({"type": "http.response.start", "status": 200, "headers": answer.headers})
        await send({"type": "http.response.body", "body": answer.body})


def plain_poll(projects: Projects, path: str, query_string: bytes) -> Poll | None:
    """Read a request that is well-formed beyond doubt.

    Returns:
        The database and what is asked of it; ``None`` for any other request.
    """
    place, query = _PATH.match(path), _QUERY.match(query_string.decode("latin-1"))
    if place is None or query is None:
        return None
    try:
        database = projects.named(place[1])
    except VisualizerError:
        return None
    after, limit, generation, anchor = query.groups("")
    return database, PageRequest(place[2], Cursor(int(after or 0), generation, anchor), limit=int(limit or 500))
