SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    (
        SELECT incident_events.category FROM incident_events
        WHERE incident_events.session_id = record.session_id AND incident_events.incident_id = record.incident_id
        LIMIT 1
    ) AS category,
    record.record_sha256 AS source_digest,
    coalesce(record.recorded_at, runs.started_at, runs.created_at) AS partition_time
FROM remediation_events AS record
JOIN runs USING (session_id)
