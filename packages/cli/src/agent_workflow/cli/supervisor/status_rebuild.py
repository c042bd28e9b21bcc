"""``rebuild-status/v1``: a missing or damaged status is made again from launch contract and lifecycle journal."""

import hashlib

from agent_workflow.cli.supervisor.clock import stamp
from agent_workflow.cli.supervisor.documents import Document, inner, read_bytes, read_document, read_journal, text
from agent_workflow.cli.supervisor.history import Writer
from agent_workflow.cli.supervisor.remediations import Remediation, Rule, begin, finish, open_attempts
from agent_workflow.cli.supervisor.runs import FINAL_STATUS, STATUS, Run
from agent_workflow.tracer.evidence import write_document_locked

RULE = Rule("rebuild-status/v1", "rebuild_status")

_LIFECYCLE = "events.jsonl"
_STATES = (
    "prepared",
    "launched",
    "running",
    "interruption_requested",
    "completed",
    "failed",
    "interrupted",
    "killed",
)


def rebuild_status(run: Run, writer: Writer) -> Remediation | None:
    """Make the status of a run again, for a caller that holds the run's lock.

    Args:
        run: its launch contract can be read, its status cannot.
        writer: of the run.

    Returns:
        None where it was tried often enough.

    Raises:
        BadEvidence: what it would be made from cannot be read.
        EvidenceError: it cannot be written.
    """
    fault = run.status_fault or "is missing"
    reason = "the stored status is damaged" if run.status_fault else "the stored status is missing"
    attempt = begin(writer, RULE, STATUS, reason)
    if attempt is None:
        return None
    before = read_bytes(run.directory / STATUS) if run.status_fault else None
    details: Document = (
        {}
        if before is None
        else {
            "replaced_bytes": len(before),
            "replaced_sha256": hashlib.sha256(before).hexdigest(),
        }
    )
    status = status_from_authority(run, writer)
    write_document_locked(run.directory, STATUS, status)
    written = read_document(run.directory / STATUS)
    if written is None or written.get("status") != status["status"]:
        return finish(writer, attempt, "failed", f"it {fault} still after it was written", details)
    details["status"] = status["status"]
    return finish(writer, attempt, "applied", "made again from launch contract and lifecycle journal", details)


def can_rebuild(run: Run) -> bool:
    """Tell whether anything says what the status was; a run that is only being made has no lifecycle yet.

    Raises:
        BadEvidence: what would say so cannot be read.
    """
    return last_execution_state(run) is not None or read_document(run.directory / FINAL_STATUS) is not None


def finish_open(writer: Writer) -> list[Remediation]:
    """Close the attempt of a supervisor that was killed after it had made the status, which is there.

    Raises:
        EvidenceError: the journal cannot be written.
    """
    reason = "made again by a supervisor that was killed before it could say so"
    return [finish(writer, attempt, "applied", reason, {}) for attempt in open_attempts(writer.history, RULE)]


def status_from_authority(run: Run, writer: Writer) -> Document:
    """Put a status together from what cannot be rebuilt: contract, lifecycle journal, final status.

    Raises:
        BadEvidence: one of them cannot be read.
    """
    final = read_document(run.directory / FINAL_STATUS)
    now = stamp(writer.clock.now())
    session, worktree = inner(run.launch, "session"), inner(run.launch, "worktree")
    plan, outputs = inner(run.launch, "command_plan"), inner(run.launch, "expected_outputs")
    status: Document = (
        dict(final)
        if final is not None and final.get("status") in _STATES
        else {
            "schema": "agent-workflow/session-status/v2",
            "session_id": run.session_id,
            "status": last_execution_state(run) or "prepared",
            "created_at": text(session.get("created_at")) or now,
            "updated_at": now,
            "workdir": text(worktree.get("path")) or "",
            # Two names that the contract of a status asks for, whether the run has such files or not.
            "prompt_path": str(run.directory / (text(inner(run.launch, "prompt").get("stored")) or "prompt.md")),
            "log_path": str(run.directory / (text(outputs.get("output_log")) or "output.log")),
            "agent_name": text(session.get("agent_name")),
            "executor": text(plan.get("executor")),
            "retry_of": text(session.get("retry_of")),
        }
    )
    return {
        **status,
        "projection_generated_at": now,
        "projection_source": "repair",
        "projection_freshness": "snapshot",
        "projection_authority": "cache",
    }


def last_execution_state(run: Run) -> str | None:
    """Return the state of execution that the lifecycle journal ends in, None where it tells none."""
    for record in reversed(read_journal(run.directory / _LIFECYCLE).records):
        if record.get("dimension") == "execution" and record.get("new") in _STATES:
            return str(record["new"])
    return None
