SELECT
    session_id, row.stage, runs.executor, runs.model, runs.pack_id,
    row.input_tokens, row.cached_input_tokens, row.output_tokens, row.reasoning_output_tokens, row.provider_total_tokens,
    row.provider_billed_cost, row.local_estimated_cost, row.currency,
    row.elapsed_seconds, row.first_output_latency_seconds, row.retry_count,
    row.steer_count, row.steer_acknowledged_count, row.steer_pending_count,
    coalesce(runs.started_at, runs.created_at) AS run_at,
    runs.storage_class, runs.source_dir, row.source_sha256, runs.indexed_at,
    session_id IN (SELECT session_id FROM superseded_runs) AS superseded
FROM execution_metrics AS row
JOIN runs USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:executor IS NULL OR runs.executor = :executor)
  AND (:model IS NULL OR runs.model = :model)
  AND (:pack IS NULL OR runs.pack_id = :pack)
  AND (:since IS NULL OR unixepoch(coalesce(runs.started_at, runs.created_at), 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(coalesce(runs.started_at, runs.created_at), 'subsec') <= :until)
ORDER BY unixepoch(run_at, 'subsec') DESC, session_id, row.stage
LIMIT :limit
