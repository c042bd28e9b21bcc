"""The rows that genuine files justify, worked out from ``index-tables.md`` with ``json`` and ``hashlib`` alone.

This is a second reading of the contract. It shares no code with the product, so where both agree they are right or
wrong for reasons of their own.
"""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any

from .genuine_run import NAMESPACE, GenuineRun, Line, first, scalar
from .index_reading import Row

GENERIC_COLUMNS = {
    "event_id": ("event_id", "incident_id", "message_id"),
    "recorded_at": ("recorded_at", "timestamp", "created_at"),
    "event_kind": ("kind", "dimension", "type"),
    "category": ("category", "failure_category"),
    "state": ("state", "new"),
    "outcome": ("outcome", "result"),
    "actor": ("actor",),
    "correlation_id": ("correlation_id",),
    "fingerprint": ("fingerprint",),
    "content_sha256": ("content_sha256",),
}

# Of a record that is not ours, only what has the shape of a name or a time.
_FOREIGN_COLUMNS = {
    "event_id": ("event_id", re.compile(r"[\w.:/-]{1,128}")),
    "recorded_at": ("timestamp", re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)")),
    "event_kind": ("type", re.compile(r"[\w.:/-]{1,64}")),
}


def source_files(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``source_files``; ``record_count`` only where the contract settles it, for journals."""
    for name in run.sources:
        status = (run.path / name).stat()
        journal = name.endswith(".jsonl")
        records = [line.record for line in run.lines if line.path == name]
        documents = records if journal else [json.loads((run.path / name).read_bytes())]
        contracts = {document.get("schema") for document in documents if isinstance(document, dict)}
        yield {
            "session_id": run.session_id,
            "relative_path": name,
            "file_kind": "jsonl" if journal else "json",
            "size_bytes": status.st_size,
            "mtime_ns": status.st_mtime_ns,
            "sha256": run.sha256(name),
            "schema_ids_json": json.dumps(sorted(contracts - {None})),
            **({"record_count": len(records)} if journal else {}),
        }


def events(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``events``."""
    for line in run.lines:
        ours = (line.contract or "").startswith(NAMESPACE)
        columns = _generic(line.record) if ours else _foreign(line.record)
        incident = line.contract == "agent-workflow/incident-event/v1"
        yield {
            **_key(run, line),
            "schema_id": line.contract,
            **columns,
            "summary": line.record["summary"][:2048] if incident else None,
        }


def health_samples(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``health_samples``."""
    for line in _of(run, "run-health-sample/v1"):
        sample, executor, host = line.record, line.record["executor"], line.record["host"]
        named = ("cpu_user_seconds", "cpu_system_seconds", "rss_bytes", "peak_rss_bytes", "read_bytes", "write_bytes")
        yield {
            **_key(run, line),
            "recorded_at": sample["recorded_at"],
            "runner_alive": scalar(sample["runner"]["alive"]),
            "executor_alive": scalar(executor["alive"]),
            "executor_state": executor["state"],
            **{name: executor[name] for name in (*named, "open_fd_count", "child_process_count")},
            "host_load_1m": host["load_1m"],
            "host_available_memory_bytes": host["available_memory_bytes"],
            "disk_free_bytes": host["disk_free_bytes"],
            "output_bytes": sample["output_bytes"],
            "stderr_bytes": sample["stderr_bytes"],
            "executor_event_bytes": sample["executor_event_bytes"],
            "terminal_event_bytes": sample["terminal_event_bytes"],
            "last_semantic_progress_at": sample["last_semantic_progress_at"],
            "seconds_since_semantic_progress": sample["seconds_since_semantic_progress"],
            "last_semantic_progress_source": sample["last_semantic_progress_source"],
        }


def permission_events(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``permission_events``."""
    names = ("event_id", "recorded_at", "principal", "operation", "resource_class", "target", "requested_access")
    more = ("state", "source", "policy_rule_id", "evidence_sha256", "remediation_class")
    for line in _of(run, "permission-event/v1"):
        yield {**_key(run, line), **{name: line.record[name] for name in (*names, *more)}}


def incident_events(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``incident_events``."""
    names = ("incident_id", "recorded_at", "category", "severity", "summary", "fingerprint", "state")
    for line in _of(run, "incident-event/v1"):
        yield {**_key(run, line), **{name: line.record[name] for name in names}}


def remediation_events(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``remediation_events``; of the reason only its digest."""
    names = ("event_id", "incident_id", "recorded_at", "rule_id", "action", "outcome")
    for line in _of(run, "remediation-event/v1"):
        reason = sha256(line.record["reason"].encode()).hexdigest()
        yield {**_key(run, line), **{name: line.record[name] for name in names}, "reason_sha256": reason}


def process_results(run: GenuineRun) -> Iterator[Row]:
    """Return the row of ``process_results``."""
    result = run.document("process-result.json", "process-result/v1")
    if result is not None:
        names = (
            *("returncode", "exit_code", "signal", "timed_out", "cancelled", "stdout_truncated", "stderr_truncated"),
            *("stdout_bytes", "stderr_bytes", "duration_seconds", "error_category", "resolved_executable"),
            *("executable_sha256", "runner_pid", "executor_pid", "recorded_at"),
        )
        row = {name: scalar(result.get(name)) for name in names}
        yield {"session_id": run.session_id, **row, "source_sha256": run.sha256("process-result.json")}


def execution_metrics(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``execution_metrics``."""
    metrics = run.document("execution-metrics.json", "execution-metrics/v1")
    names = (
        *("stage", "input_tokens", "cached_input_tokens", "output_tokens", "provider_total_tokens"),
        *("reasoning_output_tokens", "provider_billed_cost", "local_estimated_cost", "currency", "elapsed_seconds"),
        *("first_output_latency_seconds", "retry_count", "steer_count", "steer_acknowledged_count"),
        "steer_pending_count",
    )
    for stage in metrics["stages"] if metrics else ():
        row = {name: stage[name] for name in names}
        yield {"session_id": run.session_id, **row, "source_sha256": run.sha256("execution-metrics.json")}


def workflow_of(run: GenuineRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a run's workflow as it was configured and as it stands; both empty where it owns none."""
    whole = run.document("workflow-run.json") or {}
    status = run.document("workflow-status.json", "workflow-status/v1") or whole.get("status") or {}
    return run.document("workflow-snapshot.json", "workflow-snapshot/v1") or {}, status


def workflows(run: GenuineRun) -> Iterator[Row]:
    """Return the row of ``workflows``."""
    snapshot, status = workflow_of(run)
    if snapshot or status:
        yield {
            "workflow_id": first(snapshot.get("workflow_id"), status.get("workflow_id")),
            "owner_run_id": run.session_id,
            "pack_id": snapshot.get("pack_id"),
            "snapshot_sha256": status.get("snapshot_sha256"),
            "workflow_state": status.get("workflow_state"),
            "event_count": status.get("event_count"),
        }


def workflow_nodes(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``workflow_nodes``: the union of both files."""
    snapshot, status = workflow_of(run)
    plans = {node["node_id"]: node for node in snapshot.get("nodes", ())}
    stands = {node["node_id"]: node for node in status.get("nodes", ())}
    for node_id in plans.keys() | stands.keys():
        plan, now = plans.get(node_id, {}), stands.get(node_id, {})
        yield {
            "workflow_id": first(snapshot.get("workflow_id"), status.get("workflow_id")),
            "node_id": node_id,
            "kind": first(plan.get("kind"), now.get("kind")),
            "ticket_id": plan.get("ticket_id"),
            "configured_session_id": plan.get("session_id"),
            "bound_run_id": now.get("run_id"),
            "state": now.get("state"),
            "attempt": now.get("attempt"),
            "retry_of_run_id": now.get("retry_of_run_id"),
            "executor": plan.get("executor"),
            "model": plan.get("model"),
            "interactive": scalar(plan.get("interactive")),
            "terminal_reason": now.get("terminal_reason"),
        }


def workflow_edges(run: GenuineRun) -> Iterator[Row]:
    """Return the rows of ``workflow_edges``: from each dependency to what depends on it."""
    snapshot, _ = workflow_of(run)
    for node in snapshot.get("nodes", ()):
        for dependency in node["dependencies"]:
            yield {
                "workflow_id": snapshot["workflow_id"],
                "source_node_id": dependency,
                "target_node_id": node["node_id"],
            }


def _of(run: GenuineRun, contract: str) -> Iterable[Line]:
    return [line for line in run.lines if line.contract == NAMESPACE + contract]


def _key(run: GenuineRun, line: Line) -> Row:
    digest = sha256(line.raw).hexdigest()
    key: Row = {"session_id": run.session_id, "relative_path": line.path, "source_sequence": line.number}
    return key | {"record_sha256": digest}


def _generic(record: dict[str, Any]) -> Row:
    return {column: scalar(first(*map(record.get, names))) for column, names in GENERIC_COLUMNS.items()}


def _foreign(record: dict[str, Any]) -> Row:
    columns: Row = dict.fromkeys(GENERIC_COLUMNS)
    for column, (name, shape) in _FOREIGN_COLUMNS.items():
        value = record.get(name)
        if isinstance(value, str) and shape.fullmatch(value):
            columns[column] = value
    return columns
