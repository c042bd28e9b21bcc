"""Launch contracts: everything a run was promised and bound to before it began."""

from typing import Annotated, Literal

from pydantic import Field

from agent_workflow.evidence_schemas._base import Exactly, Record, Shape, WhenPresent
from agent_workflow.evidence_schemas._scalars import FreeObject, Sha256, SomeNonEmptyTexts, SomeTexts, Texts
from agent_workflow.evidence_schemas._status import StreamFormat

Role = Literal["orchestrator", "implementation", "review"]


class LaunchSession(Shape, extra="forbid"):
    """Who runs."""

    id: str
    agent_name: str | None
    agent_class: str | None
    tier: str | None
    retry_of: str | None
    created_at: str


class TicketIdentity(Shape, extra="forbid"):
    """Whether a ticket was named, and which."""

    mode: Literal["explicit", "omitted"]
    value: str | None


class LaunchPack(Shape, extra="forbid"):
    """The prompt pack the run was started from."""

    id: str | None
    root: str | None
    manifest_sha256: Sha256 | None


class LaunchWorktree(Shape, extra="forbid"):
    """The checkout the run works in."""

    path: str
    source_revision: str | None
    branch: str | None
    dirty_at_launch: bool | None


class LaunchPrompt(Shape, extra="forbid"):
    """Where the prompt came from and the two copies of it."""

    source: str
    stored: Literal["prompt.md"]
    sha256: Sha256
    launch_stored: Literal["launch-prompt.md"]
    launch_sha256: Sha256


class CommandPlan(Shape, extra="forbid"):
    """The command that was planned."""

    argv: SomeTexts
    command_sha256: Sha256
    stream_format: StreamFormat
    interactive: bool
    executor_interactive: bool
    environment_allowlist: Texts
    executor: str | None = None
    model: str | None = None


class LaunchPaths(Shape, extra="forbid"):
    """Where the run's files are, relative to the run directory unless absolute."""

    run_dir: Literal["."]
    workdir: str
    handoff_dir: str
    completion: Literal["completion.json"]
    result: Literal["result.json"]
    result_contract: FreeObject | None
    runtime: Literal["evaluation-runtime.json"]
    source_baseline: Literal["source-baseline.json"]


class BaselineReference(Shape, extra="forbid"):
    """The baseline of the sources, by digest."""

    path: Literal["source-baseline.json"]
    sha256: Sha256


class ExpectedOutputs(Shape, extra="forbid"):
    """The files that a run leaves."""

    output_log: Literal["output.log"]
    executor_events: Literal["executor-events.jsonl"]
    executor_stderr: Literal["executor-stderr.log"]
    final_status: Literal["final-status.json"]
    final_receipt: Literal["final-receipt.json"]


class CatalogReference(Shape, extra="forbid"):
    """The command catalog and its card, by digest."""

    card_path: Literal["command-card.md"]
    card_sha256: Sha256
    catalog_path: Literal["command-catalog.json"]
    catalog_schema: Literal["agent-workflow/command-catalog/v1"]
    catalog_sha256: Sha256
    cli_invocation: SomeNonEmptyTexts
    role: Role


class _LaunchContract(Record):
    """What both versions of the launch contract have in common."""

    session: LaunchSession
    ticket: str | None
    pack: LaunchPack
    worktree: LaunchWorktree
    prompt: LaunchPrompt
    command_plan: CommandPlan
    paths: LaunchPaths
    schemas: FreeObject
    runtime_policy: FreeObject
    evaluation_policy: FreeObject
    source_baseline: BaselineReference
    expected_outputs: ExpectedOutputs


class LaunchContractV1(_LaunchContract, extra="forbid"):
    """``launch-contract.json`` as it was before command catalogs."""

    schema_: Literal["agent-workflow/launch-contract/v1"] = Field(alias="schema")
    version: Annotated[Literal[1], Exactly()]
    ticket_identity: WhenPresent[TicketIdentity] = None


class LaunchContractV2(_LaunchContract, extra="forbid"):
    """``launch-contract.json``."""

    schema_: Literal["agent-workflow/launch-contract/v2"] = Field(alias="schema")
    version: Annotated[Literal[2], Exactly()]
    ticket_identity: TicketIdentity
    command_catalog: CatalogReference
