SELECT
    session_id, row.recorded_at, row.state, row.operation, row.resource_class, row.target, row.requested_access,
    row.principal, row.source, row.policy_rule_id, row.remediation_class, row.event_id, row.evidence_sha256,
    runs.executor, runs.model, runs.pack_id,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM permission_events AS row
JOIN runs USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:state IS NULL OR row.state = :state)
  AND (:executor IS NULL OR runs.executor = :executor)
  AND (:model IS NULL OR runs.model = :model)
  AND (:pack IS NULL OR runs.pack_id = :pack)
  AND (:since IS NULL OR unixepoch(row.recorded_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(row.recorded_at, 'subsec') <= :until)
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
