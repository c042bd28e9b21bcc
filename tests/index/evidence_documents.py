"""Every document of a run, one function a contract; they follow ``run-evidence-records.md``.

Documents are plain dictionaries: nothing here knows the product. ``changes`` replace or add fields.
"""

from typing import Literal

from .evidence_files import CARD, CATALOG, DIGEST, Document, RunDirectory, digest, moment

LaunchVersion = Literal[1, 2]


# Records, one function a contract. `changes` replace or add fields.


def session_status(session_id: str, **changes: object) -> Document:
    """Return a ``session-status/v2``: a run that goes on."""
    return {
        "schema": "agent-workflow/session-status/v2",
        "session_id": session_id,
        "ticket_id": "T-1",
        "pack_id": "pack-one",
        "status": "running",
        "disposition": None,
        "created_at": moment(0),
        "updated_at": moment(90),
        "workdir": "/srv/tree",
        "prompt_path": "/state/prompt.md",
        "log_path": "/state/output.log",
        "failure_category": None,
    } | changes


def process_result(**changes: object) -> Document:
    """Return a ``process-result/v1``."""
    return {
        "schema": "agent-workflow/process-result/v1",
        "argv": ["/usr/bin/codex", "exec"],
        "resolved_executable": "/usr/bin/codex",
        "executable_version": "0.171.0",
        "executable_sha256": DIGEST,
        "returncode": 0,
        "exit_code": 0,
        "signal": None,
        "timed_out": False,
        "cancelled": False,
        "stdout_truncated": False,
        "stderr_truncated": True,
        "stdout_bytes": 21,
        "stderr_bytes": 7,
        "duration_seconds": 12.5,
        "error_category": "completed",
        "runner_pid": 122,
        "executor_pid": 123,
        "recorded_at": moment(80),
    } | changes


def metrics_stage(stage: str, **changes: object) -> Document:
    """Return one stage of execution metrics."""
    return {
        "stage": stage,
        "input_tokens": 100,
        "cached_input_tokens": 20,
        "output_tokens": 30,
        "provider_total_tokens": 130,
        "cost": 0.01,
        "currency": "USD",
        "elapsed_seconds": 12,
        "first_output_latency_seconds": 1.5,
        "retry_count": 1,
        "errors": [],
        "steer_count": 2,
        "steer_acknowledged_count": 1,
        "steer_pending_count": 1,
        "cache_write_input_tokens": None,
        "reasoning_output_tokens": 5,
        "provider_billed_cost": 0.01,
        "local_estimated_cost": None,
        "price_catalog_id": None,
    } | changes


def execution_metrics(session_id: str, **changes: object) -> Document:
    """Return an ``execution-metrics/v1`` of two stages."""
    return {
        "schema": "agent-workflow/execution-metrics/v1",
        "session_id": session_id,
        "stages": [metrics_stage("orchestrator", provider_billed_cost=None), metrics_stage("total")],
    } | changes


def heartbeat() -> Document:
    """Return a ``heartbeat/v2``."""
    return {"schema": "agent-workflow/heartbeat/v2", "at": moment(70), "executor_pid": 123, "runner_pid": 122}


def command() -> Document:
    """Return a ``command/v1``."""
    return {
        "schema": "agent-workflow/command/v1",
        "argv": ["/usr/bin/codex", "exec"],
        "shell": "/usr/bin/codex exec",
        "executor": "codex",
        "classification": "named",
        "stream_format": "codex-jsonl",
    }


def command_catalog() -> Document:
    """Return a ``command-catalog/v1``."""
    return {
        "schema": "agent-workflow/command-catalog/v1",
        "version": 1,
        "role": "implementation",
        "application": {"name": "agent-workflow", "version": "0.7.9", "cli_invocation": ["agent-workflow"]},
        "commands": [
            {
                "command": "status",
                "path": ["status"],
                "summary": "show a run",
                "synopsis": "agent-workflow status",
                "options": [],
                "positionals": [],
            }
        ],
        "global_options": [],
        "plugins": [],
    }


