"""Valid runs of our own making: run directories, sealed runs, a whole state root.

Every run is one that a real installation could have written. A test changes one thing about it, so the fault it tests
is the only one there is.
"""

from pathlib import Path

from .evidence_documents import (
    LaunchVersion,
    command,
    command_catalog,
    completion,
    completion_collection,
    execution_metrics,
    heartbeat,
    launch_contract,
    ledger_row,
    process_result,
    run_provenance,
    session_status,
    source_baseline,
    workflow_snapshot,
    workflow_status,
)
from .evidence_files import CARD, CATALOG, DIGEST, EvidenceRoot, RunDirectory, artifact, digest, moment
from .evidence_journals import (
    assignment_event,
    codex_events,
    control_event,
    health_sample,
    incident_event,
    lifecycle_event,
    permission_event,
    remediation_event,
    session_message,
    steering_delivery,
    terminal_event,
)

SEALED_ALWAYS = (
    "prompt.md",
    "launch-prompt.md",
    "command.json",
    "source-baseline.json",
    "completion.md",
    "completion.json",
    "run-provenance.json",
    "executor-events.jsonl",
    "executor-stderr.log",
    "output.log",
    "final-status.json",
    "patch.diff",
    "collections/completion.json",
)
SEALED_WITH_LAUNCH = (*SEALED_ALWAYS, "launch-contract.json")
SEALED_WITH_CATALOG = (*SEALED_WITH_LAUNCH, CATALOG, CARD)


# Whole runs.


def write_journals(run: RunDirectory) -> None:
    """Write every journal that a run can have, each with more than one record."""
    name = run.session_id
    run.write_journal("events.jsonl", [lifecycle_event(number) for number in (1, 2, 3)])
    run.write_journal("run-health-samples.jsonl", [health_sample(name, second) for second in (10, 20, 30)])
    run.write_journal(
        "permission-events.jsonl", [permission_event(name, 40), permission_event(name, 41, state="cleared")]
    )
    run.write_journal(
        "incident-events.jsonl",
        [
            incident_event(name, 50),
            incident_event(name, 51, state="resolved"),
            incident_event(name, 52, incident_id="b" * 24, severity="high"),
        ],
    )
    run.write_journal("remediation-events.jsonl", [remediation_event(name, second) for second in (60, 61)])
    run.write_journal("terminal-events.jsonl", [terminal_event(name, second) for second in (62, 63)])
    run.write_journal("messages.jsonl", [session_message(name, number) for number in (1, 2)])
    run.write_journal("control-events.jsonl", [control_event(name, number) for number in (1, 2)])
    run.write_journal("steering-delivery.jsonl", [steering_delivery(name, number) for number in (1, 2)])
    run.write_journal("assignments.jsonl", [assignment_event(name, number) for number in (1, 2)])
    run.write_journal("executor-events.jsonl", codex_events())


def write_live_run(run: RunDirectory) -> RunDirectory:
    """Write a run that goes on: every journal, and the documents that are there before the end."""
    write_journals(run)
    run.write("status.json", session_status(run.session_id))
    run.write("process-result.json", process_result())
    run.write("execution-metrics.json", execution_metrics(run.session_id))
    run.write("heartbeat.json", heartbeat())
    run.write("prompt.md", "Make the tests pass.\n")
    run.write("output.log", "running\n")
    return run


def write_sealed_run(run: RunDirectory, *, launch: LaunchVersion | None = 2) -> str:
    """Write a run that ended well and is sealed; return the digest of its receipt.

    Args:
        run: its directory.
        launch: version of its launch contract; None for a run from before there were any.
    """
    write_journals(run)
    name = run.session_id
    for text in ("prompt.md", "launch-prompt.md", "completion.md", "output.log", "patch.diff", CARD):
        run.write(text, f"{text} of {name}\n", mode=0o444)
    run.write("executor-stderr.log", b"", mode=0o444)
    run.write("command.json", command(), mode=0o400)
    run.write("source-baseline.json", source_baseline(), mode=0o400)
    run.write("completion.json", completion(name), mode=0o400)
    run.write("collections/completion.json", completion_collection(name), mode=0o400)
    run.write("run-provenance.json", run_provenance(name), mode=0o400)
    ended = session_status(name, status="completed", executor_result="completed", policy_result="passed")
    run.write("final-status.json", ended, mode=0o400)
    run.write("status.json", ended)
    run.write("process-result.json", process_result(), mode=0o400)
    run.write("execution-metrics.json", execution_metrics(name), mode=0o400)
    run.write(CATALOG, command_catalog(), mode=0o444)
    if launch is None:
        return run.seal(SEALED_ALWAYS)
    run.write("launch-contract.json", launch_contract(run, launch), mode=0o444)
    run.write("ledger-row.json", ledger_row(name))
    return run.seal(SEALED_WITH_CATALOG if launch == 2 else SEALED_WITH_LAUNCH)


