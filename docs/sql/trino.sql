-- The dataset of `agent-workflow index export` in Trino's Hive connector: a view for each kind of question.
--   sed 's#@DATASET@#s3://bucket/fleet#g' trino.sql > views.sql; trino --catalog hive --schema fleet --file views.sql
-- Our tests run its views and types in DuckDB, not in Trino.
-- Wanted of the catalog: hive.parquet.use-column-names=true, hive.timestamp-precision=MICROSECONDS.
-- A column that a policy left out is NULL. Call sync_partition_metadata again when new days have been exported.

CREATE TABLE IF NOT EXISTS manifests (
    parts ARRAY(ROW("table" VARCHAR, "date" VARCHAR, path VARCHAR, "rows" BIGINT, size_bytes BIGINT, sha256 VARCHAR)),
    host VARCHAR
)
WITH (external_location = '@DATASET@/manifests', format = 'JSON', partitioned_by = ARRAY['host']);
CALL system.sync_partition_metadata('fleet', 'manifests', 'FULL');

-- Files that a manifest names. Others are leftovers, or belong to an export that has not ended.
CREATE OR REPLACE VIEW parts AS
SELECT '@DATASET@/' || part.path AS path
FROM manifests CROSS JOIN UNNEST(parts) AS part ("table", "date", path, "rows", size_bytes, sha256);

CREATE TABLE IF NOT EXISTS runs_files (
    session_id VARCHAR,
    index_state VARCHAR,
    durable_status VARCHAR,
    executor_result VARCHAR,
    attempt_classification VARCHAR,
    evaluation_state VARCHAR,
    score_verdict VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    interactive BIGINT,
    agent_name VARCHAR,
    agent_class VARCHAR,
    tier VARCHAR,
    ticket_id VARCHAR,
    pack_id VARCHAR,
    workflow_id VARCHAR,
    workflow_node_id VARCHAR,
    retry_of_run_id VARCHAR,
    created_at TIMESTAMP(6),
    started_at TIMESTAMP(6),
    finished_at TIMESTAMP(6),
    exit_code BIGINT,
    failure_category VARCHAR,
    disposition VARCHAR,
    completion_result VARCHAR,
    policy_result VARCHAR,
    acceptance_eligible BIGINT,
    open_incident_count BIGINT,
    last_open_incident_at TIMESTAMP(6),
    pending_permission_count BIGINT,
    last_health_at TIMESTAMP(6),
    workdir VARCHAR,
    source_revision VARCHAR,
    branch VARCHAR,
    dirty_at_launch BIGINT,
    storage_class VARCHAR,
    source_dir VARCHAR,
    launch_schema VARCHAR,
    evidence_complete BIGINT,
    final_receipt_sha256 VARCHAR,
    index_error VARCHAR,
    adw_id VARCHAR,
    trace_database VARCHAR,
    session_directory VARCHAR,
    journal_record_count BIGINT,
    superseded BIGINT,
    source_digest VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=runs/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'runs_files', 'FULL');
CREATE OR REPLACE VIEW runs AS
SELECT * FROM runs_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS incidents_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    category VARCHAR,
    severity VARCHAR,
    state VARCHAR,
    summary VARCHAR,
    incident_id VARCHAR,
    fingerprint VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    pack_id VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    relative_path VARCHAR,
    source_sequence BIGINT,
    record_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=incidents/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'incidents_files', 'FULL');
CREATE OR REPLACE VIEW incidents AS
SELECT * FROM incidents_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS permissions_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    state VARCHAR,
    operation VARCHAR,
    resource_class VARCHAR,
    target VARCHAR,
    requested_access VARCHAR,
    principal VARCHAR,
    source VARCHAR,
    policy_rule_id VARCHAR,
    remediation_class VARCHAR,
    event_id VARCHAR,
    evidence_sha256 VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    pack_id VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    relative_path VARCHAR,
    source_sequence BIGINT,
    record_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=permissions/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'permissions_files', 'FULL');
