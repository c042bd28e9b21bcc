"""The rows that genuine files justify, worked out from ``index-tables.md`` with ``json`` and ``hashlib`` alone.

This is a second reading of the contract. It shares no code with the product, so where both agree they are right or
wrong for reasons of their own.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from .index_reading import Cell, Row

NAMESPACE = "agent-workflow/"

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


class Line(NamedTuple):
    """One record of a journal, with the bytes it was written in."""

    path: str
    number: int
    raw: bytes
    record: Any

    @property
    def contract(self) -> str | None:
        """The contract that the record names."""
        name = self.record.get("schema") if isinstance(self.record, dict) else None
        return name if isinstance(name, str) else None


@dataclass(frozen=True)
class GenuineRun:
    """One run directory, read plainly."""

    path: Path

    @property
    def session_id(self) -> str:
        """The directory's name."""
        return self.path.name

    @property
    def storage_class(self) -> str:
        """Where it lies."""
        return "archive" if self.path.parent.name == "archive" else "active"

    @cached_property
    def sources(self) -> list[str]:
        """Paths of the regular ``.json`` and ``.jsonl`` files."""
        files = (path for path in self.path.rglob("*") if path.suffix in (".json", ".jsonl"))
        return sorted(str(path.relative_to(self.path)) for path in files if path.is_file() and not path.is_symlink())

    @cached_property
    def lines(self) -> list[Line]:
        """Every complete record of every journal."""
        return [
            Line(name, number, raw, json.loads(raw))
            for name in self.sources
            if name.endswith(".jsonl")
            for number, raw in enumerate((self.path / name).read_bytes().split(b"\n")[:-1], 1)
        ]

    def document(self, name: str, contract: str = "") -> dict[str, Any] | None:
        """Read a document; None where there is none, or it follows a contract of another name."""
        path = self.path / name
        if not path.is_file():
            return None
        document: dict[str, Any] = json.loads(path.read_bytes())
        return document if str(document.get("schema", "")).startswith(NAMESPACE + contract) else None

    def sha256(self, name: str) -> str:
        """Return the digest of a file."""
        return sha256((self.path / name).read_bytes()).hexdigest()


def first(*values: Any) -> Any:
    """Return the first value that is present."""
    return next((value for value in values if value is not None), None)


def scalar(value: Any) -> Cell:
    """Return what a column holds: a string, a number, a boolean as 0 or 1, nothing else."""
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, (str, int, float)) else None


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


def _workflow(run: GenuineRun) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a run's workflow as it was configured and as it stands; both empty where it owns none."""
    whole = run.document("workflow-run.json") or {}
    status = run.document("workflow-status.json", "workflow-status/v1") or whole.get("status") or {}
    return run.document("workflow-snapshot.json", "workflow-snapshot/v1") or {}, status


def workflows(run: GenuineRun) -> Iterator[Row]:
    """Return the row of ``workflows``."""
    snapshot, status = _workflow(run)
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
    snapshot, status = _workflow(run)
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
    snapshot, _ = _workflow(run)
    for node in snapshot.get("nodes", ()):
        for dependency in node["dependencies"]:
            yield {
                "workflow_id": snapshot["workflow_id"],
                "source_node_id": dependency,
                "target_node_id": node["node_id"],
            }


def run_row(run: GenuineRun, expected: Mapping[str, Any]) -> Row:
    """Return the row of ``runs`` of a current run, without the fingerprint, which is no value of a file.

    Args:
        run: the run.
        expected: what must be concluded about it.
    """
    sealed = bool(expected["evidence_complete"])
    row: Row = {
        "session_id": run.session_id,
        "source_dir": f"{run.path.parent.name}/{run.session_id}",
        "storage_class": run.storage_class,
        "index_state": "current",
        "index_error": None,
        "evidence_complete": int(sealed),
        "final_receipt_sha256": run.sha256("final-receipt.json") if sealed else None,
        **_described(run),
        **_outcomes(run),
    }
    ledger = run.document("ledger-row.json") or {}
    row["attempt_classification"] = ledger.get("attempt_classification") or (_classified(row) if sealed else None)
    return row