def write_workflow_run(run: RunDirectory, workflow_id: str) -> RunDirectory:
    """Write a run that owns a workflow."""
    run.write("status.json", session_status(run.session_id))
    run.write("workflow-snapshot.json", workflow_snapshot(workflow_id))
    run.write("workflow-status.json", workflow_status(workflow_id))
    return run


def write_newer_run(run: RunDirectory) -> RunDirectory:
    """Write a run of a newer writer: valid evidence, one record of which follows a contract of the future."""
    run.write("status.json", session_status(run.session_id))
    run.write_journal("events.jsonl", [lifecycle_event(1)])
    run.write_journal("moods.jsonl", [{"schema": "agent-workflow/mood-event/v7", "mood": "curious"}])
    return run


def write_repair(root: EvidenceRoot, repair_id: str, run: RunDirectory, receipt_sha256: str) -> Path:
    """Write a repair of a sealed run's ``completion.json`` that verifies, and return its directory."""
    directory = RunDirectory(root.path / "evidence-repairs" / repair_id)
    directory.path.mkdir(mode=0o700)
    canonical = directory.write("canonical-completion.json", completion(run.session_id, result="partial"))
    adapter = directory.write("adapter.json", {"id": "completion-normalize-v1", "version": "1"})
    record = {
        "schema": "agent-workflow/evidence-repair/v1",
        "repair_id": repair_id,
        "created_at": moment(100),
        "actor": "coordinator",
        "source": {
            "session_id": run.session_id,
            "final_receipt_sha256": receipt_sha256,
            "artifact_path": "completion.json",
            "artifact_sha256": digest((run.path / "completion.json").read_bytes()),
        },
        "adapter": {"id": "completion-normalize-v1", "version": "1", "sha256": digest(adapter.read_bytes())},
        "canonical": {
            "path": "canonical-completion.json",
            "sha256": digest(canonical.read_bytes()),
            "schema": "agent-workflow/completion/v1",
            "validation_result": "valid",
        },
        "original_interpretation": {"schema": None, "result": None, "review_disposition": None},
        "supplemental_interpretation": {
            "result": "partial",
            "review_disposition": None,
            "acceptance_authority": False,
        },
        "normalization_differences": [],
        "source_mutation_check": {"fingerprint_before": DIGEST, "fingerprint_after": DIGEST, "unchanged": True},
    }
    directory.write("evidence-repair.json", record)
    names = ("adapter.json", "canonical-completion.json", "evidence-repair.json")
    receipt = {
        "schema": "agent-workflow/evidence-repair-receipt/v1",
        "repair_id": repair_id,
        "source_session_id": run.session_id,
        "source_final_receipt_sha256": receipt_sha256,
        "sealed_at": moment(101),
        "artifacts": [artifact(directory.path, name) for name in names],
    }
    directory.write("repair-receipt.json", receipt, mode=0o444)
    return directory.path


def write_host(path: Path) -> EvidenceRoot:
    """Write a state root of seven valid runs of different kinds, one archived, and one repair."""
    root = EvidenceRoot.create(path)
    write_live_run(root.run("live-run"))
    write_live_run(root.run("other-live-run"))
    write_sealed_run(root.run("sealed-run"))
    write_sealed_run(root.run("sealed-before-launch"), launch=None)
    write_workflow_run(root.run("workflow-run"), "workflow-one")
    write_newer_run(root.run("newer-run"))
    archived = root.run("archived-run", archived=True)
    write_repair(root, "repair-one", archived, write_sealed_run(archived, launch=1))
    return root
