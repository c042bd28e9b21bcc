-- What runs cost, by day, executor, model and currency. The total of a run is what it cost; its other stages are parts
-- of that, and count only where there is no total.
WITH counted AS (
    SELECT
        session_id, runs.executor, runs.model, currency, input_tokens, output_tokens,
        provider_billed_cost, local_estimated_cost, date(coalesce(runs.started_at, runs.created_at)) AS day
    FROM execution_metrics
    JOIN runs USING (session_id)
    WHERE session_id NOT IN (SELECT session_id FROM superseded_runs)
      AND (:since IS NULL OR unixepoch(coalesce(runs.started_at, runs.created_at), 'subsec') >= :since)
      AND (stage = 'total' OR NOT EXISTS (
          SELECT 1 FROM execution_metrics AS whole
          WHERE whole.session_id = execution_metrics.session_id AND whole.stage = 'total'
      ))
)
SELECT
    day, executor, model, currency,
    count(DISTINCT session_id) AS run_count,
    sum(input_tokens) AS input_tokens,
    sum(output_tokens) AS output_tokens,
    -- To a trillionth: sums of binary fractions would show digits that nobody was billed.
    round(sum(provider_billed_cost), 12) AS provider_billed_cost,
    count(provider_billed_cost) AS provider_billed_sample_count,
    round(sum(local_estimated_cost), 12) AS local_estimated_cost,
    count(local_estimated_cost) AS local_estimated_sample_count
FROM counted
GROUP BY day, executor, model, currency
ORDER BY day DESC, executor, model, currency
