"""The closed list of what an export may carry: every field of every table, with its class and its type.

A table is the rows of one kind of ``index query``, and its fields are the columns of that kind. Which classes leave is
the policy's choice (:mod:`.policy`); what only the index says about itself never leaves. Every row has the digest of
what it was made from: of its record or document where the kind has that column, else ``source_digest``, over all files
of the run, or over the finding itself in ``errors`` and ``notices``.
"""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple


class FieldClass(Enum):
    """What a field tells, and so who may read it."""

    IDENTITY = "identity"
    """Names and ids: runs, agents, models, rules."""
    OUTCOME = "outcome"
    """Closed words: states, categories, verdicts, flags, exit codes."""
    TIME = "time"
    QUANTITY = "quantity"
    """Counts, bytes, tokens, seconds, places in a journal."""
    MONEY = "money"
    DIGEST = "digest"
    PATH = "path"
    """Paths of files and directories, process ids: where things are on that host."""
    TEXT = "text"
    """What people, agents and programs wrote in their own words."""
    INDEX = "index"
    """What the index says of itself; it differs between two indexes of the same evidence, and never leaves."""


class FieldType(Enum):
    """How a field is stored in Parquet."""

    TEXT = "text"
    INTEGER = "integer"
    REAL = "real"
    TIME = "time"
    """Microseconds, UTC."""
    MONEY = "money"
    """Decimal of 38 digits, 12 of them behind the point: sums are exact in every engine."""


class Field(NamedTuple):
    """One column of a table."""

    name: str
    field_class: FieldClass
    field_type: FieldType
    is_source_digest: bool = False
    """SHA-256 of what the row was made from: it leaves whatever the policy."""


_IDENTITY, _OUTCOME, _PATH = FieldClass.IDENTITY, FieldClass.OUTCOME, FieldClass.PATH
_CLASS_OF_WORD: Mapping[str, tuple[FieldClass, FieldType] | tuple[FieldClass, FieldType, bool]] = {
    "id": (_IDENTITY, FieldType.TEXT),
    "word": (_OUTCOME, FieldType.TEXT),
    "flag": (_OUTCOME, FieldType.INTEGER),
    "code": (_OUTCOME, FieldType.INTEGER),
    "time": (FieldClass.TIME, FieldType.TIME),
    "count": (FieldClass.QUANTITY, FieldType.INTEGER),
    "real": (FieldClass.QUANTITY, FieldType.REAL),
    "money": (FieldClass.MONEY, FieldType.MONEY),
    "currency": (FieldClass.MONEY, FieldType.TEXT),
    "digest": (FieldClass.DIGEST, FieldType.TEXT),
    "source": (FieldClass.DIGEST, FieldType.TEXT, True),
    "path": (_PATH, FieldType.TEXT),
    "pid": (_PATH, FieldType.INTEGER),
    "text": (FieldClass.TEXT, FieldType.TEXT),
    "index": (FieldClass.INDEX, FieldType.TEXT),
    "indexed": (FieldClass.INDEX, FieldType.TIME),
    "row": (FieldClass.INDEX, FieldType.INTEGER),
}


def _fields(listed: str) -> tuple[Field, ...]:
    """Read ``name:word`` pairs; the words are those above."""
    pairs = (pair.partition(":") for pair in listed.split())
    return tuple(Field(name, *_CLASS_OF_WORD[word]) for name, _, word in pairs)


_RUN_PLACE = "storage_class:word source_dir:path"
_AGENT = "executor:id model:id pack_id:id"
_JOURNAL_PLACE = f"{_RUN_PLACE} relative_path:path source_sequence:count record_sha256:source indexed_at:indexed"

