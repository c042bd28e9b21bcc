SELECT
    date(coalesce(started_at, created_at)) AS day,
    coalesce(durable_status, 'unknown') AS status,
    count(*) AS run_count
FROM runs
WHERE index_state = 'current'
  AND date(coalesce(started_at, created_at)) IS NOT NULL
  AND session_id NOT IN (SELECT session_id FROM superseded_runs)
  AND (:since IS NULL OR unixepoch(coalesce(started_at, created_at), 'subsec') >= :since)
GROUP BY day, status
ORDER BY day DESC, status
