SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    coalesce(runs.started_at, runs.created_at) AS run_at,
    NULL AS partition_time
FROM execution_metrics AS record
JOIN runs USING (session_id)