def source_baseline() -> Document:
    """Return a ``source-baseline/v1``."""
    return {
        "schema": "agent-workflow/source-baseline/v1",
        "generated_at": moment(1),
        "components": {"primary": {"branch": "main", "dirty": False, "head": "0" * 40, "path": "/srv/tree"}},
    }


def launch_contract(run: RunDirectory, version: LaunchVersion) -> Document:
    """Return a ``launch-contract/v1`` or ``/v2`` over the files that a run has already."""
    contract: Document = {
        "schema": f"agent-workflow/launch-contract/v{version}",
        "version": version,
        "session": {
            "id": run.session_id,
            "agent_name": "agent-01",
            "agent_class": "implementation",
            "tier": "standard",
            "retry_of": "earlier-run",
            "created_at": moment(0),
        },
        "ticket": "T-1",
        "ticket_identity": {"mode": "explicit", "value": "T-1"},
        "pack": {"id": "pack-one", "root": "/packs/one", "manifest_sha256": DIGEST},
        "worktree": {"path": "/srv/tree", "source_revision": "0" * 40, "branch": "main", "dirty_at_launch": False},
        "prompt": {
            "source": "/prompts/one.md",
            "stored": "prompt.md",
            "sha256": digest((run.path / "prompt.md").read_bytes()),
            "launch_stored": "launch-prompt.md",
            "launch_sha256": digest((run.path / "launch-prompt.md").read_bytes()),
        },
        "command_plan": {
            "argv": ["/usr/bin/codex", "exec"],
            "command_sha256": DIGEST,
            "stream_format": "codex-jsonl",
            "interactive": False,
            "executor_interactive": False,
            "environment_allowlist": [],
            "executor": "codex",
            "model": "gpt-test",
        },
        "paths": {
            "run_dir": ".",
            "workdir": "/srv/tree",
            "handoff_dir": "/srv/tree/.handoff",
            "completion": "completion.json",
            "result": "result.json",
            "result_contract": None,
            "runtime": "evaluation-runtime.json",
            "source_baseline": "source-baseline.json",
        },
        "schemas": {},
        "runtime_policy": {},
        "evaluation_policy": {},
        "source_baseline": {
            "path": "source-baseline.json",
            "sha256": digest((run.path / "source-baseline.json").read_bytes()),
        },
        "expected_outputs": {
            "output_log": "output.log",
            "executor_events": "executor-events.jsonl",
            "executor_stderr": "executor-stderr.log",
            "final_status": "final-status.json",
            "final_receipt": "final-receipt.json",
        },
    }
    if version == 2:
        contract["command_catalog"] = {
            "role": "implementation",
            "cli_invocation": ["agent-workflow"],
            "catalog_schema": "agent-workflow/command-catalog/v1",
            "catalog_path": CATALOG,
            "catalog_sha256": digest((run.path / CATALOG).read_bytes()),
            "card_path": CARD,
            "card_sha256": digest((run.path / CARD).read_bytes()),
        }
    return contract


def run_provenance(session_id: str, **changes: object) -> Document:
    """Return a ``run-provenance/v1``."""
    return {
        "schema": "agent-workflow/run-provenance/v1",
        "session_id": session_id,
        "executor": "codex",
        "agent_name": "agent-of-provenance",
        "agent_class": "implementation",
        "argv": ["/usr/bin/codex", "exec"],
        "stream_format": "codex-jsonl",
        "model": "gpt-test",
        "prompt_sha256": DIGEST,
        "source_revision": "0" * 40,
        "worktree": "/srv/tree",
        "environment": {"platform": "Linux"},
        "retry_of_run_id": None,
        "started_at": moment(2),
        "finished_at": moment(85),
        "exit_code": 0,
        "workflow": None,
    } | changes


