"""Workflows: a graph of nodes, each of which a run is bound to."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from agent_workflow.evidence_schemas._base import Record, Shape, Unique, WhenPresent
from agent_workflow.evidence_schemas._scalars import FreeObject, Identifier, Natural, Positive, Sha256, Text

NodeKind = Literal["task", "approval"]
NodeState = Literal["blocked", "eligible", "running", "completed", "failed", "recoverable"]


class SnapshotNode(Shape, extra="forbid"):
    """A node as it was configured."""

    node_id: Identifier
    kind: WhenPresent[NodeKind] = None
    ticket_id: str | None = None
    session_id: WhenPresent[Identifier] = None
    tier: str | None = None
    pack_id: str | None = None
    prompt_path: WhenPresent[Text] = None
    approval_for: WhenPresent[Identifier] = None
    agent_class: str | None = None
    executor: str | None = None
    model: str | None = None
    interactive: bool | None = None
    allow_no_go_model: bool | None = None
    routing: WhenPresent[FreeObject] = None
    input_bindings: WhenPresent[FreeObject] = None
    dependencies: Annotated[list[Identifier], Unique()]


class WorkflowSnapshot(Record, extra="forbid"):
    """``workflow-snapshot.json``: the graph."""

    schema_: Literal["agent-workflow/workflow-snapshot/v1"] = Field(alias="schema")
    workflow_id: Identifier
    pack_id: Text
    pack_manifest_sha256: Sha256
    nodes: Annotated[list[SnapshotNode], Field(min_length=1)]


class NodeStatus(Shape, extra="forbid"):
    """A node as it stands."""

    node_id: Identifier
    state: NodeState
    run_id: Identifier | None
    attempt: Positive | None
    retry_of_run_id: Identifier | None
    bound_at: str | None
    terminal_reason: str | None
    kind: WhenPresent[NodeKind] = None
    approval_receipt_sha256: Sha256 | None = None
    input_binding_sha256: Sha256 | None = None


class WorkflowStatus(Record, extra="forbid"):
    """``workflow-status.json``: where the workflow stands."""

    schema_: Literal["agent-workflow/workflow-status/v1"] = Field(alias="schema")
    workflow_id: Identifier
    snapshot_sha256: Sha256
    event_count: Natural
    workflow_state: NodeState
    nodes: list[NodeStatus]


class WorkflowRun(Record, extra="forbid"):
    """``workflow-run.json``: the paths of a workflow's files, with its status."""

    schema_: Literal["agent-workflow/workflow-run/v1"] = Field(alias="schema")
    workflow_id: Identifier
    snapshot_sha256: Sha256
    snapshot_path: Text
    events_path: Text
    status_path: Text
    status: WorkflowStatus


class InputBinding(Shape, extra="forbid"):
    """A value that one node takes from another's result."""

    name: str
    source_node_id: str
    source_run_id: str
    pointer: str
    required: bool
    present: bool
    value: Any
    value_size_bytes: Annotated[int, Field(ge=0, le=1_048_576)]
    value_sha256: Sha256
    source_result_sha256: Sha256
    source_final_receipt_sha256: Sha256


class WorkflowInputBindings(Record, extra="forbid"):
    """``workflow-inputs.json``: what a node was given."""

    schema_: Literal["agent-workflow/workflow-input-bindings/v1"] = Field(alias="schema")
    workflow_id: Identifier
    snapshot_sha256: Sha256
    node_id: Identifier
    attempt: Positive
    created_at: str
    bindings: Annotated[list[InputBinding], Field(max_length=64)]


class RunBinding(Shape, extra="forbid"):
    """The run that a node was bound to."""

    run_id: Identifier
    attempt: Positive
    retry_of_run_id: Identifier | None = None
    bound_at: str
    current: bool


_NULL = {"const": None}
_RULES: FreeObject = {
    "allOf": [
        {
            "if": {"properties": {"kind": {"const": "node-bound"}}},
            "then": {"required": ["binding"], "properties": {"previous_state": _NULL, "next_state": _NULL}},
        },
        {
            "if": {"properties": {"kind": {"const": "node-transition"}}},
            "then": {"required": ["previous_state", "next_state"], "properties": {"binding": _NULL}},
        },
    ]
}


class WorkflowEvent(Record, extra="forbid", json_schema_extra=_RULES):
    """One event of a workflow: a node was bound to a run, or moved from one state to another."""

    schema_: Literal["agent-workflow/workflow-event/v1"] = Field(alias="schema")
    sequence: Positive
    timestamp: str
    workflow_id: Identifier
    kind: Literal["node-bound", "node-transition"]
    node_id: Identifier
    actor: Text
    reason: Text
    snapshot_sha256: Sha256
    previous_state: NodeState | None = None
    next_state: NodeState | None = None
    binding: RunBinding | None = None
    details: FreeObject | None = None

    @model_validator(mode="after")
    def _fields_fit_kind(self) -> Self:
        states_given = {"previous_state", "next_state"} <= self.model_fields_set
        if self.kind == "node-bound":
            fits = "binding" in self.model_fields_set and self.previous_state is None and self.next_state is None
        else:
            fits = states_given and self.binding is None
        if not fits:
            raise PydanticCustomError("contradiction", "a binding for node-bound, two states for node-transition")
        return self
