SELECT
    session_id, row.recorded_at, row.schema_id, row.event_kind, row.category, row.state, row.outcome, row.actor,
    row.summary, row.event_id, row.correlation_id, row.fingerprint, row.content_sha256,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM events AS row
JOIN runs USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:state IS NULL OR row.state = :state)
  AND (:category IS NULL OR row.category = :category)
  AND (:since IS NULL OR unixepoch(row.recorded_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(row.recorded_at, 'subsec') <= :until)
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
