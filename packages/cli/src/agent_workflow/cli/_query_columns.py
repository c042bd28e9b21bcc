"""Which columns matter, for each kind of question: what people ask first is kept longest."""

from collections.abc import Callable, Mapping
from typing import Final

from agent_workflow.cli._cells import BYTES, FLAG, ID, NAME, NUMBER, PATH, PROSE, STATE, TEXT, TIME, Value
from agent_workflow.cli._table import Column, Row


def _run_state(row: Row) -> Value:
    """A run in error has no state that could be relied on."""
    return "error" if row["index_state"] == "error" else row["durable_status"]


def _run_time(row: Row) -> Value:
    return row["created_at"] if row["started_at"] is None else row["started_at"]


def _run_why(row: Row) -> Value:
    return row["index_error"] if row["index_state"] == "error" else row["failure_category"]


def _attention(row: Row) -> Value:
    """What waits for a person; blank where nothing does."""
    counts = ((row["open_incident_count"], "open"), (row["pending_permission_count"], "pending"))
    return " ".join(f"{count} {word}" for count, word in counts if count)


def _record_name(row: Row) -> Value:
    """Return the middle of ``agent-workflow/<name>/<version>``; other programs' records have no such name."""
    parts = str(row["schema_id"] or "").split("/")
    return parts[1] if len(parts) == 3 else None


def _money(cost: str, currency: str) -> Callable[[Row], Value]:
    """Return what writes an amount together with its currency."""

    def amount(row: Row) -> Value:
        return None if row[cost] is None else f"{row[cost]:.6g} {row[currency] or '?'}"

    return amount


_SESSION: Final = Column("session", "session_id", ID, 0)
_RECORDED: Final = Column("recorded", "recorded_at", TIME, 2)
_EXECUTOR: Final = Column("executor", "executor", NAME, 8)
_MODEL: Final = Column("model", "model", NAME, 9)
_PACK: Final = Column("pack", "pack_id", NAME, 10)

COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "runs": (
        _SESSION,
        Column("state", _run_state, STATE, 1),
        Column("started", _run_time, TIME, 2),
        Column("attention", _attention, NAME, 3),
        Column("result", "attempt_classification", TEXT, 5),
        Column("executor", "executor", NAME, 6),
        Column("model", "model", NAME, 7),
        Column("exit", "exit_code", NUMBER, 8),
        Column("sealed", "evidence_complete", FLAG, 9),
        _PACK,
        Column("why", _run_why, PROSE, 4),
    ),
    "incidents": (
        _SESSION,
        _RECORDED,
        Column("state", "state", STATE, 3),
        Column("severity", "severity", NAME, 4),
        Column("category", "category", TEXT, 1),
        _EXECUTOR,
        _MODEL,
        Column("summary", "summary", PROSE, 5),
    ),
    "permissions": (
        _SESSION,
        Column("recorded", "recorded_at", TIME, 3),
        Column("state", "state", STATE, 1),
        Column("operation", "operation", NAME, 2),
        Column("resource", "resource_class", NAME, 4),
        Column("target", "target", TEXT, 5),
        Column("access", "requested_access", TEXT, 7),
        Column("source", "source", NAME, 9),
        Column("remedy", "remediation_class", TEXT, 6),
        _EXECUTOR,
    ),
    "performance": (
        Column("executor", "executor", NAME, 0),
        Column("model", "model", NAME, 1),
        Column("stage", "stage", NAME, 2),
        Column("samples", "sample_count", NUMBER, 3),
        Column("seconds", "avg_elapsed_seconds", NUMBER, 4),
        Column("first output", "avg_first_output_latency_seconds", NUMBER, 9),
        Column("input", "avg_input_tokens", NUMBER, 6),
        Column("output", "avg_output_tokens", NUMBER, 7),
        Column("billed", _money("avg_provider_billed_cost", "provider_billed_currency"), NAME, 5),
        Column("estimated", _money("avg_local_estimated_cost", "local_estimated_currency"), NAME, 8),
    ),
    "workflows": (
        Column("workflow", "workflow_id", ID, 0),
        Column("state", "workflow_state", STATE, 1),
        Column("nodes", "node_count", NUMBER, 3),
        Column("events", "event_count", NUMBER, 4),
        _PACK,
        Column("owner", "owner_run_id", ID, 2),
    ),
    "workflow-nodes": (
        Column("workflow", "workflow_id", NAME, 2),
        Column("node", "node_id", NAME, 0),
        Column("state", "state", STATE, 1),
        Column("run", "bound_run_id", ID, 3),
        Column("after", "dependencies", NAME, 4),
        Column("attempt", "attempt", NUMBER, 6),
        Column("executor", "executor", NAME, 7),
        Column("model", "model", NAME, 8),
        Column("ticket", "ticket_id", NAME, 9),
        Column("why", "terminal_reason", PROSE, 5),
    ),
    "errors": (
        _SESSION,
        Column("category", "category", NAME, 2),
        Column("detected", "detected_at", TIME, 3),
        Column("detail", "detail", PROSE, 1),
    ),
    "repairs": (
        Column("repair", "repair_id", ID, 0),
        Column("run", "source_session_id", ID, 1),
        Column("result", "validation_result", STATE, 2),
        Column("created", "created_at", TIME, 4),
        Column("artifact", "source_artifact_path", PATH, 3),
        Column("adapter", "adapter_id", NAME, 5),
        Column("actor", "actor", NAME, 6),
    ),
    "events": (
        _SESSION,
        _RECORDED,
        Column("record", _record_name, NAME, 1),
        Column("kind", "event_kind", NAME, 3),
        Column("state", "state", STATE, 4),
        Column("outcome", "outcome", NAME, 10),
        Column("category", "category", NAME, 5),
        Column("actor", "actor", NAME, 7),
        Column("file", "relative_path", PATH, 8),
        Column("line", "source_sequence", NUMBER, 9),
        Column("summary", "summary", PROSE, 6),
    ),
    "health": (
        _SESSION,
        _RECORDED,
        Column("alive", "executor_alive", FLAG, 1),
        Column("idle s", "seconds_since_semantic_progress", NUMBER, 3),
        Column("progress by", "last_semantic_progress_source", NAME, 8),
        Column("memory", "rss_bytes", BYTES, 4),
        Column("cpu s", "cpu_user_seconds", NUMBER, 5),
        Column("output", "output_bytes", BYTES, 6),
        Column("children", "child_process_count", NUMBER, 9),
        Column("load", "host_load_1m", NUMBER, 7),
        Column("disk free", "disk_free_bytes", BYTES, 10),
    ),
    "remediations": (
        _SESSION,
        _RECORDED,
        Column("action", "action", TEXT, 1),
        Column("outcome", "outcome", STATE, 3),
        Column("category", "category", TEXT, 4),
        Column("rule", "rule_id", TEXT, 5),
        Column("incident", "incident_id", ID, 6),
    ),
    "attempts": (
        Column("attempt", "attempt_classification", TEXT, 0),
        Column("runs", "run_count", NUMBER, 1),
        Column("eligible", "acceptance_eligible_count", NUMBER, 6),
        Column("executor", "executor_result", NAME, 2),
        Column("completion", "completion_result", NAME, 3),
        Column("policy", "policy_result", NAME, 4),
        Column("verdict", "score_verdict", NAME, 5),
        Column("evaluation", "evaluation_state", NAME, 7),
    ),
    "metrics": (
        _SESSION,
        Column("stage", "stage", NAME, 1),
        Column("seconds", "elapsed_seconds", NUMBER, 3),
        Column("input", "input_tokens", NUMBER, 4),
        Column("cached", "cached_input_tokens", NUMBER, 8),
        Column("output", "output_tokens", NUMBER, 5),
        Column("billed", _money("provider_billed_cost", "currency"), NAME, 2),
        Column("estimated", _money("local_estimated_cost", "currency"), NAME, 6),
        Column("retries", "retry_count", NUMBER, 7),
        Column("executor", "executor", NAME, 9),
        Column("model", "model", NAME, 10),
    ),
    "processes": (
        _SESSION,
        Column("recorded", "recorded_at", TIME, 4),
        Column("category", "error_category", NAME, 1),
        Column("exit", "exit_code", NUMBER, 2),
        Column("signal", "signal", NUMBER, 5),
        Column("seconds", "duration_seconds", NUMBER, 3),
        Column("stdout", "stdout_bytes", BYTES, 6),
        Column("stderr", "stderr_bytes", BYTES, 7),
        Column("program", "resolved_executable", PATH, 9),
    ),
    "notices": (
        _SESSION,
        Column("category", "category", NAME, 2),
        Column("detected", "detected_at", TIME, 5),
        Column("source", "source_path", PATH, 1),
        Column("contract", "contract", TEXT, 3),
        Column("detail", "detail", PROSE, 4),
    ),
}
"""The columns of a kind's table in the order of display."""