def _described(run: GenuineRun) -> Row:
    launch = run.document("launch-contract.json", "launch-contract/") or {}
    status = _status(run)
    provenance = run.document("run-provenance.json") or {}
    result = run.document("process-result.json") or {}
    session, plan, tree = (launch.get(part) or {} for part in ("session", "command_plan", "worktree"))
    node = provenance.get("workflow") or {}
    snapshot, standing = _workflow(run)
    return {
        "launch_schema": launch.get("schema"),
        "ticket_id": first(launch.get("ticket"), status.get("ticket_id")),
        "pack_id": first((launch.get("pack") or {}).get("id"), status.get("pack_id")),
        "workflow_id": first(node.get("workflow_id"), snapshot.get("workflow_id"), standing.get("workflow_id")),
        "workflow_node_id": node.get("node_id"),
        "retry_of_run_id": first(session.get("retry_of"), provenance.get("retry_of_run_id")),
        "agent_name": first(session.get("agent_name"), provenance.get("agent_name")),
        "agent_class": first(session.get("agent_class"), provenance.get("agent_class")),
        "tier": session.get("tier"),
        "executor": first(plan.get("executor"), provenance.get("executor")),
        "model": first(plan.get("model"), provenance.get("model")),
        "interactive": scalar(plan.get("interactive")),
        "workdir": first(tree.get("path"), provenance.get("worktree"), status.get("workdir")),
        "source_revision": first(tree.get("source_revision"), provenance.get("source_revision")),
        "branch": tree.get("branch"),
        "dirty_at_launch": scalar(tree.get("dirty_at_launch")),
        "created_at": first(session.get("created_at"), status.get("created_at")),
        "started_at": provenance.get("started_at"),
        "finished_at": first(provenance.get("finished_at"), status.get("updated_at")),
        "durable_status": status.get("status"),
        "disposition": status.get("disposition"),
        "failure_category": status.get("failure_category"),
        "exit_code": first(provenance.get("exit_code"), result.get("exit_code")),
    }


def _outcomes(run: GenuineRun) -> Row:
    status = _status(run)
    ledger = run.document("ledger-row.json") or {}
    collected = run.document("collections/completion.json") or {}
    verdict = first((run.document("scores/score-set.json") or {}).get("verdict"), ledger.get("evaluation_result"))
    planned = "not_planned" if status.get("evaluation_path") is None else "not_verified"
    judged = "verified" if verdict in ("pass", "fail", "invalid") else planned
    eligible = ledger["acceptance_eligible"] if "acceptance_eligible" in ledger else status.get("acceptance_eligible")
    return {
        "executor_result": first(ledger.get("executor_result"), status.get("executor_result")),
        "policy_result": first(ledger.get("policy_result"), status.get("policy_result")),
        "completion_result": first(
            ledger.get("completion_result"), collected.get("validation_status"), status.get("completion_result")
        ),
        "acceptance_eligible": scalar(eligible),
        "score_verdict": verdict,
        "evaluation_state": first(ledger.get("evaluation_state"), judged),
    }


def _classified(row: Row) -> str:
    """Classify a sealed attempt by the first rule that holds."""
    rules = (
        (row["completion_result"] in ("missing", "invalid"), f"completion-{row['completion_result']}"),
        (row["policy_result"] == "failed", "policy-failed"),
        (
            row["executor_result"] in ("failed", "interrupted", "killed", "lost"),
            f"executor-{row['executor_result']}",
        ),
        (row["acceptance_eligible"] == 1, "acceptance-eligible"),
        ("completed" in (row["executor_result"], row["durable_status"]), "completed-not-accepted"),
    )
    return next((word for holds, word in rules if holds), "terminal-unclassified")


def _status(run: GenuineRun) -> dict[str, Any]:
    return run.document("final-status.json") or run.document("status.json") or {}


def evidence_repair(directory: Path) -> Row:
    """Return the row of ``evidence_repairs`` of a repair that verifies."""
    record = json.loads((directory / "evidence-repair.json").read_bytes())
    source, adapter, canonical = record["source"], record["adapter"], record["canonical"]
    return {
        "repair_id": record["repair_id"],
        "source_session_id": source["session_id"],
        "source_final_receipt_sha256": source["final_receipt_sha256"],
        "source_artifact_path": source["artifact_path"],
        "source_artifact_sha256": source["artifact_sha256"],
        "adapter_id": adapter["id"],
        "adapter_version": adapter["version"],
        "adapter_sha256": adapter["sha256"],
        "canonical_sha256": canonical["sha256"],
        "validation_result": canonical["validation_result"],
        "source_mutation_verified": 1,
        "repair_receipt_sha256": sha256((directory / "repair-receipt.json").read_bytes()).hexdigest(),
        "repair_dir": f"evidence-repairs/{directory.name}",
        "created_at": record["created_at"],
        "actor": record["actor"],
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
