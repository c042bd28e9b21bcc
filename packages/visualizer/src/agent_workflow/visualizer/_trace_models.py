"""What the trace routes answer with. Rows of other writers may bear more columns: they are passed on as they are."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

Text = str | None
Number = int | float | None


class Strict(BaseModel):
    """A reply of ours: every field is named."""

    model_config = ConfigDict(extra="forbid")


class Columns(BaseModel):
    """A row of a trace database."""

    model_config = ConfigDict(extra="allow")


class ErrorReply(Strict):
    """What is wrong."""

    error: str
    problem: str


class PhaseRow(Columns):
    """A phase; ``shown_status`` is ``lost`` where the run died inside it."""

    phase_id: str
    adw_id: str
    seq: int | None
    name: Text
    kind: Text
    owner: Text
    description: Text
    status: Text
    attempt: int | None
    retries: int | None
    error: Text
    started_at: Text
    ended_at: Text
    shown_status: Text


class AgentRow(Columns):
    """An agent; context numbers are null until they are known."""

    adw_id: str
    agent: Text
    coding_agent: Text
    model: Text
    color: Text
    session_id: Text
    context_tokens: int | None
    context_window: int | None
    created_at: Text
    last_used_at: Text


class Failure(Strict):
    """Why a session failed."""

    kind: Literal["phase", "not_accepted", "unknown"]
    text: str
    phase_id: Text
    phase_name: Text
    event_id: Text


Dot = tuple[int | None, str, Text, bool | None]
"""Milliseconds since the session began, event type, phase id, whether it went well (null: not recorded)."""


class SessionFields(Columns):
    """A session's row and what was worked out about it."""

    adw_id: str
    adw_name: Text
    request: Text
    status: Text
    engineer: Text
    started_at: Text
    ended_at: Text
    total_tokens: int | None
    total_cost: Number
    archived: Literal[0, 1]
    shown_status: str
    shown_because: str
    last_event_at: Text
    last_sign_at: Text
    event_count: int
    failure: Failure | None
    phase_count: int
    marks: list[Dot]
    marks_sampled: bool


class SessionSummary(SessionFields):
    """One row of the list."""

    phases: list[PhaseRow]
    agents: list[AgentRow]


class ReadAndWritten(Strict):
    """Tokens read for the first time (input and cache writes), and written (output)."""

    read: int
    written: int


class SessionDetail(Strict):
    """One session with everything but its events."""

    session: SessionFields
    usage: ReadAndWritten
    phases: list[PhaseRow]
    agents: list[AgentRow]
    generation: str


class EventRow(Columns):
    """An event; ``payload_json`` is JSON text; where it is shortened (``payload_cut``), ``ok`` says how a call went."""

    rowid: int
    event_id: str
    adw_id: str
    phase_id: Text
    parent_id: Text
    type: Text
    name: Text
    payload_json: Text
    tokens: int | None
    started_at: Text
    ended_at: Text
    payload_size: int
    payload_cut: bool
    ok: Literal[0, 1] | None = None


class EventPage(Strict):
    """Events oldest first, and where to read on."""

    events: list[EventRow]
    cursor: int
    has_more: bool
    generation: str
    anchor: str
    reset: bool


class EnvelopeRow(Columns):
    """What an agent handed over; ``valid`` 0 for a reply that could not be read."""

    envelope_id: str
    adw_id: str
    phase_id: Text
    agent: Text
    output_type: Text
    payload_json: Text
    valid: int | None
    attempt: int | None
    created_at: Text
    payload_size: int
    payload_cut: bool


class GateRow(Columns):
    """What a gate found, and what its evidence is."""

    id: int
    adw_id: str
    phase_id: Text
    attempt: int | None
    gate: Text
    passed: int | None
    violations_json: Text
    checks_json: Text
    created_at: Text
    outcome: Literal["passed", "failed", "not_observed"]
    evidence: Literal["items", "inspected_nothing", "not_recorded"]
    checks_size: int
    checks_cut: bool


class ProcessRow(Columns):
    """A recorded process and what became of it; ``ended`` where the trace says so itself."""

    id: int
    adw_id: str
    kind: Text
    name: Text
    pid: int | None
    command: Text
    started_at: Text
    ended_at: Text
    start_marker: Text
    state: Literal["alive", "gone", "recycled", "zombie", "invalid", "ended"]


class PromptTexts(Strict):
    """What an agent was told; null where nothing is kept."""

    system: Text
    user: Text


class SentPrompt(Strict):
    """One send whose prompts are kept."""

    label: str
    seq: int
    phase_name: str
    number: int
    has_system: bool
    has_user: bool
    sent_at: str


class Prompts(PromptTexts):
    """The newest prompts, and every send there was."""

    sends: list[SentPrompt]


class FileEntry(Strict):
    """A file of the session's directory."""

    path: str
    size: int
    modified_at: str


class FilePiece(Strict):
    """A piece of a file: text where it is UTF-8, base64 where it is not."""

    path: str
    size: int
    modified_at: str
    offset: int
    length: int
    next_offset: int | None
    encoding: Literal["utf-8", "base64"]
    content: str


class ArchiveRequest(BaseModel):
    """Whether the session is put away."""

    model_config = ConfigDict(extra="forbid", strict=True)

    archived: bool = True


class ArchiveReply(Strict):
    """The flag as it is now, and where it is kept: in the ``database``, or ``beside`` a foreign one."""

    adw_id: str
    archived: bool
    kept: Literal["database", "beside"]


class FacetsReply(Strict):
    """What the list can be narrowed to, with counts (statuses and workflows without the archived sessions)."""

    statuses: dict[str, int]
    workflows: dict[str, int]
    agents: dict[str, int]
    models: dict[str, int]
    total: int
    archived: int
