SELECT
    session_id, row.recorded_at, row.runner_alive, row.executor_alive, row.executor_state,
    row.cpu_user_seconds, row.cpu_system_seconds, row.rss_bytes, row.peak_rss_bytes, row.read_bytes, row.write_bytes,
    row.open_fd_count, row.child_process_count, row.host_load_1m, row.host_available_memory_bytes, row.disk_free_bytes,
    row.output_bytes, row.stderr_bytes, row.executor_event_bytes, row.terminal_event_bytes,
    row.last_semantic_progress_at, row.seconds_since_semantic_progress, row.last_semantic_progress_source,
    runs.storage_class, runs.source_dir, row.relative_path, row.source_sequence, row.record_sha256, runs.indexed_at
FROM health_samples AS row
JOIN runs USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:state IS NULL OR row.executor_state = :state)
  AND (:since IS NULL OR unixepoch(row.recorded_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(row.recorded_at, 'subsec') <= :until)
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id, row.relative_path, row.source_sequence DESC
LIMIT :limit
