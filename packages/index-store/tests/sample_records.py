"""Honest records of every contract, as small as they can be."""

from typing import Any

MOMENT = "2026-03-01T08:00:00+00:00"
DIGEST = "4c" * 32

Document = dict[str, Any]  # JSON of a record, as json.dumps takes it


def session_status(session_id: str, **fields: object) -> Document:
    """Return ``status.json`` with the fields that every status has, and the given ones."""
    return {
        "schema": "agent-workflow/session-status/v2",
        "session_id": session_id,
        "status": "running",
        "created_at": MOMENT,
        "workdir": "/srv/work",
        "prompt_path": "prompt.md",
        "log_path": "output.log",
    } | fields


def launch_contract(
    session_id: str,
    *,
    executor: str | None = None,
    model: str | None = None,
    pack: str | None = None,
    created_at: str = MOMENT,
) -> Document:
    """Return ``launch-contract.json`` of version 1."""
    return {
        "schema": "agent-workflow/launch-contract/v1",
        "version": 1,
        "session": {
            "id": session_id,
            "agent_name": "builder",
            "agent_class": "implementation",
            "tier": None,
            "retry_of": None,
            "created_at": created_at,
        },
        "ticket": "T-1",
        "pack": {"id": pack, "root": None, "manifest_sha256": None},
        "worktree": {"path": "/srv/work", "source_revision": "abc", "branch": "main", "dirty_at_launch": False},
        "prompt": {
            "source": "inline",
            "stored": "prompt.md",
            "sha256": DIGEST,
            "launch_stored": "launch-prompt.md",
            "launch_sha256": DIGEST,
        },
        "command_plan": {
            "argv": ["agent"],
            "command_sha256": DIGEST,
            "stream_format": "text",
            "interactive": False,
            "executor_interactive": False,
            "environment_allowlist": [],
            "executor": executor,
            "model": model,
        },
        "paths": {
            "run_dir": ".",
            "workdir": "/srv/work",
            "handoff_dir": "handoff",
            "completion": "completion.json",
            "result": "result.json",
            "result_contract": None,
            "runtime": "evaluation-runtime.json",
            "source_baseline": "source-baseline.json",
        },
        "schemas": {},
        "runtime_policy": {},
        "evaluation_policy": {},
        "source_baseline": {"path": "source-baseline.json", "sha256": DIGEST},
        "expected_outputs": {
            "output_log": "output.log",
            "executor_events": "executor-events.jsonl",
            "executor_stderr": "executor-stderr.log",
            "final_status": "final-status.json",
            "final_receipt": "final-receipt.json",
        },
    }


def provenance(session_id: str, *, started_at: str = MOMENT, **fields: object) -> Document:
    """Return ``run-provenance.json``."""
    return {
        "schema": "agent-workflow/run-provenance/v1",
        "session_id": session_id,
        "executor": None,
        "argv": ["agent"],
        "prompt_sha256": DIGEST,
        "source_revision": "abc",
        "environment": {},
        "started_at": started_at,
    } | fields


def process_result(*, error_category: str = "none", recorded_at: str = MOMENT) -> Document:
    """Return ``process-result.json`` of a process that ended well."""
    return {
        "schema": "agent-workflow/process-result/v1",
        "argv": ["agent"],
        "resolved_executable": "/usr/bin/agent",
        "returncode": 0,
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "cancelled": False,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "stdout_bytes": 10,
        "stderr_bytes": 0,
        "duration_seconds": 1.5,
        "error_category": error_category,
        "runner_pid": 3,
        "executor_pid": 4,
        "recorded_at": recorded_at,
    }


def metrics(session_id: str, *stages: Document) -> Document:
    """Return ``execution-metrics.json`` of the given stages."""
    return {"schema": "agent-workflow/execution-metrics/v1", "session_id": session_id, "stages": list(stages)}


def stage(name: str = "total", **fields: object) -> Document:
    """Return one stage of the metrics; what is not given is unknown."""
    unknown = (
        *("input_tokens", "cached_input_tokens", "output_tokens", "provider_total_tokens", "cost", "currency"),
        *("elapsed_seconds", "first_output_latency_seconds", "cache_write_input_tokens", "reasoning_output_tokens"),
        *("provider_billed_cost", "local_estimated_cost", "price_catalog_id"),
    )
    counts = ("retry_count", "steer_count", "steer_acknowledged_count", "steer_pending_count")
    return {"stage": name, "errors": []} | dict.fromkeys(unknown) | dict.fromkeys(counts, 0) | fields


def lifecycle(number: int, *, new: str = "running", timestamp: str = MOMENT) -> Document:
    """Return one record of ``events.jsonl``."""
    return {
        "schema": "agent-workflow/lifecycle-event/v1",
        "sequence": number,
        "timestamp": timestamp,
        "actor": "runner",
        "dimension": "execution",
        "prior": None,
        "new": new,
        "reason": "it went on",
        "receipt_refs": [],
    }


