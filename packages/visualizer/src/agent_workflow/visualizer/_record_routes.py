"""Routes about what one session holds: events, envelopes, gates, processes, prompts, files."""

import base64
import codecs
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query, Request, Response

from agent_workflow.tracer.viewing import (
    Cursor,
    EventFilter,
    envelopes,
    gate_results,
    judged,
    list_files,
    newest_prompts,
    one_envelope,
    one_event,
    one_gate_result,
    processes,
    prompts_of_send,
    read_range,
    segments,
    sends,
    session_row,
)
from agent_workflow.visualizer._database import Database
from agent_workflow.visualizer._event_pages import PageRequest, event_page
from agent_workflow.visualizer._replies import reply
from agent_workflow.visualizer._requests import ERRORS, UNCHANGED, AdwId, AgentName, Finder, RecordId, polled, words
from agent_workflow.visualizer._trace_models import (
    EnvelopeRow,
    EventPage,
    EventRow,
    FileEntry,
    FilePiece,
    GateRow,
    ProcessRow,
    Prompts,
    PromptTexts,
)

Word = Annotated[str | None, Query(max_length=500)]
Rowid = Annotated[int, Query(ge=0, lt=2**63)]


def event_router(find: Finder) -> APIRouter:
    """Make the routes about events for databases found in one way."""
    router = APIRouter(tags=["events"])

    @router.get("/sessions/{adw_id}/events", response_model=EventPage, responses=ERRORS | UNCHANGED)
    def page_of_events(
        request: Request,
        database: Annotated[Database, Depends(find)],
        adw_id: AdwId,
        after: Rowid = 0,
        limit: Annotated[int, Query(description="1 to 1,000; others are clamped.")] = 500,
        generation: Word = None,
        anchor: Word = None,
        phase: Word = None,
        type: Word = None,  # noqa: A002 - its name in the address
        q: Word = None,
        newest: bool = False,
        before: Annotated[int | None, Query(ge=0, lt=2**63)] = None,
    ) -> Response:
        """Return events behind a cursor, oldest first; with ``newest``, the last ones (before ``before``)."""
        asked = PageRequest(
            adw_id,
            Cursor(after, generation or "", anchor or ""),
            EventFilter(phase or None, words(type), q or None),
            limit,
            newest,
            before,
        )
        return event_page(database, asked, request.headers.get("if-none-match"))

    @router.get("/sessions/{adw_id}/events/{event_id}", response_model=EventRow, responses=ERRORS)
    def event_in_full(database: Annotated[Database, Depends(find)], adw_id: AdwId, event_id: RecordId) -> Response:
        """Return one event with its whole payload."""
        return reply(database.read(lambda source: one_event(source, adw_id, event_id)))

    return router


def record_router(find: Finder) -> APIRouter:
    """Make the routes about a session's other records for databases found in one way."""
    router = APIRouter(tags=["records"])
    Found = Annotated[Database, Depends(find)]  # noqa: N806 - a type

    @router.get("/sessions/{adw_id}/envelopes", response_model=list[EnvelopeRow], responses=ERRORS | UNCHANGED)
    def list_of_envelopes(request: Request, database: Found, adw_id: AdwId, phase: Word = None) -> Response:
        """Return what the agents handed over, oldest first, large payloads cut."""
        return polled(request, database, lambda source: envelopes(source, adw_id, phase or None))

    @router.get("/sessions/{adw_id}/envelopes/{envelope_id}", response_model=EnvelopeRow, responses=ERRORS)
    def envelope_in_full(database: Found, adw_id: AdwId, envelope_id: RecordId) -> Response:
        """Return one envelope with its whole payload."""
        return reply(database.read(lambda source: one_envelope(source, adw_id, envelope_id)))

    @router.get("/sessions/{adw_id}/gates", response_model=list[GateRow], responses=ERRORS | UNCHANGED)
    def list_of_gates(request: Request, database: Found, adw_id: AdwId, phase: Word = None) -> Response:
        """Return what the gates found, oldest first."""
        return polled(request, database, lambda source: gate_results(source, adw_id, phase or None))

    @router.get("/sessions/{adw_id}/gates/{gate_id}", response_model=GateRow, responses=ERRORS)
    def gate_in_full(database: Found, adw_id: AdwId, gate_id: Annotated[int, Path(ge=-(2**63), lt=2**63)]) -> Response:
        """Return one gate result with all of its evidence."""
        return reply(database.read(lambda source: one_gate_result(source, adw_id, gate_id)))

    @router.get("/sessions/{adw_id}/processes", response_model=list[ProcessRow], responses=ERRORS)
    def list_of_processes(database: Found, adw_id: AdwId) -> Response:
        """Return the processes of a session and what became of each."""
        found = database.read(lambda source: processes(source, [adw_id]))
        return reply([{**one.row(), "state": "ended" if one.ended_at else judged(one).state} for one in found])

    return router


