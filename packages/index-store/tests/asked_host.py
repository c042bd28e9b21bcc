"""A state root that questions are put to: a few runs that differ in everything a filter looks at."""

from pathlib import Path

from sample_records import (
    health,
    incident,
    launch_contract,
    lifecycle,
    metrics,
    node_standing,
    permission,
    process_result,
    provenance,
    remediation,
    session_status,
    stage,
    workflow_snapshot,
    workflow_status,
)
from sample_state import RunFiles, StateRoot, write_repair

from agent_workflow.index_store import rebuild

# The same day, in the order of time: alpha, gamma, beta. In the order of their text, alpha would be the newest.
ALPHA, GAMMA, BETA = "2026-03-01T10:00:00+02:00", "2026-03-01T08:30:00.500Z", "2026-03-01T09:00:00+00:00"
LONG_AGO = "2026-02-01T00:00:00+00:00"


def write_run(state: StateRoot, name: str, at: str, *, executor: str, model: str, pack: str) -> RunFiles:
    """Make a run with the documents that filters look at."""
    run = state.run(name, created_at=at)
    contract = launch_contract(name, executor=executor, model=model, pack=pack, created_at=at)
    run.document("launch-contract.json", contract)
    run.document("run-provenance.json", provenance(name, started_at=at))
    run.document("execution-metrics.json", metrics(name, stage()))
    return run


def write_alpha(state: StateRoot) -> None:
    """Make the oldest run of the day: codex, large, with an open incident and a pending permission."""
    run = write_run(state, "alpha", ALPHA, executor="codex", model="large", pack="night")
    run.document("status.json", session_status("alpha", status="completed", created_at=ALPHA))
    run.document("process-result.json", process_result(error_category="none", recorded_at=ALPHA))
    run.document(
        "scores/score-set.json",
        {"schema": "agent-workflow/score-set/v1", "scores": [], "verdict": "pass"} | {"final_receipt_sha256": "a" * 64},
    )
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            "flow-a", {"node_id": "build", "dependencies": [], "executor": "codex", "model": "large"}, pack="night"
        ),
    )
    run.document(
        "workflow-status.json", workflow_status("flow-a", "running", node_standing("build", "running", run_id="gamma"))
    )
    run.journal("incidents.jsonl", [incident(1, category="stalled", recorded_at=ALPHA)])
    run.journal("permission-events.jsonl", [permission(1, recorded_at=ALPHA)])
    run.journal("remediations.jsonl", [remediation(1, incident_id=f"{1:024x}", recorded_at=ALPHA)])
    run.journal("run-health-samples.jsonl", [health(recorded_at=ALPHA, executor_state="S")])
    run.journal("newer.jsonl", [{"schema": "agent-workflow/something-new/v9"}])


def write_beta(state: StateRoot) -> None:
    """Make the newest run: claude, small, failed, with everything settled."""
    run = write_run(state, "beta", BETA, executor="claude", model="small", pack="day")
    run.document("status.json", session_status("beta", status="failed", created_at=BETA, failure_category="timeout"))
    run.document("process-result.json", process_result(error_category="timeout", recorded_at=BETA))
    run.document(
        "workflow-snapshot.json",
        workflow_snapshot(
            "flow-b",
            {"node_id": "test", "dependencies": ["lint"], "executor": "claude", "model": "small"},
            {"node_id": "lint", "dependencies": []},
            pack="day",
        ),
    )
    run.document(
        "workflow-status.json",
        workflow_status("flow-b", "completed", node_standing("test", "completed"), node_standing("lint", "failed")),
    )
    run.journal("incidents.jsonl", [incident(2, category="crashed", state="resolved", recorded_at=BETA)])
    run.journal("permission-events.jsonl", [permission(2, state="denied", recorded_at=BETA)])
    run.journal("remediations.jsonl", [remediation(2, incident_id=f"{2:024x}", recorded_at=BETA)])
    run.journal("run-health-samples.jsonl", [health(recorded_at=BETA, executor_state="Z")])
    run.journal("events.jsonl", [lifecycle(1, new="failed", timestamp=BETA)])


def write_host(folder: Path) -> Path:
    """Make the state root and index it."""
    state = StateRoot(folder)
    write_alpha(state)
    write_beta(state)
    state.run("gamma", archived=True, created_at=GAMMA)
    sealed = state.run("sealed", archived=True)
    sealed.seal(started_at=LONG_AGO)
    write_repair(state, sealed, "repair-1", created_at=ALPHA)
    write_repair(state, sealed, "repair-2", created_at=BETA)
    state.run("broken").journal("events.jsonl", [{"schema": "agent-workflow/lifecycle-event/v1"}])
    (state.run("linked").path / "link.json").symlink_to("status.json")
    (state.path / "runs" / "no run!").touch()
    rebuild(state.path)
    return state.path
