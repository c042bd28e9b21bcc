"""Routes about sessions: the list, one of them, and the one thing that can be written."""

from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from agent_workflow.tracer.viewing import SessionFilter, facets
from agent_workflow.visualizer._archiving import archive
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._live import live
from agent_workflow.visualizer._replies import is_known, reply, tag, unchanged
from agent_workflow.visualizer._requests import ERRORS, UNCHANGED, AdwId, Finder, served, words
from agent_workflow.visualizer._sessions import session_detail, session_page
from agent_workflow.visualizer._times import moment
from agent_workflow.visualizer._trace_models import (
    ArchiveReply,
    ArchiveRequest,
    ErrorReply,
    FacetsReply,
    SessionDetail,
    SessionSummary,
)

Word = Annotated[str | None, Query(max_length=500)]
Sort = Literal["newest", "oldest", "cost", "tokens", "duration"]


def session_router(find: Finder) -> APIRouter:
    """Make the routes for databases found in one way."""
    router = APIRouter(tags=["sessions"])
    _add_list(router, find)
    _add_session(router, find)
    return router


def _add_list(router: APIRouter, find: Finder) -> None:
    @router.get("/sessions", response_model=list[SessionSummary], responses=ERRORS | UNCHANGED)
    def list_of_sessions(
        request: Request,
        database: Annotated[Database, Depends(find)],
        limit: Annotated[int, Query(description="1 to 1,000; others are clamped.")] = 200,
        offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
        archived: Literal["0", "1", "all"] = "0",
        status: Word = None,
        workflow: Word = None,
        agent: Word = None,
        model: Word = None,
        since: Word = None,
        until: Word = None,
        q: Word = None,
        sort: Sort = "newest",
        marks: Annotated[int, Query(ge=0, le=120, description="At most so many dots a session.")] = 60,
    ) -> Response:
        """List sessions, newest first; the header X-Total-Count says how many there are in all."""
        flags = served(request).flags
        version = database.version()
        running = live(database, version)
        etag = tag(version, running.digest, flags.version(), request.url.query)
        if is_known(request, etag):
            return unchanged(etag)
        wanted = SessionFilter(
            status=words(status),
            workflow=workflow,
            agent=agent,
            model=model,
            since=moment(since, "since"),
            until=moment(until, "until"),
            text=q,
            archived={"0": "no", "1": "only", "all": "all"}[archived],  # type: ignore[arg-type]  # a closed list
        )
        put_away = flags.of(database.path)
        limit = max(1, min(limit, 1000))
        rows, total = database.read(
            lambda source: session_page(
                database,
                source,
                wanted,
                running.shown,
                put_away,
                sort=sort,
                limit=limit,
                offset=offset,
                most_marks=marks,
            )
        )
        return reply(rows, etag, {"x-total-count": str(total)})

    @router.get("/facets", response_model=FacetsReply, responses=ERRORS | UNCHANGED)
    def what_to_filter_by(request: Request, database: Annotated[Database, Depends(find)]) -> Response:
        """Count the statuses, workflows, agents and models that the list can be narrowed to."""
        flags = served(request).flags
        version = database.version()
        running = live(database, version)
        etag = tag("facets", version, running.digest, flags.version())
        if is_known(request, etag):
            return unchanged(etag)
        put_away = flags.of(database.path)
        counted = database.read(lambda source: facets(source, running.shown, put_away))
        return reply(counted._asdict(), etag)


def _add_session(router: APIRouter, find: Finder) -> None:
    @router.get("/sessions/{adw_id}", response_model=SessionDetail, responses=ERRORS | UNCHANGED)
    def one_session(request: Request, database: Annotated[Database, Depends(find)], adw_id: AdwId) -> Response:
        """Return one session with its phases, its agents and what it read and wrote."""
        flags = served(request).flags
        version = database.version()
        running = live(database, version)
        etag = tag("session", adw_id, version, running.shown.get(adw_id), flags.version())
        if is_known(request, etag):
            return unchanged(etag)
        put_away = flags.of(database.path)
        return reply(
            database.read(lambda source: session_detail(database, source, adw_id, running.shown, put_away)), etag
        )

    @router.post(
        "/sessions/{adw_id}/archive",
        response_model=ArchiveReply,
        responses={
            **ERRORS,
            409: {"model": ErrorReply, "description": "The session is running; says so."},
            413: {"model": ErrorReply, "description": "The body is larger than 64 KB."},
            415: {"model": ErrorReply, "description": "The body is not called JSON."},
        },
    )
    def put_away_or_bring_back(
        request: Request,
        database: Annotated[Database, Depends(find)],
        adw_id: AdwId,
        body: ArchiveRequest | None = None,
    ) -> Response:
        """Put a session away, or bring it back; the only thing here that writes."""
        return reply(archive(database, served(request).flags, adw_id, archived=body is None or body.archived))