def file_router(find: Finder) -> APIRouter:
    """Make the routes about a session's files for databases found in one way."""
    router = APIRouter(tags=["files"])
    _add_prompts(router, find)
    _add_files(router, find)
    return router


def _add_prompts(router: APIRouter, find: Finder) -> None:
    Found = Annotated[Database, Depends(find)]  # noqa: N806 - a type

    @router.get("/sessions/{adw_id}/agents/{agent}/prompts", response_model=Prompts, responses=ERRORS)
    def newest_prompts_of(database: Found, adw_id: AdwId, agent: AgentName) -> Response:
        """Return the newest prompts of an agent, and which sends are kept; all null when it never ran."""
        database.read(lambda source: session_row(source, adw_id, {}))
        directory = database.session_directory(adw_id)
        return reply({**newest_prompts(directory, agent)._asdict(), "sends": sends(directory, agent)})

    @router.get("/sessions/{adw_id}/agents/{agent}/prompts/{label}", response_model=PromptTexts, responses=ERRORS)
    def prompts_of_one_send(database: Found, adw_id: AdwId, agent: AgentName, label: RecordId) -> Response:
        """Return the prompts of one send."""
        database.read(lambda source: session_row(source, adw_id, {}))
        return reply(prompts_of_send(database.session_directory(adw_id), agent, segments(label)[0])._asdict())


def _add_files(router: APIRouter, find: Finder) -> None:
    Found = Annotated[Database, Depends(find)]  # noqa: N806 - a type

    @router.get("/sessions/{adw_id}/files", response_model=list[FileEntry], responses=ERRORS)
    def list_of_files(database: Found, adw_id: AdwId) -> Response:
        """List the files of a session's directory, at most 2,000."""
        database.read(lambda source: session_row(source, adw_id, {}))
        return reply([file._asdict() for file in list_files(database.session_directory(adw_id))])

    @router.get("/sessions/{adw_id}/files/{path:path}", response_model=FilePiece, responses=ERRORS)
    def piece_of_a_file(
        database: Found,
        adw_id: AdwId,
        path: Annotated[str, Path(max_length=1000)],
        offset: Annotated[int, Query(gt=-(2**63), lt=2**63, description="Negative: from the end.")] = 0,
        limit: Annotated[int, Query(ge=1, le=1_048_576, description="Bytes.")] = 65_536,
    ) -> Response:
        """Return a piece of a file of a session."""
        parts = segments(path)
        database.read(lambda source: session_row(source, adw_id, {}))
        piece = read_range(database.session_directory(adw_id), parts, offset, limit)
        encoding, content, length = _text(piece.data, is_start=piece.offset == 0)
        end = piece.offset + length
        return reply(
            {
                "path": path,
                "size": piece.size,
                "modified_at": piece.modified_at,
                "offset": piece.offset,
                "length": length,
                "next_offset": end if end < piece.size else None,
                "encoding": encoding,
                "content": content,
            }
        )


def _text(data: bytes, *, is_start: bool) -> tuple[Literal["utf-8", "base64"], str, int]:
    """Write bytes as text where they are UTF-8.

    Returns:
        The encoding, the content, and how many bytes it stands for: a character that is cut at the end is left to the
        next piece, one that is cut at the beginning is shown as a replacement character.
    """
    front = 0 if is_start else next((n for n in range(min(4, len(data))) if data[n] & 0xC0 != 0x80), 0)
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(data[front:])
    except UnicodeDecodeError:
        text = "\x00"
    waiting = len(decoder.getstate()[0])
    if "\x00" in text or (waiting and not text):
        return "base64", base64.b64encode(data).decode("ascii"), len(data)
    return "utf-8", "\ufffd" * bool(front) + text, len(data) - waiting
