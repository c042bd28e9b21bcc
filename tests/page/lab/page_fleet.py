"""A demo state root: three weeks of runs with incidents, permissions, health, a workflow, and one unreadable run."""

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

from agent_workflow.index_store import rebuild

Record = dict[str, Any]
EXECUTORS = (
    ("pi", "google/gemini-3.6-flash", 0.018),
    ("codex", "gpt-5.6-luna", 0.052),
    ("claude", "claude-opus-5", 0.11),
)
NODES = (
    ("plan", (), "completed"),
    ("build-api", ("plan",), "completed"),
    ("build-page", ("plan",), "running"),
    ("review", ("build-api", "build-page"), "blocked"),
    ("release", ("review",), "blocked"),
)


def write_fleet(root: Path, now: datetime | None = None) -> None:
    """Write the state root and its index."""
    now = now or datetime.now(UTC)
    chance = random.Random(4)
    for folder in (root, root / "runs", root / "archive"):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(48):
        _write_run(root, number, now - timedelta(hours=11 * number + 1), chance)
    _write_workflow(root / "runs" / "run-000", now)
    torn = root / "runs" / "run-torn"
    torn.mkdir()
    (torn / "status.json").write_text('{"schema": "agent-workflow/session-status/v2", "session_id": ')
    rebuild(root)


def _write_run(root: Path, number: int, began: datetime, chance: random.Random) -> None:
    session_id = f"run-{number:03d}"
    run = root / ("archive" if number > 40 else "runs") / session_id
    run.mkdir()
    executor, model, price = EXECUTORS[number % 3]
    status = "running" if number < 3 else "failed" if number % 7 == 3 else "completed"
    took = timedelta(seconds=chance.randint(60, 2400))
    ended = None if status == "running" else began + took
    _document(run / "status.json", _status(session_id, number, status, began, ended))
    _document(run / "run-provenance.json", _provenance(session_id, number, executor, model, began, ended, status))
    _document(run / "execution-metrics.json", _metrics(session_id, number, price, took, chance))
    _journal(run / "events.jsonl", _lifecycle(status, began, ended))
    samples = 90 if number < 6 else 5
    _journal(run / "run-health-samples.jsonl", [_health(session_id, index, began, chance) for index in range(samples)])
    if status == "failed" or number == 1:
        _journal(
            run / "incident-events.jsonl", [_incident(session_id, number, began, "open" if number < 12 else "resolved")]
        )
    if number in (1, 4):
        _journal(
            run / "permission-events.jsonl",
            [_permission(session_id, number, began, "pending" if number == 1 else "cleared")],
        )


def _write_workflow(run: Path, now: datetime) -> None:
    snapshot = {
        "schema": "agent-workflow/workflow-snapshot/v1",
        "workflow_id": "nightly",
        "pack_id": "release-train",
        "pack_manifest_sha256": "3" * 64,
        "nodes": [
            {"node_id": name, "kind": "task", "ticket_id": f"TRAIN-{index + 1}", "dependencies": list(after)}
            | {"executor": EXECUTORS[index % 3][0], "model": EXECUTORS[index % 3][1]}
            for index, (name, after, _) in enumerate(NODES)
        ],
    }
    _document(run / "workflow-snapshot.json", snapshot)
    digest = sha256((run / "workflow-snapshot.json").read_bytes()).hexdigest()
    nodes = [
        {
            "node_id": name,
            "state": state,
            "run_id": None if state == "blocked" else f"run-{index:03d}",
            "attempt": 1,
            "kind": "task",
        }
        | {
            "bound_at": now.isoformat() if state != "blocked" else None,
            "retry_of_run_id": None,
            "terminal_reason": None,
        }
        for index, (name, _, state) in enumerate(NODES)
    ]
    status = {"schema": "agent-workflow/workflow-status/v1", "workflow_id": "nightly", "snapshot_sha256": digest}
    _document(run / "workflow-status.json", {**status, "event_count": 6, "workflow_state": "running", "nodes": nodes})


def _document(path: Path, record: Record) -> None:
    path.write_text(json.dumps(record) + "\n")


def _journal(path: Path, records: Iterable[Record]) -> None:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def _status(session_id: str, number: int, status: str, began: datetime, ended: datetime | None) -> Record:
    return {
        "schema": "agent-workflow/session-status/v2",
        "session_id": session_id,
        "ticket_id": f"TRAIN-{number % 17 + 1}",
        "pack_id": "release-train",
        "status": status,
        "failure_category": "test_failure" if status == "failed" else None,
        "created_at": began.isoformat(),
        "updated_at": (ended or began).isoformat(),
        "workdir": f"/srv/checkouts/{session_id}",
        "prompt_path": "prompt.md",
        "log_path": "output.log",
    } | ({} if status == "running" else {"acceptance_eligible": status == "completed" and number % 5 != 0})


def _provenance(
    session_id: str, number: int, executor: str, model: str, began: datetime, ended: datetime | None, status: str
) -> Record:
    return {
        "schema": "agent-workflow/run-provenance/v1",
        "session_id": session_id,
        "executor": executor,
        "model": model,
        "agent_name": f"agent-{number % 4 + 1:02d}",
        "agent_class": "implementation" if number % 4 else "review",
        "argv": [executor, "--json"],
        "prompt_sha256": "6" * 64,
        "source_revision": f"{number:040x}",
        "environment": {},
        "started_at": began.isoformat(),
        "finished_at": ended.isoformat() if ended else None,
        "exit_code": None if ended is None else int(status == "failed"),
    }