TABLES: Mapping[str, tuple[Field, ...]] = {
    "runs": _fields(
        "session_id:id index_state:word durable_status:word executor_result:word attempt_classification:word "
        "evaluation_state:word score_verdict:word executor:id model:id interactive:flag agent_name:id agent_class:id "
        "tier:id ticket_id:id pack_id:id workflow_id:id workflow_node_id:id retry_of_run_id:id created_at:time "
        "started_at:time finished_at:time exit_code:code failure_category:word disposition:word completion_result:word "
        "policy_result:word acceptance_eligible:flag open_incident_count:count last_open_incident_at:time "
        "pending_permission_count:count last_health_at:time workdir:path source_revision:digest branch:text "
        f"dirty_at_launch:flag {_RUN_PLACE} launch_schema:id evidence_complete:flag final_receipt_sha256:digest "
        "index_error:text source_fingerprint:index indexed_at:indexed adw_id:id trace_database:path "
        "session_directory:path journal_record_count:count superseded:flag source_digest:source"
    ),
    "incidents": _fields(
        "session_id:id recorded_at:time category:word severity:word state:word summary:text incident_id:id "
        f"fingerprint:digest {_AGENT} {_JOURNAL_PLACE}"
    ),
    "permissions": _fields(
        "session_id:id recorded_at:time state:word operation:word resource_class:word target:text "
        "requested_access:text principal:id source:word policy_rule_id:id remediation_class:word event_id:id "
        f"evidence_sha256:digest {_AGENT} {_JOURNAL_PLACE}"
    ),
    "workflows": _fields(
        "workflow_id:id workflow_state:word owner_run_id:id pack_id:id event_count:count node_count:count "
        f"snapshot_sha256:digest {_RUN_PLACE} indexed_at:indexed source_digest:source run_at:time"
    ),
    "workflow_nodes": _fields(
        "workflow_id:id node_id:id state:word kind:word ticket_id:id configured_session_id:id bound_run_id:id "
        "attempt:count retry_of_run_id:id executor:id model:id interactive:flag terminal_reason:text dependencies:id "
        "owner_run_id:id pack_id:id indexed_at:indexed source_digest:source run_at:time"
    ),
    "errors": _fields(
        "error_id:row session_id:id category:word source_path:path detail:text detected_at:time source_digest:source"
    ),
    "repairs": _fields(
        "repair_id:id source_session_id:id validation_result:word source_mutation_verified:flag created_at:time "
        "actor:id adapter_id:id adapter_version:id adapter_sha256:digest source_artifact_path:path "
        "source_artifact_sha256:digest source_final_receipt_sha256:digest canonical_sha256:digest "
        "repair_receipt_sha256:source repair_dir:path indexed_at:indexed"
    ),
    "events": _fields(
        "session_id:id recorded_at:time schema_id:id event_kind:word category:word state:word outcome:word actor:id "
        f"summary:text event_id:id correlation_id:id fingerprint:digest content_sha256:digest {_JOURNAL_PLACE}"
    ),
    "health": _fields(
        "session_id:id recorded_at:time runner_alive:flag executor_alive:flag executor_state:word "
        "cpu_user_seconds:real cpu_system_seconds:real rss_bytes:count peak_rss_bytes:count read_bytes:count "
        "write_bytes:count open_fd_count:count child_process_count:count host_load_1m:real "
        "host_available_memory_bytes:count disk_free_bytes:count output_bytes:count stderr_bytes:count "
        "executor_event_bytes:count terminal_event_bytes:count last_semantic_progress_at:time "
        f"seconds_since_semantic_progress:real last_semantic_progress_source:word {_JOURNAL_PLACE}"
    ),
    "remediations": _fields(
        "session_id:id recorded_at:time rule_id:id action:word outcome:word incident_id:id event_id:id "
        f"reason_sha256:digest category:word {_AGENT} {_JOURNAL_PLACE}"
    ),
    "metrics": _fields(
        f"session_id:id stage:word {_AGENT} input_tokens:count cached_input_tokens:count output_tokens:count "
        "reasoning_output_tokens:count provider_total_tokens:count provider_billed_cost:money "
        "local_estimated_cost:money currency:currency elapsed_seconds:real first_output_latency_seconds:real "
        "retry_count:count steer_count:count steer_acknowledged_count:count steer_pending_count:count run_at:time "
        f"{_RUN_PLACE} source_sha256:source indexed_at:indexed superseded:flag"
    ),
    "processes": _fields(
        "session_id:id recorded_at:time error_category:word exit_code:code returncode:code signal:code timed_out:flag "
        "cancelled:flag duration_seconds:real stdout_bytes:count stderr_bytes:count stdout_truncated:flag "
        "stderr_truncated:flag resolved_executable:path executable_sha256:digest runner_pid:pid executor_pid:pid "
        f"{_AGENT} {_RUN_PLACE} source_sha256:source indexed_at:indexed"
    ),
    "notices": _fields(
        "session_id:id category:word contract:id source_path:path detail:text detected_at:time source_digest:source"
    ),
}  # fmt: skip
"""Every table with its fields, in the order of the columns of its kind; behind them what its kind has not."""

