SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    (
        SELECT incident_events.category FROM incident_events
        WHERE incident_events.session_id = record.session_id AND incident_events.incident_id = record.incident_id
        LIMIT 1
    ) AS category,
    CASE WHEN record.recorded_at IS NULL THEN coalesce(runs.started_at, runs.created_at) END AS partition_time
FROM remediation_events AS record
JOIN runs USING (session_id)
