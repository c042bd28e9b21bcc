"""The documents of a run that has ended. Pure: what is known goes in, JSON objects come out.

Nothing of prompts, replies, arguments, tool text or error messages is among what goes in.
"""

from collections.abc import Mapping
from typing import Any

from agent_workflow.tracer.evidence._facts import Facts
from agent_workflow.tracer.evidence._names import joined
from agent_workflow.tracer.evidence._outcome import Outcome


def final_status(status: Mapping[str, Any], outcome: Outcome, at: str) -> dict[str, Any]:
    """Write ``final-status.json``.

    Args:
        status: what ``status.json`` said last.
        outcome: how the run ended.
        at: the present time.
    """
    failures = [{"gate": gate, "phase_id": phase_id} for gate, phase_id in outcome.failed_gates]
    return {
        **status,
        "status": outcome.status,
        "updated_at": at,
        "executor_result": outcome.executor_result,
        "failure_category": outcome.failure_category,
        "policy_result": outcome.policy_result,
        "policy_failures": failures,
        "policy_failure_category": "gate_failed" if failures else None,
        "acceptance_eligible": outcome.is_success,
        "terminal_error": outcome.terminal_error,
    }


def provenance(
    launch: Mapping[str, Any],
    facts: Facts | None,
    outcome: Outcome,
    *,
    program: str,
    prompt_sha256: str,
    ended_at: str | None,
) -> dict[str, Any]:
    """Write ``run-provenance.json``.

    Args:
        launch: the launch contract.
        facts: what the session's files say, if they are there.
        outcome: how the run ended.
        program: the workflow program's file name; its arguments are nobody's business.
        prompt_sha256: digest of the request.
        ended_at: when it ended, if anybody saw that.
    """
    used = facts.agents if facts else []
    return {
        "schema": "agent-workflow/run-provenance/v1",
        "session_id": launch["session"]["id"],
        "executor": joined({str(row["coding_agent"]) for row in used if row.get("coding_agent")}),
        "argv": [program],
        "model": joined({str(row["model"]) for row in used if row.get("model")}),
        "prompt_sha256": prompt_sha256,
        "source_revision": launch["worktree"]["source_revision"],
        **({"worktree": folder} if (folder := launch["worktree"]["path"]) is not None else {}),
        "environment": {},
        "retry_of_run_id": launch["session"]["retry_of"],
        "started_at": launch["session"]["created_at"],
        "first_output_at": facts.first_output_at if facts else None,
        "finished_at": ended_at,
        "exit_code": outcome.exit_code,
    }


def process_result(
    launch: Mapping[str, Any], facts: Facts, outcome: Outcome, *, program: str, seconds: float, at: str
) -> dict[str, Any]:
    """Write ``process-result.json`` of a run that ended by itself.

    Args:
        launch: the launch contract.
        facts: what the session's files say.
        outcome: how the run ended; its exit code is what the workflow announced, the process still being there.
        program: the workflow program's file name.
        seconds: how long the run took.
        at: the present time.
    """
    exit_code = outcome.exit_code or 0
    category = "none" if exit_code == 0 else "nonzero-exit" if outcome.signal is None else "signal"
    told = facts.command
    return {
        "schema": "agent-workflow/process-result/v1",
        "argv": [program],
        "resolved_executable": None,
        "returncode": exit_code,
        "exit_code": exit_code,
        "signal": outcome.signal,
        "timed_out": False,
        "cancelled": outcome.executor_result == "interrupted",
        "stdout_truncated": False,
        "stderr_truncated": False,
        "stdout_bytes": facts.stdout_bytes if told is None else told.stdout_bytes,
        "stderr_bytes": facts.stderr_bytes if told is None else told.stderr_bytes,
        "duration_seconds": seconds,
        "error_category": category,
        "runner_pid": launch["runner"]["pid"],
        "executor_pid": None,
        "recorded_at": at,
    }
