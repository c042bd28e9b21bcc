"""What the fleet screen shows of the evidence index: runs, one run whole, what waits, workflows."""

import json
from typing import Any, Final

from agent_workflow.index_store import MAXIMUM_LIMIT
from agent_workflow.tracer.viewing import folded
from agent_workflow.visualizer._errors import UnknownThing
from agent_workflow.visualizer._index_reading import Filters, Index, IndexReading, Row
from agent_workflow.visualizer._links import Linker

_MOST: Final = 1_000
_SEARCHED: Final = (
    "session_id", "ticket_id", "pack_id", "workflow_id", "agent_name", "executor", "model", "workdir", "branch",
    "failure_category", "disposition", "durable_status",
)  # fmt: skip


def kind_page(index: Index, kind: str, filters: Filters, *, limit: int, offset: int) -> dict[str, Any]:
    """Return one page of a kind of rows, newest first."""
    with index.open() as reading:
        rows = reading.rows(kind, filters, offset + limit + 1)
        return _page(index, reading, kind, rows, limit, offset, is_cut=len(rows) == MAXIMUM_LIMIT)


def runs_page(
    index: Index, filters: Filters, text: str | None, linker: Linker, *, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of runs that pass the filters and hold a text, each with the trace it comes from."""
    with index.open() as reading:
        rows = reading.rows("runs", filters, MAXIMUM_LIMIT if text else offset + limit + 1)
        is_cut = len(rows) == MAXIMUM_LIMIT
        if text:
            wanted = folded(text)
            rows = [row for row in rows if any(wanted in folded(row[name]) for name in _SEARCHED)]
        page = _page(index, reading, "runs", rows, limit, offset, is_cut=is_cut)
    page["rows"] = linker(page["rows"])
    return page


def run_detail(index: Index, session: str, linker: Linker) -> dict[str, Any]:
    """Return one run with all that the index knows of it.

    Raises:
        UnknownThing: the index has no such run.
    """
    with index.open() as reading:
        runs = reading.rows("runs", {"session": session}, 1)
        if not runs:
            raise UnknownThing(f"no run {session} in the index")
        lists = {name: reading.rows(kind, {"session": session}, _MOST) for name, kind in _LISTS.items()}
        process = reading.rows("processes", {"session": session}, 1)
        sources = [_source(row) for row in reading.sources(session)]
        return {
            "freshness": index.freshness(reading),
            "run": linker(runs)[0],
            "sources": sources,
            **lists,
            "process": process[0] if process else None,
            "retried_by": reading.retried_by(session),
        }


_LISTS: Final = {
    "events": "events",
    "incidents": "incidents",
    "permissions": "permissions",
    "remediations": "remediations",
    "metrics": "metrics",
    "errors": "errors",
    "notices": "notices",
    "repairs": "repairs",
    "nodes": "workflow-nodes",
}


def health_series(index: Index, session: str, points: int) -> dict[str, Any]:
    """Return a run's health samples, oldest first, thinned evenly; the first and the last are kept.

    Raises:
        UnknownThing: the index has no such run.
    """
    with index.open() as reading:
        if not reading.rows("runs", {"session": session}, 1):
            raise UnknownThing(f"no run {session} in the index")
        rows = reading.rows("health", {"session": session})[::-1]
        return {"freshness": index.freshness(reading), "sample_count": len(rows), "rows": thinned(rows, points)}


def thinned(rows: list[Row], most: int) -> list[Row]:
    """Keep at most so many rows, evenly spread, with both ends."""
    if len(rows) <= most:
        return rows
    if most < 2:
        return rows[-1:]
    step = (len(rows) - 1) / (most - 1)
    return [rows[round(number * step)] for number in range(most)]


def attention(index: Index) -> dict[str, Any]:
    """Return what waits for a person: permissions pending and incidents open, by the latest row of each."""
    with index.open() as reading:
        permissions, incidents = reading.pending_permissions(_MOST), reading.open_incidents(_MOST)
        return {"freshness": index.freshness(reading), "permissions": permissions, "incidents": incidents}


def workflows(index: Index, workflow: str | None, filters: Filters) -> dict[str, Any]:
    """Return workflows with their nodes and edges.

    Raises:
        UnknownThing: the index has no such workflow.
    """
    with index.open() as reading:
        rows = [row for row in reading.rows("workflows", filters) if workflow in (None, row["workflow_id"])][:_MOST]
        if workflow is not None and not rows:
            raise UnknownThing(f"no workflow {workflow} in the index")
        nodes: dict[str, list[Row]] = {}
        for node in reading.rows("workflow-nodes"):
            nodes.setdefault(str(node["workflow_id"]), []).append(node)
        for row in rows:
            name = str(row["workflow_id"])
            row |= {"nodes": nodes.get(name, []), "edges": reading.edges(name)}
        return {"freshness": index.freshness(reading), "workflows": rows}


def _source(row: Row) -> Row:
    named = row.pop("schema_ids_json")
    return row | {"schema_ids": json.loads(named) if named else []}


def _page(
    index: Index, reading: IndexReading, kind: str, rows: list[Row], limit: int, offset: int, *, is_cut: bool
) -> dict[str, Any]:
    """Cut a page out of rows; beyond as many as the index answers with there may be more, which a filter brings in."""
    return {
        "kind": kind,
        "database": reading.database,
        "freshness": index.freshness(reading),
        "rows": rows[offset : offset + limit],
        "has_more": is_cut or len(rows) > offset + limit,
    }
