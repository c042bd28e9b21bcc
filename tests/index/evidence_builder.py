"""Valid evidence of our own making: records of each contract, run directories, sealed runs, a whole state root.

Every record follows ``run-evidence-records.md`` and every run is one that a real installation could have written. A
test changes one thing about it, so the fault it tests is the only one there is. Records are plain dictionaries:
nothing here knows the product.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

Document = dict[str, Any]

CATALOG = "command-catalog.json"
CARD = "command-card.md"
RECEIPT = "final-receipt.json"
DIGEST = "5" * 64
INCIDENT_ID = "a" * 24

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

LaunchVersion = Literal[1, 2]


def moment(second: int) -> str:
    """Return a time, so many seconds into the day that all our evidence is about."""
    return (datetime(2026, 3, 1, tzinfo=UTC) + timedelta(seconds=second)).isoformat()


def encode(document: object) -> bytes:
    """Return a document as the bytes of a file or, without its newline, of a journal's line."""
    return json.dumps(document, sort_keys=True).encode() + b"\n"


def digest(data: bytes) -> str:
    """Return the SHA-256 of bytes in lower-case hex."""
    return sha256(data).hexdigest()


@dataclass(frozen=True)
class RunDirectory:
    """One run's evidence on disk."""

    path: Path

    @property
    def session_id(self) -> str:
        """The id of the run: the name of its directory."""
        return self.path.name

    def write(self, name: str, content: object, *, mode: int = 0o600) -> Path:
        """Write one file, below directories that are made; bytes and text as they are, anything else as JSON."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        data = content if isinstance(content, bytes) else content.encode() if isinstance(content, str) else None
        path.write_bytes(encode(content) if data is None else data)
        path.chmod(mode)
        return path

    def write_journal(self, name: str, records: Iterable[object]) -> Path:
        """Write a journal of one record a line."""
        return self.write(name, b"".join(encode(record) for record in records))

    def append(self, name: str, *records: object) -> None:
        """Append records to a journal."""
        with (self.path / name).open("ab") as journal:
            journal.write(b"".join(encode(record) for record in records))

    def read(self, name: str) -> Any:
        """Read a document back."""
        return json.loads((self.path / name).read_bytes())

    def lines(self, name: str) -> list[bytes]:
        """Return the lines of a journal, without their newlines."""
        return (self.path / name).read_bytes().split(b"\n")[:-1]

    def rewrite(self, name: str, changes: Mapping[str, object]) -> None:
        """Write a document again with some of its fields changed; its mode stays."""
        mode = (self.path / name).stat().st_mode & 0o777
        self.write(name, self.read(name) | dict(changes), mode=mode)

    def seal(self, names: Iterable[str], **changes: object) -> str:
        """Write the receipt over the files as they are now, read-only, and return its digest."""
        artifacts = [artifact(self.path, name) for name in names]
        path = self.write(RECEIPT, final_receipt(self.session_id, artifacts) | changes, mode=0o444)
        return digest(path.read_bytes())


@dataclass(frozen=True)
class EvidenceRoot:
    """A state root on disk, as the index expects it: owner-only."""

    path: Path

    @classmethod
    def create(cls, path: Path) -> "EvidenceRoot":
        """Make an empty state root."""
        for directory in (path, path / "runs", path / "archive", path / "evidence-repairs"):
            directory.mkdir(mode=0o700)
        return cls(path)

    @property
    def database(self) -> Path:
        """Where the index keeps its database."""
        return self.path / "index" / "agent-workflow.sqlite3"

    def run(self, session_id: str, *, archived: bool = False) -> RunDirectory:
        """Return a run's directory, made if it is missing."""
        path = self.path / ("archive" if archived else "runs") / session_id
        path.mkdir(mode=0o700, exist_ok=True)
        return RunDirectory(path)


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


def lifecycle_event(sequence: int, **changes: object) -> Document:
    """Return a ``lifecycle-event/v1``."""
    return {
        "schema": "agent-workflow/lifecycle-event/v1",
        "sequence": sequence,
        "timestamp": moment(sequence),
        "actor": "agent-workflow",
        "dimension": "execution",
        "prior": "launched",
        "new": "running",
        "reason": "status updated",
        "receipt_refs": [],
    } | changes


def process_sample(**changes: object) -> Document:
    """Return the part of a health sample that is about one process."""
    return {
        "pid": 123,
        "alive": True,
        "state": "S",
        "parent_pid": 1,
        "process_start_ticks": 10,
        "cpu_user_seconds": 1.5,
        "cpu_system_seconds": 0.5,
        "rss_bytes": 4096,
        "peak_rss_bytes": 8192,
        "threads": 2,
        "read_bytes": 10,
        "write_bytes": 20,
        "open_fd_count": 3,
        "child_process_count": 0,
        "collector": "procfs",
    } | changes


def health_sample(session_id: str, second: int, **changes: object) -> Document:
    """Return a ``run-health-sample/v1``."""
    return {
        "schema": "agent-workflow/run-health-sample/v1",
        "session_id": session_id,
        "recorded_at": moment(second),
        "runner": process_sample(pid=122),
        "executor": process_sample(),
        "host": {
            "load_1m": 0.25,
            "load_5m": 0.5,
            "load_15m": 0.75,
            "available_memory_bytes": 100_000,
            "disk_free_bytes": 200_000,
            "disk_total_bytes": 300_000,
        },
        "tmux_pane_id": "%1",
        "pane_dead": False,
        "output_bytes": 100,
        "stderr_bytes": 0,
        "executor_event_bytes": 50,
        "terminal_event_bytes": None,
        "last_semantic_progress_at": moment(second - 1),
        "seconds_since_semantic_progress": 1.0,
        "last_semantic_progress_source": "output",
    } | changes


