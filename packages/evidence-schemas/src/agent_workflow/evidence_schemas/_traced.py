"""Launch contracts of traced runs: what a recorded workflow or an imported session is, and where its trace lies."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape
from agent_workflow.evidence_schemas._launch import LaunchSession, LaunchWorktree
from agent_workflow.evidence_schemas._scalars import Identifier, Max256, Positive, Text, Text128


class TracedWorkflow(Shape, extra="forbid"):
    """The workflow program, by the name that the trace shows for it."""

    name: Annotated[str, Field(min_length=1, max_length=256)]


class TracedAgent(Shape, extra="forbid"):
    """An agent that the workflow may call, as its configuration has it; no model means the agent's own default."""

    name: Text128
    coding_agent: Text128
    model: Max256 | None


class TracedRunner(Shape, extra="forbid"):
    """The workflow's process: its pid, and the start of it that tells it from a later process of the same pid."""

    pid: Positive
    start_marker: Max256 | None


class TraceLocation(Shape, extra="forbid"):
    """Where the trace of the run lies; absolute paths."""

    adw_id: Identifier
    database: Text
    session_directory: Text


class TracedLaunchContract(Record, extra="forbid"):
    """``launch-contract.json`` of a traced run.

    It copies nothing of prompts, replies, arguments or tool text. ``session.id`` is the run directory's name, which is
    unique on a host; ``trace.adw_id`` is the session's id in its own repository.
    """

    REQUIRED: ClassVar[tuple[str, ...]] = (
        "launch-contract.json",
        "events.jsonl",
        "final-status.json",
        "run-provenance.json",
    )
    """What every sealed traced run lists."""

    REQUIRED_UNLESS_LOST: ClassVar[tuple[str, ...]] = ("process-result.json", "execution-metrics.json")
    """What it lists as well, unless its final status says that its executor was lost: then nobody was there to write
    them."""

    schema_: Literal["agent-workflow/traced-launch-contract/v1"] = Field(alias="schema")
    version: Annotated[Literal[1], Exactly()]
    session: LaunchSession
    workflow: TracedWorkflow
    agents: list[TracedAgent]
    worktree: LaunchWorktree
    runner: TracedRunner
    trace: TraceLocation
    tracer_version: Text128


class ImportedWorktree(Shape, extra="forbid"):
    """The folder that an imported session says it worked in, as far as its own record tells.

    Nobody looked at the checkout: its revision and whether it was dirty are always unknown.
    """

    path: Text | None
    source_revision: None
    branch: Text | None
    dirty_at_launch: None


class ImportedLaunchContract(Record, extra="forbid"):
    """``launch-contract.json`` of a session that its coding agent kept on disk and that was imported into a trace.

    No process of it was seen, so ``runner`` is null and there is no ``process-result.json``. It copies nothing of
    prompts, replies, arguments or tool text. Each run tells the whole session: one whose ``session.retry_of`` names
    another takes that one's place, because the session has grown since.
    """

    REQUIRED: ClassVar[tuple[str, ...]] = (
        "launch-contract.json",
        "events.jsonl",
        "final-status.json",
        "run-provenance.json",
        "execution-metrics.json",
    )
    """What every sealed imported run lists."""

    REQUIRED_UNLESS_LOST: ClassVar[tuple[str, ...]] = ()
    """Nothing more: how its process ended is in nobody's record."""

    schema_: Literal["agent-workflow/traced-launch-contract/v2"] = Field(alias="schema")
    version: Annotated[Literal[2], Exactly()]
    origin: Literal["imported"]
    session: LaunchSession
    workflow: TracedWorkflow
    agents: list[TracedAgent]
    worktree: ImportedWorktree
    runner: None
    trace: TraceLocation
    tracer_version: Text128