CREATE OR REPLACE VIEW permissions AS
SELECT * FROM permissions_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS workflows_files (
    workflow_id VARCHAR,
    workflow_state VARCHAR,
    owner_run_id VARCHAR,
    pack_id VARCHAR,
    event_count BIGINT,
    node_count BIGINT,
    snapshot_sha256 VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    source_digest VARCHAR,
    run_at TIMESTAMP(6),
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=workflows/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'workflows_files', 'FULL');
CREATE OR REPLACE VIEW workflows AS
SELECT * FROM workflows_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS workflow_nodes_files (
    workflow_id VARCHAR,
    node_id VARCHAR,
    state VARCHAR,
    kind VARCHAR,
    ticket_id VARCHAR,
    configured_session_id VARCHAR,
    bound_run_id VARCHAR,
    attempt BIGINT,
    retry_of_run_id VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    interactive BIGINT,
    terminal_reason VARCHAR,
    dependencies VARCHAR,
    owner_run_id VARCHAR,
    pack_id VARCHAR,
    source_digest VARCHAR,
    run_at TIMESTAMP(6),
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=workflow_nodes/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'workflow_nodes_files', 'FULL');
CREATE OR REPLACE VIEW workflow_nodes AS
SELECT * FROM workflow_nodes_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS errors_files (
    session_id VARCHAR,
    category VARCHAR,
    source_path VARCHAR,
    detail VARCHAR,
    detected_at TIMESTAMP(6),
    source_digest VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=errors/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'errors_files', 'FULL');
CREATE OR REPLACE VIEW errors AS
SELECT * FROM errors_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS repairs_files (
    repair_id VARCHAR,
    source_session_id VARCHAR,
    validation_result VARCHAR,
    source_mutation_verified BIGINT,
    created_at TIMESTAMP(6),
    actor VARCHAR,
    adapter_id VARCHAR,
    adapter_version VARCHAR,
    adapter_sha256 VARCHAR,
    source_artifact_path VARCHAR,
    source_artifact_sha256 VARCHAR,
    source_final_receipt_sha256 VARCHAR,
    canonical_sha256 VARCHAR,
    repair_receipt_sha256 VARCHAR,
    repair_dir VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=repairs/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'repairs_files', 'FULL');
CREATE OR REPLACE VIEW repairs AS
SELECT * FROM repairs_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS events_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    schema_id VARCHAR,
    event_kind VARCHAR,
    category VARCHAR,
    state VARCHAR,
    outcome VARCHAR,
    actor VARCHAR,
    summary VARCHAR,
    event_id VARCHAR,
    correlation_id VARCHAR,
    fingerprint VARCHAR,
    content_sha256 VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    relative_path VARCHAR,
    source_sequence BIGINT,
    record_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=events/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'events_files', 'FULL');
CREATE OR REPLACE VIEW events AS
SELECT * FROM events_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS health_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    runner_alive BIGINT,
    executor_alive BIGINT,
    executor_state VARCHAR,
    cpu_user_seconds DOUBLE,
    cpu_system_seconds DOUBLE,
    rss_bytes BIGINT,
    peak_rss_bytes BIGINT,
    read_bytes BIGINT,
    write_bytes BIGINT,
    open_fd_count BIGINT,
    child_process_count BIGINT,
    host_load_1m DOUBLE,
    host_available_memory_bytes BIGINT,
    disk_free_bytes BIGINT,
    output_bytes BIGINT,
    stderr_bytes BIGINT,
    executor_event_bytes BIGINT,
    terminal_event_bytes BIGINT,
    last_semantic_progress_at TIMESTAMP(6),
    seconds_since_semantic_progress DOUBLE,
    last_semantic_progress_source VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    relative_path VARCHAR,
    source_sequence BIGINT,
    record_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=health/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'health_files', 'FULL');
CREATE OR REPLACE VIEW health AS
SELECT * FROM health_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS remediations_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    rule_id VARCHAR,
    action VARCHAR,
    outcome VARCHAR,
    incident_id VARCHAR,
    event_id VARCHAR,
    reason_sha256 VARCHAR,
    category VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    pack_id VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    relative_path VARCHAR,
    source_sequence BIGINT,
    record_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=remediations/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'remediations_files', 'FULL');
