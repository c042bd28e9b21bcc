"""Records of every journal, one function a contract; they follow ``run-evidence-records.md``.

Records are plain dictionaries: nothing here knows the product. ``changes`` replace or add fields.
"""

from .evidence_files import DIGEST, Document, digest, moment

INCIDENT_ID = "a" * 24


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
