-- Permissions whose latest record is pending, as run_overview counts them.
WITH latest AS (
    SELECT *, row_number() OVER (
        PARTITION BY session_id, operation, resource_class, target
        ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM permission_events
)
SELECT
    session_id, row.recorded_at, row.state, row.operation, row.resource_class, row.target, row.requested_access,
    row.principal, row.source, row.policy_rule_id, row.remediation_class, row.event_id, row.evidence_sha256,
    runs.executor, runs.model, runs.pack_id,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM latest AS row
JOIN runs USING (session_id)
WHERE age = 1 AND row.state = 'pending'
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
