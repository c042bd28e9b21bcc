"""The row of a run and of a repair, worked out from genuine files by plain means."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from .expected_rows import workflow_of
from .genuine_run import GenuineRun, first, scalar
from .index_reading import Row


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
    snapshot, standing = workflow_of(run)
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
