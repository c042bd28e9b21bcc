-- The projection of run evidence: one row a run, a source, a journal record.

CREATE TABLE schema_migrations (
    version INTEGER PRIMARY KEY,
    applied_at TEXT NOT NULL,
    description TEXT NOT NULL
);

CREATE TABLE index_metadata (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE index_errors (
    error_id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT,
    source_path TEXT,
    detected_at TEXT NOT NULL,
    category TEXT NOT NULL,
    detail TEXT NOT NULL
);

CREATE TABLE runs (
    session_id TEXT PRIMARY KEY,
    source_dir TEXT NOT NULL,
    storage_class TEXT NOT NULL CHECK (storage_class IN ('active', 'archive')),
    index_state TEXT NOT NULL CHECK (index_state IN ('current', 'error')),
    index_error TEXT,
    source_fingerprint TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    evidence_complete INTEGER NOT NULL DEFAULT 0 CHECK (evidence_complete IN (0, 1)),
    final_receipt_sha256 TEXT,
    launch_schema TEXT,
    ticket_id TEXT,
    pack_id TEXT,
    workflow_id TEXT,
    workflow_node_id TEXT,
    retry_of_run_id TEXT,
    agent_name TEXT,
    agent_class TEXT,
    tier TEXT,
    executor TEXT,
    model TEXT,
    interactive INTEGER,
    workdir TEXT,
    source_revision TEXT,
    branch TEXT,
    dirty_at_launch INTEGER,
    created_at TEXT,
    started_at TEXT,
    finished_at TEXT,
    durable_status TEXT,
    disposition TEXT,
    failure_category TEXT,
    exit_code INTEGER
);

CREATE TABLE source_files (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    file_kind TEXT NOT NULL CHECK (file_kind IN ('json', 'jsonl')),
    size_bytes INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL,
    sha256 TEXT NOT NULL,
    record_count INTEGER,
    schema_ids_json TEXT NOT NULL,
    indexed_at TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path)
);

CREATE TABLE events (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    source_sequence INTEGER NOT NULL,
    schema_id TEXT,
    event_id TEXT,
    recorded_at TEXT,
    event_kind TEXT,
    category TEXT,
    state TEXT,
    outcome TEXT,
    actor TEXT,
    correlation_id TEXT,
    fingerprint TEXT,
    content_sha256 TEXT,
    summary TEXT,
    record_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path, source_sequence)
);

CREATE TABLE health_samples (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    source_sequence INTEGER NOT NULL,
    recorded_at TEXT NOT NULL,
    runner_alive INTEGER,
    executor_alive INTEGER,
    executor_state TEXT,
    cpu_user_seconds REAL,
    cpu_system_seconds REAL,
    rss_bytes INTEGER,
    peak_rss_bytes INTEGER,
    read_bytes INTEGER,
    write_bytes INTEGER,
    open_fd_count INTEGER,
    child_process_count INTEGER,
    host_load_1m REAL,
    host_available_memory_bytes INTEGER,
    disk_free_bytes INTEGER,
    output_bytes INTEGER,
    stderr_bytes INTEGER,
    executor_event_bytes INTEGER,
    terminal_event_bytes INTEGER,
    last_semantic_progress_at TEXT,
    seconds_since_semantic_progress REAL,
    last_semantic_progress_source TEXT,
    record_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path, source_sequence)
);

CREATE TABLE permission_events (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    source_sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    principal TEXT,
    operation TEXT NOT NULL,
    resource_class TEXT NOT NULL,
    target TEXT,
    requested_access TEXT,
    state TEXT NOT NULL,
    source TEXT NOT NULL,
    policy_rule_id TEXT,
    evidence_sha256 TEXT NOT NULL,
    remediation_class TEXT NOT NULL,
    record_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path, source_sequence)
);

CREATE TABLE incident_events (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    source_sequence INTEGER NOT NULL,
    incident_id TEXT NOT NULL,
    recorded_at TEXT NOT NULL,
    category TEXT NOT NULL,
    severity TEXT NOT NULL,
    summary TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    state TEXT NOT NULL,
    record_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path, source_sequence)
);

CREATE TABLE remediation_events (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    source_sequence INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    incident_id TEXT,
    recorded_at TEXT NOT NULL,
    rule_id TEXT NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    reason_sha256 TEXT,
    record_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path, source_sequence)
);

CREATE TABLE process_results (
    session_id TEXT PRIMARY KEY REFERENCES runs (session_id) ON DELETE CASCADE,
    returncode INTEGER NOT NULL,
    exit_code INTEGER,
    signal INTEGER,
    timed_out INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    stdout_truncated INTEGER NOT NULL,
    stderr_truncated INTEGER NOT NULL,
    stdout_bytes INTEGER NOT NULL,
    stderr_bytes INTEGER NOT NULL,
    duration_seconds REAL NOT NULL,
    error_category TEXT NOT NULL,
    resolved_executable TEXT,
    executable_sha256 TEXT,
    runner_pid INTEGER NOT NULL,
    executor_pid INTEGER,
    recorded_at TEXT NOT NULL,
    source_sha256 TEXT NOT NULL
);