def permission_event(session_id: str, second: int, **changes: object) -> Document:
    """Return a ``permission-event/v1``."""
    return {
        "schema": "agent-workflow/permission-event/v1",
        "event_id": f"{second:024x}",
        "session_id": session_id,
        "recorded_at": moment(second),
        "principal": None,
        "operation": "execute",
        "resource_class": "command",
        "target": "git push",
        "requested_access": "manual approval",
        "state": "pending",
        "source": "terminal",
        "policy_rule_id": None,
        "evidence_sha256": DIGEST,
        "remediation_class": "human_required",
    } | changes


def incident_event(session_id: str, second: int, **changes: object) -> Document:
    """Return an ``incident-event/v1``."""
    return {
        "schema": "agent-workflow/incident-event/v1",
        "incident_id": INCIDENT_ID,
        "session_id": session_id,
        "recorded_at": moment(second),
        "category": "process_alive_no_progress",
        "severity": "medium",
        "summary": "No semantic progress for ten minutes",
        "fingerprint": DIGEST,
        "evidence": {"seconds": 600},
        "state": "open",
    } | changes


def remediation_event(session_id: str, second: int, **changes: object) -> Document:
    """Return a ``remediation-event/v1``."""
    return {
        "schema": "agent-workflow/remediation-event/v1",
        "event_id": f"{second:024x}",
        "session_id": session_id,
        "incident_id": INCIDENT_ID,
        "recorded_at": moment(second),
        "rule_id": "probe-stalled-v1",
        "action": "progress_probe",
        "outcome": "queued",
        "reason": "the pane has been silent",
        "details": {},
    } | changes


def terminal_event(session_id: str, second: int, **changes: object) -> Document:
    """Return a ``terminal-event/v1``."""
    content = "$ make test"
    return {
        "schema": "agent-workflow/terminal-event/v1",
        "session_id": session_id,
        "recorded_at": moment(second),
        "pane_id": "%1",
        "content_sha256": digest(content.encode()),
        "content_bytes": len(content),
        "content": content,
    } | changes


def session_message(session_id: str, sequence: int, **changes: object) -> Document:
    """Return a ``session-message/v1``."""
    return {
        "schema": "agent-workflow/session-message/v1",
        "sequence": sequence,
        "message_id": f"message-{sequence}",
        "session_id": session_id,
        "timestamp": moment(sequence),
        "direction": "parent_to_child",
        "kind": "steer",
        "actor": "orchestrator",
        "content": "look at the docs too",
        "correlation_id": "correlation-1",
    } | changes


def control_event(session_id: str, sequence: int, **changes: object) -> Document:
    """Return a ``control-event/v1``."""
    return {
        "schema": "agent-workflow/control-event/v1",
        "sequence": sequence,
        "message_id": f"control-{sequence}",
        "session_id": session_id,
        "timestamp": moment(sequence),
        "direction": "child_to_parent",
        "kind": "progress",
        "actor": "agent",
        "content": "half of it is done",
        "correlation_id": None,
    } | changes


def steering_delivery(session_id: str, sequence: int, **changes: object) -> Document:
    """Return a ``steering-delivery/v1``."""
    return {
        "schema": "agent-workflow/steering-delivery/v1",
        "sequence": sequence,
        "event_id": f"delivery-{sequence}",
        "session_id": session_id,
        "at": moment(sequence),
        "adapter": "control-file-v1",
        "attempt": 1,
        "correlation_id": "correlation-1",
        "executor": "codex",
        "message_sha256": f"sha256:{DIGEST}",
        "outcome": "delivered",
        "reason": "request published",
    } | changes


def assignment_event(session_id: str, sequence: int, **changes: object) -> Document:
    """Return an ``assignment-event/v1``."""
    return {
        "schema": "agent-workflow/assignment-event/v1",
        "sequence": sequence,
        "timestamp": moment(sequence),
        "event": "assigned",
        "session_id": session_id,
        "assignment_id": "assignment-1",
        "actor": "agent-workflow",
        "ticket_id": "T-1",
        "pack_id": "pack-one",
        "correlation_id": None,
        "summary": "make the tests pass",
        "tags": [],
        "files": [],
    } | changes


def codex_events() -> list[Document]:
    """Return records as Codex prints them."""
    return [
        {"event_id": "thread-1", "type": "thread.started", "timestamp": moment(3)},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "all tests pass"}},
        {"type": "turn.completed", "usage": {"input_tokens": 5, "cached_input_tokens": 1, "output_tokens": 3}},
    ]


def claude_events() -> list[Document]:
    """Return records as Claude Code prints them."""
    return [
        {"type": "system", "subtype": "init", "cwd": "/srv/tree", "tools": ["Bash"], "model": "sonnet"},
        {"type": "assistant", "message": {"content": [{"type": "text", "text": "I will look"}]}},
        {"type": "result", "subtype": "success", "result": "It is done", "total_cost_usd": 0.01},
    ]


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


def artifact(directory: Path, name: str) -> Document:
    """Return a receipt's entry for a file as it is now."""
    data = (directory / name).read_bytes()
    return {"path": name, "size": len(data), "sha256": digest(data)}


def final_receipt(session_id: str, artifacts: list[Document]) -> Document:
    """Return a ``final-receipt/v1``."""
    return {
        "schema": "agent-workflow/final-receipt/v1",
        "session_id": session_id,
        "sealed_at": moment(90),
        "artifacts": artifacts,
    }


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
