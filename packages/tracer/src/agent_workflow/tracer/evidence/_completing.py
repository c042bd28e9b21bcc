"""Completing a run before its seal: the last lifecycle events, provenance, process result, metrics, final status.

The final status is written last: where it is, everything is, and only the seal is missing.
"""

from pathlib import Path
from typing import Any

from agent_workflow.tracer import _clock
from agent_workflow.tracer.evidence._documents import final_status, process_result, provenance
from agent_workflow.tracer.evidence._facts import Facts, digest_of
from agent_workflow.tracer.evidence._launch import running_status
from agent_workflow.tracer.evidence._lifecycle import phase_move, read_lifecycle
from agent_workflow.tracer.evidence._metrics import metrics_document, seconds_between
from agent_workflow.tracer.evidence._outcome import Outcome, conclude, is_lost, lost
from agent_workflow.tracer.evidence._writing import append_lifecycle_locked, read_document, write_document_locked

FINAL_STATUS = "final-status.json"


def complete_locked(
    directory: Path, launch: dict[str, Any], facts: Facts | None, *, program: str, actor: str, reason: str = ""
) -> None:
    """Write all that a run lacks but its seal, for a caller that holds its lock.

    Args:
        directory: of the run.
        launch: its launch contract.
        facts: what the session's files say; ``None`` where they are gone.
        program: the workflow program's file name.
        actor: who completes it.
        reason: why it is known that the process is gone, used where the session did not end by itself; empty when it
            is the workflow's own process that completes the run.

    Raises:
        EvidenceError: something cannot be written; doing all of it again is fine.
    """
    at = _clock.now()
    lifecycle = read_lifecycle(directory)
    if facts is None or (reason and is_lost(facts)):
        outcome = lost(facts, lifecycle.categories, reason)
    else:
        outcome = conclude(facts, lifecycle.categories)
    for phase in facts.phases if facts else []:
        if lifecycle.phases.get(str(phase.get("phase_id"))) not in ("success", "fail"):
            _end_phase(directory, phase, lifecycle.phases, outcome, actor, at)
    if not lifecycle.has_ended:
        told = outcome.terminal_error or "the workflow finished and every phase succeeded"
        append_lifecycle_locked(
            directory,
            dimension="execution",
            prior=lifecycle.execution,
            new=outcome.status,
            actor=actor,
            reason=told,
            at=at,
        )
    _write_documents(directory, launch, facts, outcome, program=program, at=at)


def _end_phase(
    directory: Path, phase: dict[str, Any], known: dict[str, str], outcome: Outcome, actor: str, at: str
) -> None:
    """Tell of a phase that ended when nobody could publish it."""
    phase_id, name = str(phase.get("phase_id")), str(phase.get("name"))
    if phase_id not in known:
        began = str(phase.get("started_at") or at)
        append_lifecycle_locked(directory, **phase_move(phase_id, name, "running"), actor=actor, at=began)
    status = "success" if phase.get("status") == "success" else "fail"
    category = None
    if status == "fail":
        category = outcome.failure_category if outcome.failure_category in ("lost", "interrupted") else "workflow_error"
    ended = str(phase.get("ended_at") or at)
    append_lifecycle_locked(directory, **phase_move(phase_id, name, status, category), actor=actor, at=ended)


def _write_documents(
    directory: Path, launch: dict[str, Any], facts: Facts | None, outcome: Outcome, *, program: str, at: str
) -> None:
    before = read_document(directory / "status.json") or {}
    known = before.get("prompt_sha256")
    prompt = facts.prompt_sha256 if facts else known if isinstance(known, str) else digest_of("")
    began = str(launch["session"]["created_at"])
    is_lost_run = outcome.executor_result == "lost"
    ended = None if facts is None or is_lost_run else str(facts.session.get("ended_at") or at)
    source = provenance(launch, facts, outcome, program=program, prompt_sha256=prompt, ended_at=ended)
    write_document_locked(directory, "run-provenance.json", source)
    if facts is not None:
        session_id = str(launch["session"]["id"])
        write_document_locked(directory, "execution-metrics.json", metrics_document(session_id, facts, began, ended))
        if not is_lost_run:
            seconds = seconds_between(began, ended) or 0.0
            result = process_result(launch, facts, outcome, program=program, seconds=seconds, at=at)
            write_document_locked(directory, "process-result.json", result)
    status = final_status(running_status(launch, at, prompt), outcome, at)
    write_document_locked(directory, "status.json", status)
    write_document_locked(directory, FINAL_STATUS, status)
