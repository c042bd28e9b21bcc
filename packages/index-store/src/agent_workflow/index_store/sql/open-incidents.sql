-- Incidents whose latest record is open, as run_overview counts them: order within a journal decides, not the clock.
WITH latest AS (
    SELECT *, row_number() OVER (
        PARTITION BY session_id, incident_id ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM incident_events
)
SELECT
    session_id, row.recorded_at, row.category, row.severity, row.state, row.summary, row.incident_id, row.fingerprint,
    runs.executor, runs.model, runs.pack_id,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM latest AS row
JOIN runs USING (session_id)
WHERE age = 1 AND row.state = 'open'
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
