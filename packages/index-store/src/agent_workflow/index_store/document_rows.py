"""Rows of the tables that come from documents: process result, metrics, workflow with its nodes and edges. Pure."""

from typing import NamedTuple

from agent_workflow.evidence_schemas import ExecutionMetrics, ProcessResult, WorkflowSnapshot, WorkflowStatus
from agent_workflow.index_store.documents import METRICS, WORKFLOW_SNAPSHOT, WORKFLOW_STATUS
from agent_workflow.index_store.errors import InvalidRecord
from agent_workflow.index_store.values import Row


def process_result_row(session_id: str, result: ProcessResult, sha256: str) -> Row:
    """Return a row of ``process_results``, in the order of its columns."""
    return (
        session_id,
        result.returncode,
        result.exit_code,
        result.signal,
        result.timed_out,
        result.cancelled,
        result.stdout_truncated,
        result.stderr_truncated,
        result.stdout_bytes,
        result.stderr_bytes,
        result.duration_seconds,
        result.error_category,
        result.resolved_executable,
        result.executable_sha256,
        result.runner_pid,
        result.executor_pid,
        result.recorded_at,
        sha256,
    )


def metrics_rows(session_id: str, metrics: ExecutionMetrics, sha256: str) -> list[Row]:
    """Return the rows of ``execution_metrics``, one a stage.

    Raises:
        InvalidRecord: a stage is named twice.
    """
    _refuse_repeats([stage.stage for stage in metrics.stages], "stage", METRICS)
    return [
        (
            session_id,
            stage.stage,
            stage.input_tokens,
            stage.cached_input_tokens,
            stage.output_tokens,
            stage.provider_total_tokens,
            stage.reasoning_output_tokens,
            stage.provider_billed_cost,
            stage.local_estimated_cost,
            stage.currency,
            stage.elapsed_seconds,
            stage.first_output_latency_seconds,
            stage.retry_count,
            stage.steer_count,
            stage.steer_acknowledged_count,
            stage.steer_pending_count,
            sha256,
        )
        for stage in metrics.stages
    ]


class WorkflowRows(NamedTuple):
    """What a workflow's owner contributes."""

    workflow: Row
    nodes: list[Row]
    edges: list[Row]


def workflow_rows(
    session_id: str, snapshot: WorkflowSnapshot | None, status: WorkflowStatus | None, indexed_at: str
) -> WorkflowRows | None:
    """Join what a workflow was configured to be with where it stands.

    Returns:
        The rows; None where the run owns no workflow. Nodes are the union of both files.

    Raises:
        InvalidRecord: the files name different workflows, or a node is named twice.
    """
    if snapshot is None and status is None:
        return None
    workflow_id = snapshot.workflow_id if snapshot else status.workflow_id if status else ""
    if status is not None and status.workflow_id != workflow_id:
        raise InvalidRecord("names another workflow than workflow-snapshot.json", WORKFLOW_STATUS)
    configured = {node.node_id: node for node in snapshot.nodes} if snapshot else {}
    standing = {node.node_id: node for node in status.nodes} if status else {}
    _refuse_repeats([node.node_id for node in snapshot.nodes] if snapshot else [], "node", WORKFLOW_SNAPSHOT)
    _refuse_repeats([node.node_id for node in status.nodes] if status else [], "node", WORKFLOW_STATUS)
    nodes: list[Row] = []
    for node_id in sorted(configured.keys() | standing.keys()):
        plan, now = configured.get(node_id), standing.get(node_id)
        nodes.append(
            (
                workflow_id,
                node_id,
                (plan.kind if plan else None) or (now.kind if now else None),
                plan.ticket_id if plan else None,
                plan.session_id if plan else None,
                now.run_id if now else None,
                now.state if now else None,
                now.attempt if now else None,
                now.retry_of_run_id if now else None,
                plan.executor if plan else None,
                plan.model if plan else None,
                plan.interactive if plan else None,
                now.terminal_reason if now else None,
            )
        )
    edges: list[Row] = [
        (workflow_id, dependency, node_id)
        for node_id, node in sorted(configured.items())
        for dependency in sorted(node.dependencies)
    ]
    workflow: Row = (
        workflow_id,
        session_id,
        snapshot.pack_id if snapshot else None,
        status.snapshot_sha256 if status else None,
        status.workflow_state if status else None,
        status.event_count if status else None,
        indexed_at,
    )
    return WorkflowRows(workflow, nodes, edges)


def _refuse_repeats(names: list[str], what: str, path: str) -> None:
    if len(set(names)) != len(names):
        raise InvalidRecord(f"names a {what} twice", path)