INDEX_COLUMNS: Mapping[str, frozenset[str]] = {
    table: frozenset(columns.split())
    for table, columns in {
        "runs": "session_id source_dir storage_class index_state index_error source_fingerprint indexed_at "
        "evidence_complete final_receipt_sha256 launch_schema ticket_id pack_id workflow_id workflow_node_id "
        "retry_of_run_id agent_name agent_class tier executor model interactive workdir source_revision branch "
        "dirty_at_launch created_at started_at finished_at durable_status disposition failure_category exit_code "
        "executor_result policy_result completion_result acceptance_eligible attempt_classification score_verdict "
        "evaluation_state",
        "run_traces": "session_id adw_id trace_database session_directory",
        "index_errors": "error_id session_id source_path detected_at category detail",
        "notices": "session_id source_path kind contract detail detected_at",
        "events": "session_id relative_path source_sequence schema_id event_id recorded_at event_kind category state "
        "outcome actor correlation_id fingerprint content_sha256 summary record_sha256",
        "health_samples": "session_id relative_path source_sequence recorded_at runner_alive executor_alive "
        "executor_state cpu_user_seconds cpu_system_seconds rss_bytes peak_rss_bytes read_bytes write_bytes "
        "open_fd_count child_process_count host_load_1m host_available_memory_bytes disk_free_bytes output_bytes "
        "stderr_bytes executor_event_bytes terminal_event_bytes last_semantic_progress_at "
        "seconds_since_semantic_progress last_semantic_progress_source record_sha256",
        "permission_events": "session_id relative_path source_sequence event_id recorded_at principal operation "
        "resource_class target requested_access state source policy_rule_id evidence_sha256 remediation_class "
        "record_sha256",
        "incident_events": "session_id relative_path source_sequence incident_id recorded_at category severity summary "
        "fingerprint state record_sha256",
        "remediation_events": "session_id relative_path source_sequence event_id incident_id recorded_at rule_id "
        "action outcome reason_sha256 record_sha256",
        "process_results": "session_id returncode exit_code signal timed_out cancelled stdout_truncated "
        "stderr_truncated stdout_bytes stderr_bytes duration_seconds error_category resolved_executable "
        "executable_sha256 runner_pid executor_pid recorded_at source_sha256",
        "execution_metrics": "session_id stage input_tokens cached_input_tokens output_tokens provider_total_tokens "
        "reasoning_output_tokens provider_billed_cost local_estimated_cost currency elapsed_seconds "
        "first_output_latency_seconds retry_count steer_count steer_acknowledged_count steer_pending_count "
        "source_sha256",
        "workflows": "workflow_id owner_run_id pack_id snapshot_sha256 workflow_state event_count indexed_at",
        "workflow_nodes": "workflow_id node_id kind ticket_id configured_session_id bound_run_id state attempt "
        "retry_of_run_id executor model interactive terminal_reason",
        "workflow_edges": "workflow_id source_node_id target_node_id",
        "evidence_repairs": "repair_id source_session_id source_final_receipt_sha256 source_artifact_path "
        "source_artifact_sha256 adapter_id adapter_version adapter_sha256 canonical_sha256 validation_result "
        "source_mutation_verified repair_receipt_sha256 repair_dir created_at actor indexed_at",
    }.items()
}
"""The columns of the index's tables that this list was made for; any other has no class yet and stops an export."""
