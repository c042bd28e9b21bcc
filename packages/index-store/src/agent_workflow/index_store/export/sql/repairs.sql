SELECT
    evidence_repairs.*,
    CASE WHEN evidence_repairs.created_at IS NULL THEN coalesce(runs.started_at, runs.created_at) END AS partition_time
FROM evidence_repairs
JOIN runs ON runs.session_id = source_session_id
