"""Routes that sum a session up: the whole run for drawing, whether the numbers add up, where its evidence is."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from agent_workflow.tracer.viewing import (
    MAX_TIMELINE,
    Cursor,
    EventFilter,
    TraceSource,
    next_span,
    reconcile,
    session_row,
    timeline,
)
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._fleet_models import Evidence
from agent_workflow.visualizer._links import published_run
from agent_workflow.visualizer._replies import is_known, reply, tag, unchanged
from agent_workflow.visualizer._requests import ERRORS, UNCHANGED, AdwId, Finder, polled, served
from agent_workflow.visualizer._sum_models import Reconciliation, Timeline

Word = Annotated[str | None, Query(max_length=500)]
Rowid = Annotated[int, Query(ge=0, lt=2**63)]


def sum_router(find: Finder) -> APIRouter:
    """Make the routes that sum a session up, for databases found in one way."""
    router = APIRouter(tags=["events"])

    @router.get("/sessions/{adw_id}/timeline", response_model=Timeline, responses=ERRORS | UNCHANGED)
    def whole_run_for_drawing(
        request: Request,
        database: Annotated[Database, Depends(find)],
        adw_id: AdwId,
        after: Rowid = 0,
        generation: Word = None,
        anchor: Word = None,
        limit: Annotated[int, Query(ge=1, le=MAX_TIMELINE)] = MAX_TIMELINE,
    ) -> Response:
        """Return when what happened, column by column, behind a cursor; no names and no payloads."""
        cursor = Cursor(after, generation or "", anchor or "")

        def ask(source: TraceSource) -> tuple[str, dict[str, Any] | None]:
            span = next_span(source, adw_id, cursor, EventFilter(), 1)
            if not span.rowids:
                etag = tag("timeline", adw_id, span.generation, span.cursor, span.anchor)
                if is_known(request, etag):
                    return etag, None
                return etag, timeline(source, adw_id, cursor, limit)
            drawn = timeline(source, adw_id, cursor, limit)
            return tag("timeline", adw_id, drawn["generation"], after, drawn["cursor"], drawn["anchor"]), drawn

        etag, drawn = database.read(ask)
        return unchanged(etag) if drawn is None or is_known(request, etag) else reply(drawn, etag)

    @router.get("/sessions/{adw_id}/reconciliation", response_model=Reconciliation, responses=ERRORS | UNCHANGED)
    def do_the_numbers_add_up(
        request: Request, database: Annotated[Database, Depends(find)], adw_id: AdwId
    ) -> Response:
        """Compare the session's totals with its phases, calls, lines and sends."""
        return polled(request, database, lambda source: reconcile(source, session_row(source, adw_id, {})))

    @router.get("/sessions/{adw_id}/evidence", response_model=Evidence, responses=ERRORS)
    def is_it_in_the_index(request: Request, database: Annotated[Database, Depends(find)], adw_id: AdwId) -> Response:
        """Say whether the index holds a run that the session was published as."""
        row = database.read(lambda source: session_row(source, adw_id, {}))
        found = served(request)
        return reply(published_run(found.index, found.projects, database, str(row["adw_id"])))

    return router
