-- A rate counts what has ended; durations are those of completed runs, of which the clock was not stepped back.
WITH counted AS (
    SELECT
        executor, model, acceptance_eligible = 1 AS accepted,
        durable_status IN ('completed', 'failed', 'interrupted', 'killed') AS ended,
        durable_status = 'completed' AS completed,
        round(unixepoch(finished_at, 'subsec') - unixepoch(started_at, 'subsec'), 3) AS seconds
    FROM runs
    WHERE index_state = 'current'
      AND session_id NOT IN (SELECT session_id FROM superseded_runs)
      AND (:since IS NULL OR unixepoch(coalesce(started_at, created_at), 'subsec') >= :since)
),
ranked AS (
    SELECT
        executor, model, seconds,
        row_number() OVER (PARTITION BY executor, model ORDER BY seconds) - 1 AS place,
        count(*) OVER (PARTITION BY executor, model) AS samples
    FROM counted
    WHERE completed AND seconds >= 0
),
durations AS (
    SELECT
        executor, model,
        max(seconds) FILTER (WHERE place = samples / 2) AS median_seconds,
        max(seconds) FILTER (WHERE place = samples * 9 / 10) AS p90_seconds
    FROM ranked
    GROUP BY executor, model
),
grouped AS (
    SELECT
        executor, model,
        count(*) AS run_count,
        count(*) FILTER (WHERE ended) AS ended_count,
        count(*) FILTER (WHERE completed) AS completed_count,
        count(*) FILTER (WHERE accepted) AS accepted_count
    FROM counted
    GROUP BY executor, model
)
SELECT
    grouped.*,
    CAST(completed_count AS REAL) / nullif(ended_count, 0) AS success_rate,
    median_seconds,
    p90_seconds
FROM grouped
LEFT JOIN durations ON durations.executor IS grouped.executor AND durations.model IS grouped.model
ORDER BY run_count DESC, executor, model
