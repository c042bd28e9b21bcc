"""Four invented runs, complete: file by file as a recorder leaves them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path

from invented_records import (
    Document,
    digest,
    document_bytes,
    health_sample,
    journal_bytes,
    lifecycle,
    metrics,
    moment,
    prompt,
    provenance,
    record,
    status,
)

DONE = "add-search"
RUNNING = "tidy-checkout"
FAILED = "upgrade-database"
ARCHIVED = "write-manual"

SAMPLES = 1000
"""Health samples in the journal of the running run."""

Files = Mapping[str, bytes]

_RECEIPT = "final-receipt.json"
_DONE_AGENT = ("claude", "example-large")
_RUNNING_AGENT = ("codex", "example-medium")
_FAILED_AGENT = ("pi", "example-small")


def sample_runs(begin: datetime) -> Mapping[str, Files]:
    """Return the files of every run.

    Args:
        begin: when the run that still goes on was created; the others are older.

    Returns:
        By path below the state root, for example ``runs/add-search``: content by path below that.
    """
    earlier = begin - timedelta(hours=2)
    return {
        f"runs/{DONE}": _sealed(_done(earlier), earlier),
        f"runs/{RUNNING}": _running(begin),
        f"runs/{FAILED}": _failed(begin - timedelta(hours=1)),
        f"archive/{ARCHIVED}": _archived(begin - timedelta(days=9)),
    }


def write_runs(root: Path, runs: Mapping[str, Files]) -> None:
    """Write a state root with these runs."""
    root.mkdir(mode=0o700)
    for run, files in runs.items():
        for path, content in files.items():
            target = root / run / path
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(content)
            is_receipt = "receipt" in path
            target.chmod(0o400 if is_receipt else 0o600)  # a seal is read-only
    for directory in (root / "runs", root / "archive"):
        directory.chmod(0o700)


def _sealed(files: Files, begin: datetime) -> Files:
    """Add the receipt that lists every file, and the review of what it lists."""
    artifacts = [{"path": path, "size": len(data), "sha256": digest(data)} for path, data in sorted(files.items())]
    sealed_at = moment(begin, 310)
    receipt = document_bytes(record("final-receipt/v1", session_id=DONE, sealed_at=sealed_at, artifacts=artifacts))
    review = record(
        "lifecycle-receipt/v1",
        session_id=DONE,
        action="reviewed",
        actor="demo reviewer",
        reason="does what was asked",
        created_at=moment(begin, 600),
        final_receipt_sha256=digest(receipt),
    )
    return {**files, _RECEIPT: receipt, "receipts/000001-reviewed.json": document_bytes(review)}


def _done(begin: datetime) -> Files:
    """A run that completed, with everything that its launch contract wants sealed."""
    baseline = document_bytes(record("source-baseline/v1", generated_at=moment(begin, 0), components={}))
    completion = document_bytes(_completion())
    final = status(
        DONE, "completed", begin,
        updated_at=moment(begin, 300), executor_result="completed", completion_result="valid", policy_result="passed",
        acceptance_eligible=True,
    )  # fmt: skip
    return {
        "prompt.md": prompt(DONE).encode(),
        "launch-prompt.md": prompt(DONE).encode(),
        "command.json": document_bytes(_command()),
        "source-baseline.json": baseline,
        "completion.md": b"# Done\n",
        "completion.json": completion,
        "collections/completion.json": document_bytes(_collection(begin, digest(completion))),
        "run-provenance.json": document_bytes(provenance(DONE, _DONE_AGENT, begin, 300, 0)),
        "executor-events.jsonl": b'{"type": "system"}\n{"type": "assistant"}\n{"type": "result"}\n',
        "executor-stderr.log": b"",
        "output.log": b"Search works, 12 tests pass.\n",
        "final-status.json": document_bytes(final),
        "patch.diff": b"",
        "launch-contract.json": document_bytes(_launch(begin, digest(baseline))),
        "events.jsonl": lifecycle(begin, "prepared", "launched", "running", "completed"),
        "execution-metrics.json": document_bytes(metrics(DONE, 299.0, (48_000, 6_200), 0.41)),
        "process-result.json": document_bytes(_process_result(_DONE_AGENT[0], begin, 299.0, 0)),
    }


def _running(begin: datetime) -> Files:
    """A run that still goes on, makes no progress and waits for a permission."""
    samples = [health_sample(RUNNING, begin, 100 + 2 * number, 90) for number in range(SAMPLES)]
    incident = record(
        "incident-event/v1",
        incident_id=digest("incident")[:24],
        session_id=RUNNING,
        recorded_at=moment(begin, 900),
        category="process_alive_no_progress",
        severity="medium",
        summary="the agent is alive, and nothing has moved on for 13 minutes",
        fingerprint=digest("incident"),
        evidence={},
        state="open",
    )
    permission = record(
        "permission-event/v1",
        event_id=digest("permission")[:24],
        session_id=RUNNING,
        recorded_at=moment(begin, 95),
        principal=None,
        operation="execute",
        resource_class="command",
        target="npm install",
        requested_access="manual approval",
        state="pending",
        source="terminal",
        policy_rule_id=None,
        evidence_sha256=digest("npm install"),
        remediation_class="human_required",
    )
    return {
        "prompt.md": prompt(RUNNING).encode(),
        "status.json": document_bytes(status(RUNNING, "running", begin)),
        "run-provenance.json": document_bytes(provenance(RUNNING, _RUNNING_AGENT, begin, None, None)),
        "events.jsonl": lifecycle(begin, "prepared", "launched", "running"),
        "run-health-samples.jsonl": journal_bytes(*samples),
        "incident-events.jsonl": journal_bytes(incident),
        "permission-events.jsonl": journal_bytes(permission),
    }


def _failed(begin: datetime) -> Files:
    """A run whose agent ended with an error."""
    end = status(
        FAILED, "failed", begin, updated_at=moment(begin, 42), failure_category="nonzero-exit", executor_result="failed"
    )
    return {
        "prompt.md": prompt(FAILED).encode(),
        "status.json": document_bytes(end),
        "run-provenance.json": document_bytes(provenance(FAILED, _FAILED_AGENT, begin, 42, 1)),
        "events.jsonl": lifecycle(begin, "prepared", "launched", "running", "failed"),
        "execution-metrics.json": document_bytes(metrics(FAILED, 41.0, (9_000, 300), None)),
        "process-result.json": document_bytes(_process_result(_FAILED_AGENT[0], begin, 41.0, 1)),
    }


def _archived(begin: datetime) -> Files:
    """A run that was put away."""
    return {
        "prompt.md": prompt(ARCHIVED).encode(),
        "status.json": document_bytes(status(ARCHIVED, "completed", begin, updated_at=moment(begin, 120))),
        "run-provenance.json": document_bytes(provenance(ARCHIVED, _DONE_AGENT, begin, 120, 0)),
        "events.jsonl": lifecycle(begin, "prepared", "launched", "running", "completed"),
        "execution-metrics.json": document_bytes(metrics(ARCHIVED, 119.0, (22_000, 3_100), 0.17)),
    }


def _completion() -> Document:
    return record(
        "completion/v1",
        session_id=DONE,
        result="completed",
        base_revision=None,
        head_revision=None,
        changed_files=["search.py", "test_search.py"],
        criteria=[{"id": "search-finds-products", "result": "pass", "evidence": ["test_search.py"]}],
        commands=[{"argv": ["pytest", "-q"], "cwd": "/home/dev/shop", "exit_code": 0, "receipt": "output.log"}],
        unresolved=[],
        review_disposition="approved",
    )


def _collection(begin: datetime, completion_sha256: str) -> Document:
    return record(
        "completion-collection/v1",
        session_id=DONE,
        adapter="native",
        adapter_version="1",
        source_path="completion.json",
        source_sha256=completion_sha256,
        canonical_mapping="identity",
        canonical_sha256=completion_sha256,
        validation_status="valid",
        validation_errors=[],
        collected_at=moment(begin, 305),
        stored_path="completion.json",
    )


def _command() -> Document:
    return record(
        "command/v1",
        argv=[_DONE_AGENT[0], "--model", _DONE_AGENT[1]],
        shell=" ".join((_DONE_AGENT[0], "--model", _DONE_AGENT[1])),
        executor=_DONE_AGENT[0],
        classification="named",
        stream_format="claude-stream-json",
        model=_DONE_AGENT[1],
    )


def _launch(begin: datetime, baseline_sha256: str) -> Document:
    text = prompt(DONE)
    session = {"id": DONE, "agent_name": "demo-1", "agent_class": "implementation", "tier": None, "retry_of": None}
    return record(
        "launch-contract/v1",
        version=1,
        session={**session, "created_at": moment(begin, 0)},
        ticket="SHOP-12",
        pack={"id": "shop", "root": None, "manifest_sha256": None},
        worktree={"path": "/home/dev/shop", "source_revision": None, "branch": "search", "dirty_at_launch": False},
        prompt={
            "source": "inline", "stored": "prompt.md", "sha256": digest(text),
            "launch_stored": "launch-prompt.md", "launch_sha256": digest(text),
        },
        command_plan={
            "argv": [_DONE_AGENT[0]], "command_sha256": digest(_DONE_AGENT[0]), "stream_format": "claude-stream-json",
            "interactive": False, "executor_interactive": False, "environment_allowlist": [],
            "executor": _DONE_AGENT[0], "model": _DONE_AGENT[1],
        },
        paths={
            "run_dir": ".", "workdir": "/home/dev/shop", "handoff_dir": "handoff", "completion": "completion.json",
            "result": "result.json", "result_contract": None, "runtime": "evaluation-runtime.json",
            "source_baseline": "source-baseline.json",
        },
        schemas={},
        runtime_policy={},
        evaluation_policy={},
        source_baseline={"path": "source-baseline.json", "sha256": baseline_sha256},
        expected_outputs={
            "output_log": "output.log", "executor_events": "executor-events.jsonl",
            "executor_stderr": "executor-stderr.log", "final_status": "final-status.json",
            "final_receipt": "final-receipt.json",
        },
    )  # fmt: skip


def _process_result(executor: str, begin: datetime, seconds: float, code: int) -> Document:
    return record(
        "process-result/v1",
        argv=[executor],
        resolved_executable=f"/usr/local/bin/{executor}",
        returncode=code,
        exit_code=code,
        signal=None,
        timed_out=False,
        cancelled=False,
        stdout_truncated=False,
        stderr_truncated=False,
        stdout_bytes=2_048,
        stderr_bytes=0,
        duration_seconds=seconds,
        error_category="completed" if code == 0 else "nonzero-exit",
        runner_pid=4200,
        executor_pid=4242,
        recorded_at=moment(begin, seconds + 1),
    )
