"""Routes over the evidence index. All of them only read."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from agent_workflow.index_store import status, verify
from agent_workflow.visualizer import _fleet_models as models
from agent_workflow.visualizer._fleet import attention, health_series, kind_page, run_detail, runs_page, workflows
from agent_workflow.visualizer._fleet_sums import outcomes, spend
from agent_workflow.visualizer._index_reading import Index
from agent_workflow.visualizer._links import with_traces
from agent_workflow.visualizer._replies import is_known, json_bytes, reply, tag_of, unchanged
from agent_workflow.visualizer._requests import ERRORS, UNCHANGED, served
from agent_workflow.visualizer._times import moment

Word = Annotated[str | None, Query(max_length=500)]
Limit = Annotated[int, Query(ge=1, le=5_000)]
Offset = Annotated[int, Query(ge=0, le=10_000)]
RunId = Annotated[str, Path(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$", description="The run's id.")]
WorkflowId = Annotated[str, Path(max_length=300, description="The workflow's id.")]
KINDS = (
    "incidents", "permissions", "remediations", "performance", "attempts", "errors", "notices", "repairs", "metrics",
    "processes", "events",
)  # fmt: skip


async def _narrowed(
    state: Word = None,
    category: Word = None,
    executor: Word = None,
    model: Word = None,
    pack: Word = None,
    since: Word = None,
    until: Word = None,
) -> dict[str, str | None]:
    """Read the filters that runs and the other kinds have in common."""
    found = {"state": state, "category": category, "executor": executor, "model": model, "pack": pack}
    return found | {"since": moment(since, "since"), "until": moment(until, "until")}


Narrowed = Annotated[dict[str, str | None], Depends(_narrowed)]

_READS: Any = {400: ERRORS[400], 503: ERRORS[503]} | UNCHANGED
_SECONDS = 1.5


def fleet_router() -> APIRouter:
    """Make the routes over the index."""
    router = APIRouter(tags=["fleet"])
    _add_documents(router)
    _add_sums(router)
    _add_runs(router)
    for kind in KINDS:
        _add_kind(router, kind)
    return router


def _add_documents(router: APIRouter) -> None:
    @router.get("/status", response_model=models.IndexDocument, responses=_READS)
    def index_status(request: Request) -> Response:
        """Return the state of the index; without one, its freshness is ``missing``."""
        index = served(request).index
        return _answer(request, index, lambda: status(index.state_root).to_document())

    @router.get("/verify", response_model=models.IndexDocument, responses=ERRORS)
    def index_verification(
        request: Request,
        full: bool = False,
        review: Annotated[str | None, Query(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")] = None,
    ) -> Response:
        """Check the database; with ``full``, every source against its digest; with ``review``, one run."""
        return reply(verify(served(request).index.state_root, full=full, review=review).to_document())


def _add_sums(router: APIRouter) -> None:
    @router.get("/attention", response_model=models.Attention, responses=_READS)
    def what_waits(request: Request) -> Response:
        """Return the permissions that are pending and the incidents that are open."""
        index = served(request).index
        return _answer(request, index, lambda: attention(index))

    @router.get("/spend", response_model=models.Spend, responses=_READS)
    def spend_by_day(request: Request, since: Word = "30d") -> Response:
        """Return what runs cost, by day, executor, model and currency."""
        index, bound = served(request).index, moment(since, "since")
        return _answer(request, index, lambda: spend(index, bound))

    @router.get("/outcomes", response_model=models.Outcomes, responses=_READS)
    def how_runs_ended(request: Request, since: Word = "30d") -> Response:
        """Return statuses by day, and success and durations by executor and model."""
        index, bound = served(request).index, moment(since, "since")
        return _answer(request, index, lambda: outcomes(index, bound))

    @router.get("/workflows", response_model=models.Workflows, responses=_READS)
    def list_of_workflows(request: Request, session: Word = None, state: Word = None, pack: Word = None) -> Response:
        """Return workflows with their graphs."""
        index, filters = served(request).index, {"session": session, "state": state, "pack": pack}
        return _answer(request, index, lambda: workflows(index, None, filters))

    @router.get("/workflows/{workflow_id}", response_model=models.Workflows, responses=ERRORS | UNCHANGED)
    def one_workflow(request: Request, workflow_id: WorkflowId) -> Response:
        """Return one workflow with its graph."""
        index = served(request).index
        return _answer(request, index, lambda: workflows(index, workflow_id, {}))


def _add_runs(router: APIRouter) -> None:
    @router.get("/runs", response_model=models.RunPage, responses=_READS)
    def list_of_runs(
        request: Request, filters: Narrowed, q: Word = None, limit: Limit = 200, offset: Offset = 0
    ) -> Response:
        """List runs, newest first."""
        found = served(request)

        def ask() -> dict[str, Any]:
            return runs_page(
                found.index, filters, q, lambda rows: with_traces(found.projects, rows), limit=limit, offset=offset
            )

        return _answer(request, found.index, ask)

    @router.get("/runs/{session_id}", response_model=models.RunDetail, responses=ERRORS | UNCHANGED)
    def one_run(request: Request, session_id: RunId) -> Response:
        """Return one run with its sources, lifecycle, incidents, permissions, metrics and process."""
        found = served(request)
        return _answer(
            request,
            found.index,
            lambda: run_detail(found.index, session_id, lambda rows: with_traces(found.projects, rows)),
        )

    @router.get("/runs/{session_id}/health", response_model=models.HealthSeries, responses=ERRORS | UNCHANGED)
    def health_of_a_run(
        request: Request, session_id: RunId, points: Annotated[int, Query(ge=2, le=500)] = 500
    ) -> Response:
        """Return a run's health samples, oldest first, at most so many points."""
        index = served(request).index
        return _answer(request, index, lambda: health_series(index, session_id, points))


def _add_kind(router: APIRouter, kind: str) -> None:
    @router.get(f"/{kind}", response_model=models.KindPage, responses=_READS, name=f"rows_of_{kind}")
    def rows_of_a_kind(
        request: Request, filters: Narrowed, session: Word = None, limit: Limit = 200, offset: Offset = 0
    ) -> Response:
        """Return rows of a kind, newest first; a filter that the kind does not take is 400."""
        index, narrowed = served(request).index, filters | {"session": session}
        return _answer(request, index, lambda: kind_page(index, kind, narrowed, limit=limit, offset=offset))


def _answer(request: Request, index: Index, ask: Callable[[], dict[str, Any]]) -> Response:
    """Answer from what was worked out a moment ago, or ask the index; unchanged replies are 304."""

    def work() -> tuple[str, bytes]:
        answer = json_bytes(ask())
        return tag_of(answer), answer

    name = (request.url.path, request.url.query)
    etag, answer = index.memory.get(name, "", work, seconds=_SECONDS)
    if is_known(request, etag):
        return unchanged(etag)
    return Response(answer, 200, {"etag": etag}, media_type="application/json")
