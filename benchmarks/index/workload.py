"""Write a state root of any size: runs of six sources each, shaped like those of a supervised host.

usage: python workload.py FOLDER RUNS RECORDS [--seed N]

Each run has a status, a process result, metrics of one stage, RECORDS health samples and terminal events, a tenth as
many incidents and permissions (at least one), and an output log of 18 KB that an index must not read. Every fifth run
is archived. Everything is unsealed and valid.
"""

import argparse
import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2026, 6, 1, tzinfo=UTC)
EXECUTORS = (("pi", "gemini-3.6-flash"), ("codex", "gpt-5.6-luna"), ("claude", "claude-opus-5"))
STATUSES = ("completed", "failed", "running", "interrupted")
CATEGORIES = ("process_alive_no_progress", "permission_wait", "resource_pressure")
Record = dict[str, object]


def write_state_root(folder: Path, runs: int, records: int, seed: int = 20260601) -> None:
    """Write ``runs`` runs with ``records`` records in each of the two large journals."""
    chance = random.Random(seed)
    for name in (".", "runs", "archive"):
        (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
    for number in range(runs):
        session_id = f"bench-{number:06d}"
        run = folder / ("archive" if number % 5 == 4 else "runs") / session_id
        run.mkdir(mode=0o700)
        _write_run(run, session_id, number, records, chance)


def _write_run(run: Path, session_id: str, number: int, records: int, chance: random.Random) -> None:
    began = START + timedelta(seconds=47 * number)
    few = max(1, records // 10)
    _document(run / "status.json", _status(session_id, number, began))
    _document(run / "process-result.json", _process_result(number, began))
    _document(run / "execution-metrics.json", _metrics(session_id, number))
    _journal(run / "run-health-samples.jsonl", (_health(session_id, index, began) for index in range(records)))
    _journal(run / "terminal-events.jsonl", (_terminal(session_id, index, began, chance) for index in range(records)))
    _journal(run / "incident-events.jsonl", (_incident(session_id, index, began, chance) for index in range(few)))
    _journal(run / "permission-events.jsonl", (_permission(session_id, index, began, chance) for index in range(few)))
    (run / "output.log").write_text("a line of output\n" * 1060)


def _document(path: Path, record: Record) -> None:
    path.write_text(json.dumps(record) + "\n")


def _journal(path: Path, records: Iterator[Record]) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def _hex(chance: random.Random, digits: int) -> str:
    return f"{chance.getrandbits(4 * digits):0{digits}x}"


def _status(session_id: str, number: int, began: datetime) -> Record:
    return {
        "schema": "agent-workflow/session-status/v2",
        "session_id": session_id,
        "ticket_id": f"TICKET-{number % 83}",
        "pack_id": f"pack-{number % 13}",
        "status": STATUSES[number % len(STATUSES)],
        "disposition": None,
        "failure_category": None,
        "created_at": began.isoformat(),
        "updated_at": (began + timedelta(minutes=50)).isoformat(),
        "workdir": f"/srv/checkouts/{session_id}",
        "prompt_path": "prompt.md",
        "log_path": "output.log",
    }


def _process_result(number: int, began: datetime) -> Record:
    return {
        "schema": "agent-workflow/process-result/v1",
        "argv": ["agent", "--json"],
        "resolved_executable": "/usr/local/bin/agent",
        "executable_version": None,
        "executable_sha256": None,
        "returncode": number % 2,
        "exit_code": number % 2,
        "signal": None,
        "timed_out": False,
        "cancelled": False,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "stdout_bytes": 18_020,
        "stderr_bytes": 0,
        "stdout_spool": None,
        "stderr_spool": None,
        "duration_seconds": 20.0 + number % 400,
        "error_category": "none",
        "environment_policy": "controlled",
        "runner_pid": 4000,
        "executor_pid": 4001,
        "recorded_at": (began + timedelta(minutes=50)).isoformat(),
    }


def _metrics(session_id: str, number: int) -> Record:
    stage = {
        "stage": "total",
        "input_tokens": 1200 + number,
        "cached_input_tokens": 700,
        "cache_write_input_tokens": None,
        "output_tokens": 310 + number % 90,
        "reasoning_output_tokens": 40,
        "provider_total_tokens": 1510,
        "cost": 0.02,
        "provider_billed_cost": 0.01 * (number % 9),
        "local_estimated_cost": None,
        "price_catalog_id": "catalog-1",
        "currency": "USD",
        "elapsed_seconds": 20 + number % 400,
        "first_output_latency_seconds": 2,
        "retry_count": 0,
        "errors": [],
        "steer_count": 0,
        "steer_acknowledged_count": 0,
        "steer_pending_count": 0,
    }
    return {"schema": "agent-workflow/execution-metrics/v1", "session_id": session_id, "stages": [stage]}


def _process(index: int) -> Record:
    return {
        "pid": 4001,
        "alive": True,
        "state": "R",
        "parent_pid": 4000,
        "process_start_ticks": 123_456,
        "cpu_user_seconds": index * 0.2,
        "cpu_system_seconds": index * 0.02,
        "rss_bytes": 90_000_000 + index,
        "peak_rss_bytes": 95_000_000 + index,
        "threads": 11,
        "read_bytes": 512 * index,
        "write_bytes": 256 * index,
        "open_fd_count": 29,
        "child_process_count": 3,
        "collector": "procfs",
    }


def _health(session_id: str, index: int, began: datetime) -> Record:
    now = (began + timedelta(seconds=15 * index)).isoformat()
    return {
        "schema": "agent-workflow/run-health-sample/v1",
        "session_id": session_id,
        "recorded_at": now,
        "runner": _process(index),
        "executor": _process(index),
        "host": {
            "load_1m": 0.7,
            "load_5m": 0.5,
            "load_15m": 0.4,
            "available_memory_bytes": 12_000_000_000,
            "disk_free_bytes": 80_000_000_000,
            "disk_total_bytes": 250_000_000_000,
        },
        "tmux_pane_id": "%3",
        "pane_dead": False,
        "output_bytes": 90 * index,
        "stderr_bytes": 0,
        "executor_event_bytes": 60 * index,
        "terminal_event_bytes": 30 * index,
        "last_semantic_progress_at": now,
        "seconds_since_semantic_progress": 0.5 + index % 9,
        "last_semantic_progress_source": "executor_event",
    }


def _terminal(session_id: str, index: int, began: datetime, chance: random.Random) -> Record:
    content = "what the terminal showed just then; " * 18
    return {
        "schema": "agent-workflow/terminal-event/v1",
        "session_id": session_id,
        "recorded_at": (began + timedelta(seconds=20 * index)).isoformat(),
        "pane_id": "%3",
        "content_sha256": _hex(chance, 64),
        "content_bytes": len(content),
        "content": content,
    }


def _incident(session_id: str, index: int, began: datetime, chance: random.Random) -> Record:
    return {
        "schema": "agent-workflow/incident-event/v1",
        "incident_id": _hex(chance, 24),
        "session_id": session_id,
        "recorded_at": (began + timedelta(minutes=index)).isoformat(),
        "category": chance.choice(CATEGORIES),
        "severity": chance.choice(("low", "medium", "high")),
        "summary": "Nothing moved for ten minutes",
        "fingerprint": _hex(chance, 64),
        "evidence": {"quiet_seconds": 600 + index},
        "state": chance.choice(("open", "resolved")),
    }


def _permission(session_id: str, index: int, began: datetime, chance: random.Random) -> Record:
    return {
        "schema": "agent-workflow/permission-event/v1",
        "event_id": _hex(chance, 24),
        "session_id": session_id,
        "recorded_at": (began + timedelta(minutes=index)).isoformat(),
        "principal": None,
        "operation": "execute",
        "resource_class": "command",
        "target": None,
        "requested_access": "manual approval",
        "state": chance.choice(("pending", "denied", "cleared")),
        "source": "terminal",
        "policy_rule_id": None,
        "evidence_sha256": _hex(chance, 64),
        "remediation_class": "human_required",
    }


def main() -> None:
    """Write the state root that the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("runs", type=int)
    parser.add_argument("records", type=int)
    parser.add_argument("--seed", type=int, default=20260601)
    arguments = parser.parse_args()
    write_state_root(arguments.folder, arguments.runs, arguments.records, arguments.seed)


if __name__ == "__main__":
    main()
