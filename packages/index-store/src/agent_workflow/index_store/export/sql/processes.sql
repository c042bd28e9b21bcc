SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    NULL AS partition_time
FROM process_results AS record
JOIN runs USING (session_id)
