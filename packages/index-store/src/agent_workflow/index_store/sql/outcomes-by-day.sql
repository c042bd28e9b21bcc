-- Each run of an imported session tells all of it: one that a later run took the place of does not count again.
SELECT
    date(coalesce(started_at, created_at)) AS day,
    coalesce(durable_status, 'unknown') AS status,
    count(*) AS run_count
FROM runs
WHERE index_state = 'current'
  AND date(coalesce(started_at, created_at)) IS NOT NULL
  AND session_id NOT IN (
      SELECT retry_of_run_id FROM runs
      WHERE launch_schema = 'agent-workflow/traced-launch-contract/v2' AND retry_of_run_id IS NOT NULL
  )
  AND (:since IS NULL OR unixepoch(coalesce(started_at, created_at), 'subsec') >= :since)
GROUP BY day, status
ORDER BY day DESC, status
