"""Literal values, read by a person in the genuine files."""

import shutil
from hashlib import sha256

import pytest

from agent_workflow import index_store

from .conftest import CopyOfCorpus
from .evidence_files import EvidenceRoot
from .index_reading import dump, row_of, rows_of

pytestmark = pytest.mark.corpus


# Literal values, read by a person in the genuine files.


def line_digest(root: EvidenceRoot, session_id: str, name: str) -> str:
    """Return the digest of the first line of a journal."""
    return sha256((root.path / "runs" / session_id / name).read_bytes().split(b"\n")[0]).hexdigest()


def test_a_genuine_incident_reads_as_it_was_written(root: EvidenceRoot) -> None:
    """The incident of run-one, every column."""
    assert row_of(root.database, "incident_events", "session_id = 'run-one'") == {
        "session_id": "run-one",
        "relative_path": "incident-events.jsonl",
        "source_sequence": 1,
        "incident_id": "a" * 24,
        "recorded_at": "2026-07-30T00:03:00+00:00",
        "category": "process_alive_no_progress",
        "severity": "medium",
        "summary": "No semantic progress",
        "fingerprint": "b" * 64,
        "state": "open",
        "record_sha256": line_digest(root, "run-one", "incident-events.jsonl"),
    }


def test_a_genuine_health_sample_reads_as_it_was_written(root: EvidenceRoot) -> None:
    """The health sample of run-one, every column."""
    assert row_of(root.database, "health_samples", "session_id = 'run-one'") == {
        "session_id": "run-one",
        "relative_path": "run-health-samples.jsonl",
        "source_sequence": 1,
        "recorded_at": "2026-07-30T00:02:00+00:00",
        "runner_alive": 1,
        "executor_alive": 1,
        "executor_state": "S",
        "cpu_user_seconds": 1.5,
        "cpu_system_seconds": 0.5,
        "rss_bytes": 4096,
        "peak_rss_bytes": 8192,
        "read_bytes": 10,
        "write_bytes": 20,
        "open_fd_count": 3,
        "child_process_count": 0,
        "host_load_1m": 0.1,
        "host_available_memory_bytes": 100_000,
        "disk_free_bytes": 200_000,
        "output_bytes": 100,
        "stderr_bytes": 0,
        "executor_event_bytes": 50,
        "terminal_event_bytes": 40,
        "last_semantic_progress_at": "2026-07-30T00:01:59+00:00",
        "seconds_since_semantic_progress": 1.0,
        "last_semantic_progress_source": "terminal_event",
        "record_sha256": line_digest(root, "run-one", "run-health-samples.jsonl"),
    }


def test_a_genuine_terminal_event_leaves_its_content_behind(root: EvidenceRoot) -> None:
    """Of what a terminal showed, the digest and the time are kept, and the text is not."""
    row = row_of(root.database, "events", "session_id = 'run-one' AND relative_path = 'terminal-events.jsonl'")

    assert ("f" * 64, "2026-07-30T00:05:30+00:00") == (row["content_sha256"], row["recorded_at"])
    assert not any("SECRET" in str(value) for value in row.values())


def test_a_genuine_workflow_joins_its_plan_with_its_course(root: EvidenceRoot) -> None:
    """The workflow of workflow-owner, its second node and its edge, every column."""
    workflow = row_of(root.database, "workflows", "owner_run_id = 'workflow-owner'")

    assert workflow.pop("indexed_at")
    assert workflow == {
        "workflow_id": "wf-one",
        "owner_run_id": "workflow-owner",
        "pack_id": "pack-one",
        "snapshot_sha256": "4" * 64,
        "workflow_state": "running",
        "event_count": 2,
    }
    assert row_of(root.database, "workflow_nodes", "workflow_id = 'wf-one' AND node_id = 'review'") == {
        "workflow_id": "wf-one",
        "node_id": "review",
        "kind": "task",
        "ticket_id": "IDX-002",
        "configured_session_id": "review-run",
        "bound_run_id": "review-run",
        "state": "running",
        "attempt": 1,
        "retry_of_run_id": None,
        "executor": "claude",
        "model": "sonnet",
        "interactive": 0,
        "terminal_reason": None,
    }
    assert rows_of(root.database, "workflow_edges", "workflow_id = 'wf-one'") == [
        {"workflow_id": "wf-one", "source_node_id": "build", "target_node_id": "review"}
    ]


def test_deleting_the_database_loses_nothing(copy_of_corpus: CopyOfCorpus) -> None:
    """The database deleted and rebuilt has the same rows in every table, but for the times of indexing."""
    root = copy_of_corpus()
    index_store.rebuild(root.path)
    before = dump(root.database)
    shutil.rmtree(root.path / "index")

    index_store.sync(root.path)

    assert before == dump(root.database)