CREATE OR REPLACE VIEW remediations AS
SELECT * FROM remediations_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS metrics_files (
    session_id VARCHAR,
    stage VARCHAR,
    executor VARCHAR,
    model VARCHAR,
    pack_id VARCHAR,
    input_tokens BIGINT,
    cached_input_tokens BIGINT,
    output_tokens BIGINT,
    reasoning_output_tokens BIGINT,
    provider_total_tokens BIGINT,
    provider_billed_cost DECIMAL(38, 12),
    local_estimated_cost DECIMAL(38, 12),
    currency VARCHAR,
    elapsed_seconds DOUBLE,
    first_output_latency_seconds DOUBLE,
    retry_count BIGINT,
    steer_count BIGINT,
    steer_acknowledged_count BIGINT,
    steer_pending_count BIGINT,
    run_at TIMESTAMP(6),
    storage_class VARCHAR,
    source_dir VARCHAR,
    source_sha256 VARCHAR,
    superseded BIGINT,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=metrics/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'metrics_files', 'FULL');
CREATE OR REPLACE VIEW metrics AS
SELECT * FROM metrics_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS processes_files (
    session_id VARCHAR,
    recorded_at TIMESTAMP(6),
    error_category VARCHAR,
    exit_code BIGINT,
    returncode BIGINT,
    signal BIGINT,
    timed_out BIGINT,
    cancelled BIGINT,
    duration_seconds DOUBLE,
    stdout_bytes BIGINT,
    stderr_bytes BIGINT,
    stdout_truncated BIGINT,
    stderr_truncated BIGINT,
    resolved_executable VARCHAR,
    executable_sha256 VARCHAR,
    runner_pid BIGINT,
    executor_pid BIGINT,
    executor VARCHAR,
    model VARCHAR,
    pack_id VARCHAR,
    storage_class VARCHAR,
    source_dir VARCHAR,
    source_sha256 VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=processes/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'processes_files', 'FULL');
CREATE OR REPLACE VIEW processes AS
SELECT * FROM processes_files WHERE "$path" IN (SELECT path FROM parts);

CREATE TABLE IF NOT EXISTS notices_files (
    session_id VARCHAR,
    category VARCHAR,
    contract VARCHAR,
    source_path VARCHAR,
    detail VARCHAR,
    detected_at TIMESTAMP(6),
    source_digest VARCHAR,
    host VARCHAR,
    date DATE
)
WITH (external_location = '@DATASET@/table=notices/schema=v1', format = 'PARQUET', partitioned_by = ARRAY['host', 'date']);
CALL system.sync_partition_metadata('fleet', 'notices_files', 'FULL');
CREATE OR REPLACE VIEW notices AS
SELECT * FROM notices_files WHERE "$path" IN (SELECT path FROM parts);

-- A row for each host; sum the counts, or weigh the averages by them, for the whole fleet.
CREATE OR REPLACE VIEW attempts AS
SELECT
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state,
    count(*) AS run_count,
    count(CASE WHEN acceptance_eligible = 1 THEN 1 END) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current' AND coalesce(superseded, 0) = 0
GROUP BY
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state;

CREATE OR REPLACE VIEW performance AS
SELECT
    host, executor, model, stage, sample_count, avg_elapsed_seconds, avg_first_output_latency_seconds,
    avg_input_tokens, avg_output_tokens,
    provider_billed_sample_count,
    CASE WHEN provider_billed_currency IS NOT NULL THEN billed_average END AS avg_provider_billed_cost,
    provider_billed_currency,
    local_estimated_sample_count,
    CASE WHEN local_estimated_currency IS NOT NULL THEN estimated_average END AS avg_local_estimated_cost,
    local_estimated_currency
FROM (
    SELECT
        host, executor, model, stage,
        count(*) AS sample_count,
        avg(elapsed_seconds) AS avg_elapsed_seconds,
        avg(first_output_latency_seconds) AS avg_first_output_latency_seconds,
        avg(input_tokens) AS avg_input_tokens,
        avg(output_tokens) AS avg_output_tokens,
        count(provider_billed_cost) AS provider_billed_sample_count,
        avg(CAST(provider_billed_cost AS DOUBLE)) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(CAST(local_estimated_cost AS DOUBLE)) AS estimated_average,
        CASE WHEN count(DISTINCT estimated_in) = 1 THEN nullif(max(estimated_in), '') END AS local_estimated_currency
    FROM (
        SELECT
            *,
            CASE WHEN provider_billed_cost IS NOT NULL THEN coalesce(currency, '') END AS billed_in,
            CASE WHEN local_estimated_cost IS NOT NULL THEN coalesce(currency, '') END AS estimated_in
        FROM metrics
        WHERE coalesce(superseded, 0) = 0
    ) AS samples
    GROUP BY host, executor, model, stage
) AS grouped;