def incident(
    number: int,
    *,
    state: str = "open",
    category: str = "stalled",
    recorded_at: str = MOMENT,
    session_id: str = "any",
    summary: str = "no progress",
) -> Document:
    """Return one record of ``incidents.jsonl`` about the incident of that number."""
    return {
        "schema": "agent-workflow/incident-event/v1",
        "incident_id": f"{number:024x}",
        "session_id": session_id,
        "recorded_at": recorded_at,
        "category": category,
        "severity": "high",
        "summary": summary,
        "fingerprint": DIGEST,
        "evidence": {},
        "state": state,
    }


def permission(number: int, *, state: str = "pending", target: str = "rm", recorded_at: str = MOMENT) -> Document:
    """Return one record of ``permission-events.jsonl``."""
    return {
        "schema": "agent-workflow/permission-event/v1",
        "event_id": f"{number:024x}",
        "session_id": "any",
        "recorded_at": recorded_at,
        "principal": None,
        "operation": "execute",
        "resource_class": "command",
        "target": target,
        "requested_access": None,
        "state": state,
        "source": "terminal",
        "policy_rule_id": None,
        "evidence_sha256": DIGEST,
        "remediation_class": "human_required",
    }


def remediation(number: int, *, incident_id: str | None = None, recorded_at: str = MOMENT) -> Document:
    """Return one record of ``remediations.jsonl``."""
    return {
        "schema": "agent-workflow/remediation-event/v1",
        "event_id": f"{number:024x}",
        "session_id": "any",
        "incident_id": incident_id,
        "recorded_at": recorded_at,
        "rule_id": "rebuild-status",
        "action": "rebuild",
        "outcome": "done",
        "reason": "the status was missing",
        "details": {},
    }


def health(*, recorded_at: str = MOMENT, executor_state: str = "S") -> Document:
    """Return one record of ``run-health-samples.jsonl``."""
    numbers = (
        *("parent_pid", "process_start_ticks", "cpu_user_seconds", "cpu_system_seconds", "rss_bytes"),
        *("peak_rss_bytes", "threads", "read_bytes", "write_bytes", "open_fd_count", "child_process_count"),
    )
    process = {"pid": 3, "alive": True, "state": executor_state, "collector": None} | dict.fromkeys(numbers, 1)
    host = ("load_1m", "load_5m", "load_15m", "available_memory_bytes", "disk_free_bytes", "disk_total_bytes")
    return {
        "schema": "agent-workflow/run-health-sample/v1",
        "session_id": "any",
        "recorded_at": recorded_at,
        "runner": process,
        "executor": process,
        "host": dict.fromkeys(host, 1),
        "tmux_pane_id": None,
        "pane_dead": None,
        "output_bytes": 1,
        "stderr_bytes": 0,
        "executor_event_bytes": 0,
        "terminal_event_bytes": 0,
        "last_semantic_progress_at": None,
        "seconds_since_semantic_progress": None,
        "last_semantic_progress_source": None,
    }


def workflow_snapshot(workflow_id: str, *nodes: Document, pack: str = "pack") -> Document:
    """Return ``workflow-snapshot.json`` of the given nodes."""
    return {
        "schema": "agent-workflow/workflow-snapshot/v1",
        "workflow_id": workflow_id,
        "pack_id": pack,
        "pack_manifest_sha256": DIGEST,
        "nodes": list(nodes),
    }


def workflow_status(workflow_id: str, state: str, *nodes: Document) -> Document:
    """Return ``workflow-status.json``."""
    return {
        "schema": "agent-workflow/workflow-status/v1",
        "workflow_id": workflow_id,
        "snapshot_sha256": DIGEST,
        "event_count": 2,
        "workflow_state": state,
        "nodes": list(nodes),
    }


def node_standing(node_id: str, state: str, *, run_id: str | None = None) -> Document:
    """Return a node as a workflow's status has it."""
    return {
        "node_id": node_id,
        "state": state,
        "run_id": run_id,
        "attempt": None,
        "retry_of_run_id": None,
        "bound_at": None,
        "terminal_reason": None,
    }


def completion_collection(session_id: str) -> Document:
    """Return ``collections/completion.json`` of a completion that was found and valid."""
    return {
        "schema": "agent-workflow/completion-collection/v1",
        "session_id": session_id,
        "adapter": "native",
        "adapter_version": "1",
        "source_path": "completion.json",
        "source_sha256": DIGEST,
        "canonical_mapping": "identity",
        "canonical_sha256": DIGEST,
        "validation_status": "valid",
        "validation_errors": [],
        "collected_at": MOMENT,
        "stored_path": "completion.json",
    }