def completion(session_id: str, **changes: object) -> Document:
    """Return a ``completion/v1``: everything was done."""
    return {
        "schema": "agent-workflow/completion/v1",
        "session_id": session_id,
        "ticket_id": "T-1",
        "pack_id": "pack-one",
        "result": "completed",
        "base_revision": "0" * 40,
        "head_revision": "1" * 40,
        "changed_files": ["src/module.py"],
        "criteria": [{"id": "tests", "result": "pass", "evidence": ["12 passed"]}],
        "commands": [{"argv": ["pytest"], "cwd": "/srv/tree", "exit_code": 0, "receipt": "12 passed"}],
        "unresolved": [],
        "usage": None,
    } | changes


def completion_collection(session_id: str, **changes: object) -> Document:
    """Return a ``completion-collection/v1``: the completion was there and valid."""
    return {
        "schema": "agent-workflow/completion-collection/v1",
        "session_id": session_id,
        "adapter": "native",
        "adapter_version": "1",
        "source_path": "/srv/tree/.handoff/completion.json",
        "source_sha256": DIGEST,
        "canonical_mapping": "identity",
        "canonical_sha256": DIGEST,
        "validation_status": "valid",
        "validation_errors": [],
        "collected_at": moment(84),
        "stored_path": "completion.json",
    } | changes


def ledger_row(session_id: str, **changes: object) -> Document:
    """Return an ``evaluation-ledger-row/v1``: eligible for acceptance."""
    return {
        "schema": "agent-workflow/evaluation-ledger-row/v1",
        "run_id": session_id,
        "ticket_id": "T-1",
        "case_id": None,
        "source_revision": "0" * 40,
        "pack_id": "pack-one",
        "pack_checksum_reference": None,
        "run_receipt_sha256": None,
        "receipt_verification": "verified",
        "evaluation_state": "verified",
        "evaluation_result": "pass",
        "disposition": None,
        "evidence_paths": dict.fromkeys(
            (
                "status",
                "completion",
                "run_provenance",
                "final_receipt",
                "evaluation_runtime",
                "score_set",
                "evaluation_report",
                "trial_collection",
                "lifecycle_disposition",
                "completion_collection",
                "repository_closeout",
            )
        ),
        "failures": [],
        "executor_result": "completed",
        "completion_result": "valid",
        "policy_result": "passed",
        "acceptance_eligible": True,
        "attempt_classification": "acceptance-eligible",
        "supplemental_repairs": [],
        "repository_closeout": None,
    } | changes


def lifecycle_receipt(session_id: str, action: str, receipt_sha256: str, **changes: object) -> Document:
    """Return a ``lifecycle-receipt/v1``."""
    return {
        "schema": "agent-workflow/lifecycle-receipt/v1",
        "session_id": session_id,
        "action": action,
        "actor": "reviewer",
        "reason": "evidence checked",
        "created_at": moment(95),
        "final_receipt_sha256": receipt_sha256,
    } | changes


def workflow_snapshot(workflow_id: str) -> Document:
    """Return a ``workflow-snapshot/v1`` of two nodes and one edge."""
    return {
        "schema": "agent-workflow/workflow-snapshot/v1",
        "workflow_id": workflow_id,
        "pack_id": "pack-one",
        "pack_manifest_sha256": DIGEST,
        "nodes": [
            {"node_id": "build", "kind": "task", "ticket_id": "T-1", "executor": "codex", "dependencies": []},
            {"node_id": "review", "kind": "task", "model": "sonnet", "interactive": True, "dependencies": ["build"]},
        ],
    }


def workflow_status(workflow_id: str) -> Document:
    """Return a ``workflow-status/v1``: one node runs, one nobody configured has failed."""
    absent: Document = {"run_id": None, "attempt": None, "retry_of_run_id": None, "bound_at": None}
    return {
        "schema": "agent-workflow/workflow-status/v1",
        "workflow_id": workflow_id,
        "snapshot_sha256": DIGEST,
        "event_count": 2,
        "workflow_state": "running",
        "nodes": [
            absent
            | {"node_id": "build", "state": "running", "run_id": "live-run", "attempt": 1}
            | {"terminal_reason": None},
            absent | {"node_id": "extra", "kind": "approval", "state": "failed", "terminal_reason": "refused"},
        ],
    }
