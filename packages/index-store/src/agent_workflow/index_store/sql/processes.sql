SELECT
    session_id, row.recorded_at, row.error_category, row.exit_code, row.returncode, row.signal, row.timed_out, row.cancelled,
    row.duration_seconds, row.stdout_bytes, row.stderr_bytes, row.stdout_truncated, row.stderr_truncated,
    row.resolved_executable, row.executable_sha256, row.runner_pid, row.executor_pid,
    runs.executor, runs.model, runs.pack_id,
    runs.storage_class, runs.source_dir, row.source_sha256, runs.indexed_at
FROM process_results AS row
JOIN runs USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:category IS NULL OR row.error_category = :category)
  AND (:executor IS NULL OR runs.executor = :executor)
  AND (:model IS NULL OR runs.model = :model)
  AND (:pack IS NULL OR runs.pack_id = :pack)
  AND (:since IS NULL OR unixepoch(row.recorded_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(row.recorded_at, 'subsec') <= :until)
ORDER BY unixepoch(row.recorded_at, 'subsec') DESC, session_id
LIMIT :limit