def _metrics(session_id: str, number: int, price: float, took: timedelta, chance: random.Random) -> Record:
    cost = round(price * chance.uniform(0.4, 2.5), 6)
    stage = {
        "stage": "total",
        "input_tokens": chance.randint(4_000, 90_000),
        "cached_input_tokens": chance.randint(0, 60_000),
        "output_tokens": chance.randint(400, 9_000),
        "cache_write_input_tokens": None,
        "reasoning_output_tokens": 120,
        "provider_total_tokens": None,
        "cost": None,
        "price_catalog_id": None,
        "provider_billed_cost": None if number % 3 == 1 else cost,
        "local_estimated_cost": cost if number % 3 == 1 else None,
        "currency": "USD",
        "elapsed_seconds": took.total_seconds(),
        "first_output_latency_seconds": 1.5 + number % 4,
        "retry_count": number % 2,
        "errors": [],
        "steer_count": 0,
        "steer_acknowledged_count": 0,
        "steer_pending_count": 0,
    }
    return {"schema": "agent-workflow/execution-metrics/v1", "session_id": session_id, "stages": [stage]}


def _lifecycle(status: str, began: datetime, ended: datetime | None) -> list[Record]:
    steps = [(began, "prepared", "agent-workflow"), (began + timedelta(seconds=1), "running", "runner")]
    if ended:
        steps.append((ended, status, "runner"))
    return [
        {
            "schema": "agent-workflow/lifecycle-event/v1",
            "sequence": number,
            "timestamp": moment.isoformat(),
            "dimension": "execution",
            "prior": steps[number - 2][1] if number > 1 else None,
            "new": new,
            "actor": actor,
            "reason": "as it happened",
            "receipt_refs": [],
        }
        for number, (moment, new, actor) in enumerate(steps, 1)
    ]


def _process(index: int, chance: random.Random) -> Record:
    memory = 90_000_000 + 900_000 * index + chance.randint(0, 9_000_000)
    return {
        "pid": 4001,
        "alive": True,
        "state": "S",
        "parent_pid": 4000,
        "process_start_ticks": 123_456,
        "cpu_user_seconds": round(index * 0.9, 2),
        "cpu_system_seconds": round(index * 0.12, 2),
        "rss_bytes": memory,
        "peak_rss_bytes": memory + 4_000_000,
        "threads": 11,
        "read_bytes": 4096 * index,
        "write_bytes": 2048 * index,
        "open_fd_count": 29 + index % 5,
        "child_process_count": 1 + index % 3,
        "collector": "procfs",
    }


def _health(session_id: str, index: int, began: datetime, chance: random.Random) -> Record:
    moment = began + timedelta(seconds=15 * index)
    quiet = (index % 23) * 15.0
    return {
        "schema": "agent-workflow/run-health-sample/v1",
        "session_id": session_id,
        "recorded_at": moment.isoformat(),
        "runner": _process(index, chance),
        "executor": _process(index, chance),
        "host": {
            "load_1m": round(0.4 + chance.random(), 2),
            "load_5m": 0.5,
            "load_15m": 0.4,
            "available_memory_bytes": 12_000_000_000,
            "disk_free_bytes": 80_000_000_000,
            "disk_total_bytes": 250_000_000_000,
        },
        "tmux_pane_id": "%3",
        "pane_dead": False,
        "output_bytes": 900 * index,
        "stderr_bytes": 20 * (index // 30),
        "executor_event_bytes": 600 * index,
        "terminal_event_bytes": 300 * index,
        "last_semantic_progress_at": (moment - timedelta(seconds=quiet)).isoformat(),
        "seconds_since_semantic_progress": quiet,
        "last_semantic_progress_source": "executor_event",
    }


def _incident(session_id: str, number: int, began: datetime, state: str) -> Record:
    return {
        "schema": "agent-workflow/incident-event/v1",
        "incident_id": f"{number:024x}",
        "session_id": session_id,
        "recorded_at": (began + timedelta(minutes=12)).isoformat(),
        "category": "process_alive_no_progress" if number == 1 else "test_failure",
        "severity": "high" if number % 2 else "medium",
        "summary": "Nothing moved for ten minutes" if number == 1 else "The tests failed after the last change",
        "fingerprint": f"{number:064x}",
        "evidence": {"quiet_seconds": 600},
        "state": state,
    }


def _permission(session_id: str, number: int, began: datetime, state: str) -> Record:
    return {
        "schema": "agent-workflow/permission-event/v1",
        "event_id": f"{number:024x}",
        "session_id": session_id,
        "recorded_at": (began + timedelta(minutes=3)).isoformat(),
        "principal": None,
        "operation": "execute",
        "resource_class": "command",
        "target": "git push origin main",
        "requested_access": "manual approval",
        "state": state,
        "source": "terminal",
        "policy_rule_id": None,
        "evidence_sha256": "e" * 64,
        "remediation_class": "human_required",
    }
