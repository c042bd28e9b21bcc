-- Runs that count in no sum. Each run of an imported session tells all of it, so the one that a later run took the place
-- of would count twice. A run of a recorded workflow tells what is new, and counts beside the one it tries again. A run
-- in error says nothing of itself, so it takes no other's place.

CREATE VIEW superseded_runs AS
SELECT DISTINCT retry_of_run_id AS session_id
FROM runs
WHERE launch_schema = 'agent-workflow/traced-launch-contract/v2' AND retry_of_run_id IS NOT NULL;

-- Billed and estimated money stay apart; an average exists only where every sample names the same currency.
DROP VIEW performance_summary;
CREATE VIEW performance_summary AS
WITH samples AS (
    SELECT
        runs.executor, runs.model, execution_metrics.*,
        CASE WHEN provider_billed_cost IS NOT NULL THEN coalesce(currency, '') END AS billed_in,
        CASE WHEN local_estimated_cost IS NOT NULL THEN coalesce(currency, '') END AS estimated_in
    FROM execution_metrics JOIN runs ON runs.session_id = execution_metrics.session_id
    WHERE runs.session_id NOT IN (SELECT session_id FROM superseded_runs)
),
grouped AS (
    SELECT
        executor,
        model,
        stage,
        count(*) AS sample_count,
        avg(elapsed_seconds) AS avg_elapsed_seconds,
        avg(first_output_latency_seconds) AS avg_first_output_latency_seconds,
        avg(input_tokens) AS avg_input_tokens,
        avg(output_tokens) AS avg_output_tokens,
        count(provider_billed_cost) AS provider_billed_sample_count,
        avg(provider_billed_cost) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(local_estimated_cost) AS estimated_average,
        CASE WHEN count(DISTINCT estimated_in) = 1 THEN nullif(max(estimated_in), '') END AS local_estimated_currency
    FROM samples
    GROUP BY executor, model, stage
)
SELECT
    executor,
    model,
    stage,
    sample_count,
    avg_elapsed_seconds,
    avg_first_output_latency_seconds,
    avg_input_tokens,
    avg_output_tokens,
    provider_billed_sample_count,
    CASE WHEN provider_billed_currency IS NOT NULL THEN billed_average END AS avg_provider_billed_cost,
    provider_billed_currency,
    local_estimated_sample_count,
    CASE WHEN local_estimated_currency IS NOT NULL THEN estimated_average END AS avg_local_estimated_cost,
    local_estimated_currency
FROM grouped;

DROP VIEW attempt_summary;
CREATE VIEW attempt_summary AS
SELECT
    attempt_classification,
    executor_result,
    completion_result,
    policy_result,
    score_verdict,
    evaluation_state,
    count(*) AS run_count,
    count(*) FILTER (WHERE acceptance_eligible = 1) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current' AND session_id NOT IN (SELECT session_id FROM superseded_runs)
GROUP BY attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state;
