-- The category is that of the incident as its latest record tells it, the order being that of run_overview.
WITH told AS (
    SELECT session_id, incident_id, category, row_number() OVER (
        PARTITION BY session_id, incident_id ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM incident_events
),
latest AS (
    SELECT session_id, incident_id, category FROM told WHERE age = 1
)
SELECT
    session_id, row.recorded_at, row.rule_id, row.action, row.outcome, row.incident_id, row.event_id, row.reason_sha256,
    latest.category,
    runs.executor, runs.model, runs.pack_id,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM remediation_events AS row
JOIN runs USING (session_id)
LEFT JOIN latest USING (session_id, incident_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:category IS NULL OR latest.category = :category)
  AND (:executor IS NULL OR runs.executor = :executor)
  AND (:model IS NULL OR runs.model = :model)
  AND (:pack IS NULL OR runs.pack_id = :pack)
  AND (:since IS NULL OR unixepoch(row.recorded_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(row.recorded_at, 'subsec') <= :until)
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
