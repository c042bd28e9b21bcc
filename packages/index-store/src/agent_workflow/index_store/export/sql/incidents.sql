SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    record.record_sha256 AS source_digest,
    coalesce(record.recorded_at, runs.started_at, runs.created_at) AS partition_time
FROM incident_events AS record
JOIN runs USING (session_id)
