SELECT
    record.*, runs.executor, runs.model, runs.pack_id, runs.storage_class, runs.source_dir,
    record.source_sha256 AS source_digest,
    record.recorded_at AS partition_time
FROM process_results AS record
JOIN runs USING (session_id)
