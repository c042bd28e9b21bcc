"""The columns of ``runs`` from a run's documents: for each, the first source that is present. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from agent_workflow.index_store.documents import RunDocuments, TracedLaunch
from agent_workflow.index_store.values import Value


def run_columns(documents: RunDocuments, *, sealed: bool) -> dict[str, Value]:
    """Return the descriptive columns of a run's row.

    Args:
        documents: the validated documents.
        sealed: the receipt verified; only then is an attempt classified without a ledger row.
    """
    columns = _identity(documents) | _execution(documents) | _course(documents) | _outcome(documents)
    if documents.ledger_row is not None:
        columns["attempt_classification"] = documents.ledger_row.attempt_classification
    else:
        columns["attempt_classification"] = classify_attempt(columns) if sealed else None
    return columns


def owned_workflow_id(documents: RunDocuments) -> str | None:
    """Return the workflow whose files lie in this run's directory."""
    if documents.workflow_snapshot is not None:
        return documents.workflow_snapshot.workflow_id
    return None if documents.workflow_status is None else documents.workflow_status.workflow_id


def _first(*values: Value) -> Value:
    return next((value for value in values if value is not None), None)


def _identity(documents: RunDocuments) -> dict[str, Value]:
    launch, status, provenance = documents.launch, documents.status, documents.provenance
    session = launch.session if launch else None
    planned, traced = documents.planned_launch, documents.traced_launch
    workflow = provenance.workflow if provenance else None
    return {
        "launch_schema": launch.schema_ if launch else None,
        "ticket_id": _first(planned.ticket if planned else None, status.ticket_id if status else None),
        "pack_id": _first(planned.pack.id if planned else None, status.pack_id if status else None),
        "workflow_id": _first(
            traced.workflow.name if traced else None,
            workflow.workflow_id if workflow else None,
            owned_workflow_id(documents),
        ),
        "workflow_node_id": workflow.node_id if workflow else None,
        "retry_of_run_id": _first(
            session.retry_of if session else None, provenance.retry_of_run_id if provenance else None
        ),
        "agent_name": _first(
            session.agent_name if session else None,
            _only_agent(traced) if traced else None,
            provenance.agent_name if provenance else None,
        ),
        "agent_class": _first(session.agent_class if session else None, provenance.agent_class if provenance else None),
        "tier": session.tier if session else None,
    }


def _execution(documents: RunDocuments) -> dict[str, Value]:
    launch, status, provenance = documents.launch, documents.status, documents.provenance
    executor, model, interactive = _agent_program(documents)
    worktree = launch.worktree if launch else None
    return {
        "executor": executor,
        "model": model,
        "interactive": interactive,
        "workdir": _first(
            worktree.path if worktree else None,
            provenance.worktree if provenance else None,
            (status.workdir or None) if status else None,
        ),
        "source_revision": _first(
            worktree.source_revision if worktree else None, provenance.source_revision if provenance else None
        ),
        "branch": worktree.branch if worktree else None,
        "dirty_at_launch": worktree.dirty_at_launch if worktree else None,
    }


class _AgentProgram(NamedTuple):
    executor: Value
    model: Value
    interactive: Value


def _agent_program(documents: RunDocuments) -> _AgentProgram:
    """Tell which agent program ran with which model.

    The plan of one agent's run is what was executed. A workflow's roster is only who might have been called, so it
    counts until the provenance says who was; several names are sorted and joined by ``+``, as the provenance does.
    """
    plan = documents.planned_launch.command_plan if documents.planned_launch else None
    provenance, traced = documents.provenance, documents.traced_launch
    if traced is None:
        return _AgentProgram(
            _first(plan.executor if plan else None, provenance.executor if provenance else None),
            _first(plan.model if plan else None, provenance.model if provenance else None),
            plan.interactive if plan else None,
        )
    if provenance is not None:
        return _AgentProgram(provenance.executor, provenance.model, False)
    programs, models = (agent.coding_agent for agent in traced.agents), (agent.model for agent in traced.agents)
    return _AgentProgram(_joined(programs), _joined(models), False)


def _joined(names: Iterable[str | None]) -> str | None:
    return "+".join(sorted({name for name in names if name})) or None


def _only_agent(traced: TracedLaunch) -> str | None:
    return traced.agents[0].name if len(traced.agents) == 1 else None


def _course(documents: RunDocuments) -> dict[str, Value]:
    launch, status, provenance = documents.launch, documents.status, documents.provenance
    result = documents.process_result
    return {
        "created_at": _first(launch.session.created_at if launch else None, status.created_at if status else None),
        "started_at": provenance.started_at if provenance else None,
        "finished_at": _first(provenance.finished_at if provenance else None, status.updated_at if status else None),
        "durable_status": status.status if status else None,
        "disposition": status.disposition if status else None,
        "failure_category": status.failure_category if status else None,
        "exit_code": _first(provenance.exit_code if provenance else None, result.exit_code if result else None),
    }


def _outcome(documents: RunDocuments) -> dict[str, Value]:
    ledger, status = documents.ledger_row, documents.status
    completion, score_set = documents.completion, documents.score_set
    verdict = _first(score_set.verdict if score_set else None, ledger.evaluation_result if ledger else None)
    eligible = ledger.acceptance_eligible if ledger else status.acceptance_eligible if status else None
    return {
        "executor_result": _first(
            ledger.executor_result if ledger else None, status.executor_result if status else None
        ),
        "policy_result": _first(ledger.policy_result if ledger else None, status.policy_result if status else None),
        "completion_result": _first(
            ledger.completion_result if ledger else None,
            completion.validation_status if completion else None,
            status.completion_result if status else None,
        ),
        "acceptance_eligible": eligible,
        "score_verdict": verdict,
        "evaluation_state": ledger.evaluation_state if ledger else _evaluation_state(documents, verdict),
    }


def _evaluation_state(documents: RunDocuments, verdict: Value) -> str:
    if verdict in ("pass", "fail", "invalid"):
        return "verified"
    extra = (documents.status.model_extra or {}) if documents.status else {}
    return "not_verified" if extra.get("evaluation_path") is not None else "not_planned"


def classify_attempt(columns: Mapping[str, Value]) -> str:
    """Classify a sealed attempt by the first rule that holds."""
    completion, executor = columns["completion_result"], columns["executor_result"]
    if completion in ("missing", "invalid"):
        return f"completion-{completion}"
    if columns["policy_result"] == "failed":
        return "policy-failed"
    if executor in ("failed", "interrupted", "killed", "lost"):
        return f"executor-{executor}"
    if columns["acceptance_eligible"]:
        return "acceptance-eligible"
    if "completed" in (executor, columns["durable_status"]):
        return "completed-not-accepted"
    return "terminal-unclassified"
