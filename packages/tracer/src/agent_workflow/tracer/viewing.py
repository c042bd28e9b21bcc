"""What a viewer needs of traces, ours, old ones and those of other writers: lists, pages, files, the shown status."""

from agent_workflow.tracer._cutting import CUT_CHARACTERS, cut_payload, shorten_texts
from agent_workflow.tracer._event_queries import (
    MAX_EVENTS,
    Cursor,
    EventFilter,
    EventSpan,
    newest_span,
    next_span,
    one_event,
    read_span,
)
from agent_workflow.tracer._event_rowids import EventRowids
from agent_workflow.tracer._event_texts import EventTexts, next_texts
from agent_workflow.tracer._identity import RecordedProcess
from agent_workflow.tracer._liveness import ProcessRow, Shown, judged, look
from agent_workflow.tracer._prompt_files import Prompts, newest_prompts, prompts_of_send, sends
from agent_workflow.tracer._raw_files import (
    MAX_RANGE,
    FileRange,
    NoSuchFile,
    SessionFile,
    UnsafeName,
    list_files,
    read_range,
    segments,
)
from agent_workflow.tracer._reconciliation import reconcile
from agent_workflow.tracer._redaction import Redactor, secrets_of
from agent_workflow.tracer._resumed import resumed
from agent_workflow.tracer._session_list import (
    SORTS,
    Facets,
    SessionFilter,
    SessionPage,
    facets,
    list_sessions,
    running_rows,
    session_row,
)
from agent_workflow.tracer._session_marks import Mark, Marks, failure, marks
from agent_workflow.tracer._session_parts import (
    agents_of,
    by_session,
    envelopes,
    gate_results,
    one_envelope,
    one_gate_result,
    parts_of,
    processes,
    usage_read_and_written,
)
from agent_workflow.tracer._source import FileIdentity, NoSuchRecord, Row, TraceSource, folded
from agent_workflow.tracer._timeline import MAX_TIMELINE, timeline

__all__ = [
    "CUT_CHARACTERS",
    "MAX_EVENTS",
    "MAX_RANGE",
    "MAX_TIMELINE",
    "SORTS",
    "Cursor",
    "EventFilter",
    "EventRowids",
    "EventSpan",
    "EventTexts",
    "Facets",
    "FileIdentity",
    "FileRange",
    "Mark",
    "Marks",
    "NoSuchFile",
    "NoSuchRecord",
    "ProcessRow",
    "Prompts",
    "RecordedProcess",
    "Redactor",
    "Row",
    "SessionFile",
    "SessionFilter",
    "SessionPage",
    "Shown",
    "TraceSource",
    "UnsafeName",
    "agents_of",
    "by_session",
    "cut_payload",
    "envelopes",
    "facets",
    "failure",
    "folded",
    "gate_results",
    "judged",
    "list_files",
    "list_sessions",
    "look",
    "marks",
    "newest_prompts",
    "newest_span",
    "next_span",
    "next_texts",
    "one_envelope",
    "one_event",
    "one_gate_result",
    "parts_of",
    "processes",
    "prompts_of_send",
    "read_range",
    "read_span",
    "reconcile",
    "resumed",
    "running_rows",
    "secrets_of",
    "segments",
    "sends",
    "session_row",
    "shorten_texts",
    "timeline",
    "usage_read_and_written",
]
