SELECT
    record.*, runs.storage_class, runs.source_dir,
    CASE WHEN record.recorded_at IS NULL THEN coalesce(runs.started_at, runs.created_at) END AS partition_time
FROM health_samples AS record
JOIN runs USING (session_id)
