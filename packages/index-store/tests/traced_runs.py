"""Runs as the tracer publishes them: recorded workflows with their launch contract, journal, metrics and seal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sample_records import MOMENT, Document, lifecycle, metrics, process_result, provenance, session_status, stage
from sample_state import RunFiles, StateRoot, artifacts_in

TRACED = "agent-workflow/traced-launch-contract/v1"
IMPORTED = "agent-workflow/traced-launch-contract/v2"
DATABASE = "/srv/shop/adws/adw_data/sssf.db"
BUILDER: Document = {"name": "builder", "coding_agent": "pi", "model": "large"}
REVIEWER: Document = {"name": "reviewer", "coding_agent": "codex", "model": None}

ALWAYS = ("launch-contract.json", "events.jsonl", "final-status.json", "run-provenance.json")
UNLESS_LOST = ("process-result.json", "execution-metrics.json")


def traced_launch(
    session_id: str,
    *,
    agents: Sequence[Document] = (BUILDER,),
    retry_of: str | None = None,
    adw_id: str | None = None,
    database: Path | str = DATABASE,
    created_at: str = MOMENT,
) -> Document:
    """Return ``launch-contract.json`` of a recorded workflow."""
    adw_id = adw_id or session_id
    return {
        "schema": TRACED,
        "version": 1,
        "session": {
            "id": session_id,
            "agent_name": None,
            "agent_class": None,
            "tier": None,
            "retry_of": retry_of,
            "created_at": created_at,
        },
        "workflow": {"name": "add-greeting"},
        "agents": list(agents),
        "worktree": {"path": "/srv/shop", "source_revision": "abc", "branch": "main", "dirty_at_launch": True},
        "runner": {"pid": 4000, "start_marker": "boot+12.5"},
        "trace": {
            "adw_id": adw_id,
            "database": str(database),
            "session_directory": str(Path(database).parent / "sessions" / adw_id),
        },
        "tracer_version": "1.0.0",
    }


def begin_traced_run(state: StateRoot, session_id: str, *, archived: bool = False, **launch: object) -> RunFiles:
    """Write what is there while the workflow is at work."""
    run = state.run(session_id, archived=archived, workdir="/srv/shop")
    run.document("launch-contract.json", traced_launch(session_id, **launch))  # type: ignore[arg-type]  # as named there
    run.journal("events.jsonl", [lifecycle(1, new="running")])
    return run


def end_traced_run(run: RunFiles, *, provenance_of: Document | None = None, **status: object) -> RunFiles:
    """Write what a workflow that ended by itself leaves; well, unless the status says otherwise."""
    ended: Document = {
        "status": "completed",
        "executor_result": "completed",
        "policy_result": "passed",
        "acceptance_eligible": True,
    } | status
    run.journal("events.jsonl", [lifecycle(2, new=str(ended["status"]))])
    run.document("final-status.json", session_status(run.session_id, **ended))
    used = {"executor": "pi", "model": "large"} if provenance_of is None else provenance_of
    run.document("run-provenance.json", provenance(run.session_id, finished_at=MOMENT, exit_code=0) | used)
    run.document("process-result.json", process_result(error_category="completed"))
    figures = {"input_tokens": 100, "output_tokens": 30, "provider_billed_cost": 0.25, "currency": "USD"}
    run.document(
        "execution-metrics.json",
        metrics(run.session_id, stage("total", elapsed_seconds=12.5, **figures), stage("child:builder", **figures)),
    )
    return run


def lose_traced_run(run: RunFiles) -> RunFiles:
    """Write what is written of a workflow whose process was found gone."""
    lost = {"status": "failed", "executor_result": "lost", "failure_category": "lost", "terminal_error": "it is gone"}
    run.journal("events.jsonl", [lifecycle(2, new="failed")])
    run.document("final-status.json", session_status(run.session_id, **lost))
    run.document("run-provenance.json", provenance(run.session_id, exit_code=None) | {"executor": "pi"})
    return run


def seal(run: RunFiles, *, without: Sequence[str] = (), **receipt: object) -> RunFiles:
    """Seal every file but those named, and take away the right to write them."""
    artifacts = [artifact for artifact in artifacts_in(run.path) if artifact["path"] not in without]
    for artifact in artifacts:
        (run.path / artifact["path"]).chmod(0o444)
    document: Document = {
        "schema": "agent-workflow/final-receipt/v1",
        "session_id": run.session_id,
        "sealed_at": MOMENT,
        "artifacts": artifacts,
    }
    run.document("final-receipt.json", document | receipt).chmod(0o444)
    return run


def write_traced_run(state: StateRoot, session_id: str, *, archived: bool = False, **launch: object) -> RunFiles:
    """Write a recorded workflow that ended well, sealed."""
    return seal(end_traced_run(begin_traced_run(state, session_id, archived=archived, **launch)))


GATE_FAILED: Document = {
    "status": "failed",
    "executor_result": "failed",
    "policy_result": "failed",
    "failure_category": "gate_failed",
    "acceptance_eligible": False,
}
"""The final status of a workflow that failed on a gate."""


def imported_run(state: StateRoot, session_id: str, *, cost: float = 0.5, **launch: Any) -> RunFiles:
    """Write an imported session's run, all but its seal."""
    run = state.run(session_id, workdir="")
    worktree = {"path": None, "source_revision": None, "branch": None, "dirty_at_launch": None}
    contract = {"schema": IMPORTED, "version": 2, "origin": "imported", "runner": None, "worktree": worktree}
    run.document("launch-contract.json", traced_launch(session_id, **launch) | contract)
    run.journal("events.jsonl", [lifecycle(1, new="running"), lifecycle(2, new="completed")])
    ended = {"executor_result": "completed", "policy_result": "not_evaluated", "acceptance_eligible": False}
    run.document("final-status.json", session_status(session_id, status="completed", workdir="", **ended))
    source = {
        "executor": "claude_code",
        "model": "large",
        "exit_code": None,
        "finished_at": MOMENT,
        "source_revision": None,
    }
    run.document("run-provenance.json", provenance(session_id) | source)
    figures = {"input_tokens": 10, "local_estimated_cost": cost, "currency": "USD", "price_catalog_id": "list 1"}
    run.document("execution-metrics.json", metrics(session_id, stage("total", **figures)))
    return run
