"""The application: what it serves, put together."""

import os
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from agent_workflow.index_store import default_state_root
from agent_workflow.visualizer._archive_flags import ArchiveFlags, default_flags_path
from agent_workflow.visualizer._errors import UnknownThing, install
from agent_workflow.visualizer._fleet_routes import fleet_router
from agent_workflow.visualizer._guard import Door, Guard
from agent_workflow.visualizer._index_reading import Index
from agent_workflow.visualizer._page import Page
from agent_workflow.visualizer._project_routes import project_router, root_router
from agent_workflow.visualizer._projects import Projects
from agent_workflow.visualizer._record_routes import event_router, file_router, record_router
from agent_workflow.visualizer._requests import Served, named_database, the_only_database
from agent_workflow.visualizer._session_routes import session_router
from agent_workflow.visualizer._short_way import ShortWay
from agent_workflow.visualizer._sum_routes import sum_router

_VERSION = "1"


def create_app(
    databases: Iterable[Path],
    *,
    state_root: Path | None = None,
    flags: Path | None = None,
    door: Door | None = None,
) -> FastAPI:
    """Make the application.

    Args:
        databases: trace databases to serve; they need not exist yet.
        state_root: of the evidence index, the usual one by default.
        flags: where archive flags of foreign databases are kept, the usual file by default.
        door: who may come in; loopback names at any port by default.

    Returns:
        The application with its OpenAPI document at ``/api/openapi.json``.
    """
    projects = Projects(databases)

    @asynccontextmanager
    async def closing(_app: FastAPI) -> AsyncIterator[None]:
        yield
        projects.close()

    app = FastAPI(
        title="agent-workflow",
        version=_VERSION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=closing,
        redirect_slashes=False,
        telemetry={"tracing": False, "metrics": False, "logs": False},  # what is looked at here stays here
    )
    app.state.served = Served(
        projects, ArchiveFlags(flags or default_flags_path()), Index(state_root or default_state_root(os.environ))
    )
    app.include_router(root_router(), prefix="/api")
    app.include_router(fleet_router(), prefix="/api/fleet")
    for prefix, find in (("/api", the_only_database), ("/api/projects/{project}", named_database)):
        for make in (project_router, session_router, event_router, sum_router, record_router, file_router):
            app.include_router(make(find), prefix=prefix)
    app.router.default = _PageRoute(Page(len(projects)))
    install(app)
    kept = door or Door()
    app.add_middleware(ShortWay, projects=projects)
    app.add_middleware(Guard, door=kept)  # added last: it stands outside
    return app


class _PageRoute:
    """The page where no route of the API matches; unknown addresses below /api are none of it."""

    def __init__(self, page: Page) -> None:
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if scope["type"] != "http" or request.url.path == "/api" or request.url.path.startswith("/api/"):
            raise UnknownThing("no such route")
        if request.method != "GET":
            raise HTTPException(405, headers={"allow": "GET"})
        await self._page.reply(request, scope["path"])(scope, receive, send)