CREATE TABLE execution_metrics (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    stage TEXT NOT NULL,
    input_tokens INTEGER,
    cached_input_tokens INTEGER,
    output_tokens INTEGER,
    provider_total_tokens INTEGER,
    reasoning_output_tokens INTEGER,
    provider_billed_cost REAL,
    local_estimated_cost REAL,
    currency TEXT,
    elapsed_seconds REAL,
    first_output_latency_seconds REAL,
    retry_count INTEGER NOT NULL,
    steer_count INTEGER NOT NULL,
    steer_acknowledged_count INTEGER NOT NULL,
    steer_pending_count INTEGER NOT NULL,
    source_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, stage)
);

CREATE TABLE workflows (
    workflow_id TEXT PRIMARY KEY,
    owner_run_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    pack_id TEXT,
    snapshot_sha256 TEXT,
    workflow_state TEXT,
    event_count INTEGER,
    indexed_at TEXT NOT NULL
);

CREATE TABLE workflow_nodes (
    workflow_id TEXT NOT NULL REFERENCES workflows (workflow_id) ON DELETE CASCADE,
    node_id TEXT NOT NULL,
    kind TEXT,
    ticket_id TEXT,
    configured_session_id TEXT,
    bound_run_id TEXT,
    state TEXT,
    attempt INTEGER,
    retry_of_run_id TEXT,
    executor TEXT,
    model TEXT,
    interactive INTEGER,
    terminal_reason TEXT,
    PRIMARY KEY (workflow_id, node_id)
);

CREATE TABLE workflow_edges (
    workflow_id TEXT NOT NULL REFERENCES workflows (workflow_id) ON DELETE CASCADE,
    source_node_id TEXT NOT NULL,
    target_node_id TEXT NOT NULL,
    PRIMARY KEY (workflow_id, source_node_id, target_node_id)
);

-- Incidents and permissions are journals of states: the latest event of one subject tells its state now.
-- Order within a journal decides, not the clock, which may be stepped back.
CREATE VIEW run_overview AS
WITH incident_now AS (
    SELECT session_id, recorded_at, state, row_number() OVER (
        PARTITION BY session_id, incident_id ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM incident_events
),
permission_now AS (
    SELECT session_id, state, row_number() OVER (
        PARTITION BY session_id, operation, resource_class, target
        ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM permission_events
),
open_incidents AS (
    SELECT session_id, count(*) AS open_incident_count, max(recorded_at) AS last_open_incident_at
    FROM incident_now WHERE age = 1 AND state = 'open' GROUP BY session_id
),
pending_permissions AS (
    SELECT session_id, count(*) AS pending_permission_count
    FROM permission_now WHERE age = 1 AND state = 'pending' GROUP BY session_id
)
SELECT
    runs.*,
    (SELECT max(recorded_at) FROM health_samples WHERE health_samples.session_id = runs.session_id) AS last_health_at,
    open_incidents.last_open_incident_at,
    coalesce(open_incidents.open_incident_count, 0) AS open_incident_count,
    coalesce(pending_permissions.pending_permission_count, 0) AS pending_permission_count
FROM runs
LEFT JOIN open_incidents ON open_incidents.session_id = runs.session_id
LEFT JOIN pending_permissions ON pending_permissions.session_id = runs.session_id;

CREATE VIEW incident_summary AS
SELECT
    category,
    severity,
    state,
    count(*) AS event_count,
    count(DISTINCT session_id) AS run_count,
    min(recorded_at) AS first_seen_at,
    max(recorded_at) AS last_seen_at
FROM incident_events
GROUP BY category, severity, state;

CREATE VIEW permission_summary AS
SELECT
    operation,
    resource_class,
    state,
    count(*) AS event_count,
    count(DISTINCT session_id) AS run_count,
    min(recorded_at) AS first_seen_at,
    max(recorded_at) AS last_seen_at
FROM permission_events
GROUP BY operation, resource_class, state;

-- Billed and estimated money stay apart; an average exists only where every sample names the same currency.
CREATE VIEW performance_summary AS
WITH samples AS (
    SELECT
        runs.executor, runs.model, execution_metrics.*,
        CASE WHEN provider_billed_cost IS NOT NULL THEN coalesce(currency, '') END AS billed_in,
        CASE WHEN local_estimated_cost IS NOT NULL THEN coalesce(currency, '') END AS estimated_in
    FROM execution_metrics JOIN runs ON runs.session_id = execution_metrics.session_id
),
grouped AS (
    SELECT
        executor,
        model,
        stage,
        count(*) AS sample_count,
        avg(elapsed_seconds) AS avg_elapsed_seconds,
        avg(first_output_latency_seconds) AS avg_first_output_latency_seconds,
        avg(input_tokens) AS avg_input_tokens,
        avg(output_tokens) AS avg_output_tokens,
        count(provider_billed_cost) AS provider_billed_sample_count,
        avg(provider_billed_cost) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(local_estimated_cost) AS estimated_average,
        CASE WHEN count(DISTINCT estimated_in) = 1 THEN nullif(max(estimated_in), '') END AS local_estimated_currency
    FROM samples
    GROUP BY executor, model, stage
)
SELECT
    executor,
    model,
    stage,
    sample_count,
    avg_elapsed_seconds,
    avg_first_output_latency_seconds,
    avg_input_tokens,
    avg_output_tokens,
    provider_billed_sample_count,
    CASE WHEN provider_billed_currency IS NOT NULL THEN billed_average END AS avg_provider_billed_cost,
    provider_billed_currency,
    local_estimated_sample_count,
    CASE WHEN local_estimated_currency IS NOT NULL THEN estimated_average END AS avg_local_estimated_cost,
    local_estimated_currency
FROM grouped;
