"""Small state roots with honest records in them: what the reliability tests index, damage and ask about."""

import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
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


@dataclass(frozen=True)
class RunFiles:
    """A run directory to write into."""

    path: Path

    @property
    def session_id(self) -> str:
        """Name of the directory."""
        return self.path.name

    def document(self, name: str, content: Mapping[str, object]) -> Path:
        """Replace a document as writers do: beside it, then by rename."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        beside = path.with_name(f".{path.name}.new")
        beside.write_text(json.dumps(content))
        beside.replace(path)
        return path

    def read(self, name: str) -> Document:
        """Return a document as it is now."""
        content: Document = json.loads((self.path / name).read_bytes())
        return content

    def journal(self, name: str, records: Iterable[Mapping[str, object]]) -> Path:
        """Append records to a journal."""
        path = self.path / name
        path.parent.mkdir(exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        return path

    def seal(self, *, started_at: str = MOMENT) -> Path:
        """Write what a sealed run without a launch contract must have, and the receipt over every file."""
        for name in ("prompt.md", "launch-prompt.md", "completion.md", "executor-stderr.log", "output.log"):
            (self.path / name).write_text(f"{name}\n")
        (self.path / "patch.diff").write_text("")
        for name in ("command.json", "source-baseline.json", "completion.json"):
            self.document(name, {"name": name})
        self.document("run-provenance.json", provenance(self.session_id, started_at=started_at))
        self.document("final-status.json", session_status(self.session_id, status="completed"))
        self.document("collections/completion.json", completion_collection(self.session_id))
        self.journal("executor-events.jsonl", [{"type": "text"}])
        receipt = self.document(
            "final-receipt.json",
            {
                "schema": "agent-workflow/final-receipt/v1",
                "session_id": self.session_id,
                "sealed_at": MOMENT,
                "artifacts": artifacts_in(self.path),
            },
        )
        receipt.chmod(0o444)
        return receipt


def artifacts_in(directory: Path) -> list[Document]:
    """Return every file of a directory as a receipt lists it."""
    return [
        {
            "path": str(file.relative_to(directory)),
            "size": file.stat().st_size,
            "sha256": digest_of(file),
        }
        for file in sorted(directory.rglob("*"))
        if file.is_file()
    ]


def digest_of(file: Path) -> str:
    """Return a file's SHA-256."""
    return sha256(file.read_bytes()).hexdigest()


class StateRoot:
    """A state root to put runs into."""

    def __init__(self, path: Path) -> None:
        """Make the directories, owner-only whatever the umask."""
        self.path = path
        for directory in (path, path / "runs", path / "archive"):
            directory.mkdir(exist_ok=True)
            directory.chmod(0o700)

    @property
    def index(self) -> Path:
        """The ``index`` directory."""
        return self.path / "index"

    @property
    def database(self) -> Path:
        """The index database."""
        return self.index / "agent-workflow.sqlite3"

    def index_files(self) -> set[str]:
        """Return the names of what lies in ``index``."""
        return {path.name for path in self.index.iterdir()}

    def run(self, session_id: str, *, archived: bool = False, **status: object) -> RunFiles:
        """Make a run with a status, and return its directory to write more into."""
        run = RunFiles(self.path / ("archive" if archived else "runs") / session_id)
        run.path.mkdir(exist_ok=True)
        run.document("status.json", session_status(session_id, **status))
        return run

    def remove(self, session_id: str) -> None:
        """Remove an active run."""
        shutil.rmtree(self.path / "runs" / session_id)


def write_rich_run(state: StateRoot, session_id: str, *, archived: bool = False) -> RunFiles:
    """Make a run that has rows in every table that one run can fill."""
    run = state.run(session_id, archived=archived)
    run.document("launch-contract.json", launch_contract(session_id, executor="codex", model="large", pack="pack"))
    run.document("run-provenance.json", provenance(session_id))
    run.document("process-result.json", process_result())
    run.document("execution-metrics.json", metrics(session_id, stage("total", input_tokens=5), stage("orchestrator")))
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            f"flow-{session_id}",
            {"node_id": "build", "dependencies": []},
            {"node_id": "test", "dependencies": ["build"]},
        ),
    )
    run.journal("events.jsonl", [lifecycle(1), lifecycle(2)])
    run.journal("incidents.jsonl", [incident(1), incident(1, state="resolved"), incident(2)])
    run.journal("permission-events.jsonl", [permission(1), permission(2, state="denied")])
    run.journal("remediations.jsonl", [remediation(1)])
    run.journal("run-health-samples.jsonl", [health(), health()])
    run.journal("newer.jsonl", [{"schema": "agent-workflow/something-new/v9"}])
    return run


def write_repair(state: StateRoot, run: RunFiles, repair_id: str, *, created_at: str = MOMENT) -> RunFiles:
    """Supplement a sealed run's completion by a repair that verifies."""
    repair = RunFiles(state.path / "evidence-repairs" / repair_id)
    repair.path.mkdir(parents=True)
    repair.path.parent.chmod(0o700)
    shutil.copy(run.path / "completion.json", repair.path / "original-completion.json")
    canonical = repair.document(
        "canonical-completion.json",
        {
            "schema": "agent-workflow/completion/v1",
            "session_id": run.session_id,
            "result": "completed",
            "base_revision": None,
            "head_revision": None,
            "changed_files": [],
            "criteria": [],
            "commands": [],
            "unresolved": [],
        },
    )
    receipt_sha256 = digest_of(run.path / "final-receipt.json")
    repair.document(
        "evidence-repair.json",
        {
            "schema": "agent-workflow/evidence-repair/v1",
            "repair_id": repair_id,
            "created_at": created_at,
            "actor": "reviewer",
            "source": {
                "session_id": run.session_id,
                "final_receipt_sha256": receipt_sha256,
                "artifact_path": "completion.json",
                "artifact_sha256": digest_of(run.path / "completion.json"),
            },
            "adapter": {"id": "completion-normalize-v1", "version": "1", "sha256": DIGEST},
            "canonical": {
                "path": canonical.name,
                "sha256": digest_of(canonical),
                "schema": "agent-workflow/completion/v1",
                "validation_result": "valid",
            },
            "original_interpretation": {"schema": None, "result": None, "review_disposition": None},
            "supplemental_interpretation": {
                "result": "completed",
                "review_disposition": "approved",
                "acceptance_authority": False,
            },
            "normalization_differences": [],
            "source_mutation_check": {"fingerprint_before": DIGEST, "fingerprint_after": DIGEST, "unchanged": True},
        },
    )
    repair.document(
        "repair-receipt.json",
        {
            "schema": "agent-workflow/evidence-repair-receipt/v1",
            "repair_id": repair_id,
            "source_session_id": run.session_id,
            "source_final_receipt_sha256": receipt_sha256,
            "sealed_at": created_at,
            "artifacts": artifacts_in(repair.path),
        },
    )
    return repair
