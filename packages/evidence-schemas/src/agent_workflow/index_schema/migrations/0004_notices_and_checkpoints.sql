-- Notices, checkpoints, and journal rows kept in the order of their key.
--
-- The five journal tables become WITHOUT ROWID: their key is long and every row is found by it, so one b-tree serves
-- where a table and its automatic index were two. That is a sixth of the file and of the time to fill it.

CREATE TABLE notices (
    session_id TEXT,
    source_path TEXT NOT NULL,
    kind TEXT NOT NULL,
    contract TEXT,
    detail TEXT NOT NULL,
    detected_at TEXT NOT NULL
);
CREATE INDEX notices_by_run ON notices (session_id);

-- How much of a journal has been projected. Disposable: without a row the run is read whole.
CREATE TABLE journal_checkpoints (
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    relative_path TEXT NOT NULL,
    complete_bytes INTEGER NOT NULL,
    record_count INTEGER NOT NULL,
    prefix_sha256 TEXT NOT NULL,
    PRIMARY KEY (session_id, relative_path)
) WITHOUT ROWID;

-- Every run that holds a workflow's files. The first by name owns the workflow's rows, whatever the order of syncs.
CREATE TABLE workflow_claims (
    workflow_id TEXT NOT NULL,
    session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    PRIMARY KEY (workflow_id, session_id)
) WITHOUT ROWID;

-- What a repair was verified against, so that an unchanged one is not read again.
CREATE TABLE repair_checkpoints (
    repair_id TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL
) WITHOUT ROWID;

DROP VIEW run_overview;
DROP VIEW incident_summary;
DROP VIEW permission_summary;

ALTER TABLE events RENAME TO events_of_schema_3;
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
) WITHOUT ROWID;
INSERT INTO events (
    session_id, relative_path, source_sequence, schema_id, event_id, recorded_at, event_kind, category,
    state, outcome, actor, correlation_id, fingerprint, content_sha256, summary, record_sha256
)
SELECT
    session_id, relative_path, source_sequence, schema_id, event_id, recorded_at, event_kind, category,
    state, outcome, actor, correlation_id, fingerprint, content_sha256, summary, record_sha256
FROM events_of_schema_3;
DROP TABLE events_of_schema_3;

ALTER TABLE health_samples RENAME TO health_samples_of_schema_3;
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
) WITHOUT ROWID;
INSERT INTO health_samples (
    session_id, relative_path, source_sequence, recorded_at, runner_alive, executor_alive, executor_state,
    cpu_user_seconds, cpu_system_seconds, rss_bytes, peak_rss_bytes, read_bytes, write_bytes, open_fd_count,
    child_process_count, host_load_1m, host_available_memory_bytes, disk_free_bytes, output_bytes,
    stderr_bytes, executor_event_bytes, terminal_event_bytes, last_semantic_progress_at,
    seconds_since_semantic_progress, last_semantic_progress_source, record_sha256
)
SELECT
    session_id, relative_path, source_sequence, recorded_at, runner_alive, executor_alive, executor_state,
    cpu_user_seconds, cpu_system_seconds, rss_bytes, peak_rss_bytes, read_bytes, write_bytes, open_fd_count,
    child_process_count, host_load_1m, host_available_memory_bytes, disk_free_bytes, output_bytes,
    stderr_bytes, executor_event_bytes, terminal_event_bytes, last_semantic_progress_at,
    seconds_since_semantic_progress, last_semantic_progress_source, record_sha256
FROM health_samples_of_schema_3;
DROP TABLE health_samples_of_schema_3;

ALTER TABLE permission_events RENAME TO permission_events_of_schema_3;
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
) WITHOUT ROWID;
INSERT INTO permission_events (
    session_id, relative_path, source_sequence, event_id, recorded_at, principal, operation, resource_class,
    target, requested_access, state, source, policy_rule_id, evidence_sha256, remediation_class, record_sha256
)
SELECT
    session_id, relative_path, source_sequence, event_id, recorded_at, principal, operation, resource_class,
    target, requested_access, state, source, policy_rule_id, evidence_sha256, remediation_class, record_sha256
FROM permission_events_of_schema_3;
DROP TABLE permission_events_of_schema_3;

ALTER TABLE incident_events RENAME TO incident_events_of_schema_3;
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
) WITHOUT ROWID;
INSERT INTO incident_events (
    session_id, relative_path, source_sequence, incident_id, recorded_at, category, severity, summary,
    fingerprint, state, record_sha256
)
SELECT
    session_id, relative_path, source_sequence, incident_id, recorded_at, category, severity, summary,
    fingerprint, state, record_sha256
FROM incident_events_of_schema_3;
DROP TABLE incident_events_of_schema_3;

ALTER TABLE remediation_events RENAME TO remediation_events_of_schema_3;
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
) WITHOUT ROWID;
INSERT INTO remediation_events (
    session_id, relative_path, source_sequence, event_id, incident_id, recorded_at, rule_id, action, outcome,
    reason_sha256, record_sha256
)
SELECT
    session_id, relative_path, source_sequence, event_id, incident_id, recorded_at, rule_id, action, outcome,
    reason_sha256, record_sha256
FROM remediation_events_of_schema_3;
DROP TABLE remediation_events_of_schema_3;

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

CREATE INDEX runs_by_state ON runs (index_state, durable_status);
CREATE INDEX workflows_by_owner ON workflows (owner_run_id);
CREATE INDEX repairs_by_run ON evidence_repairs (source_session_id);
