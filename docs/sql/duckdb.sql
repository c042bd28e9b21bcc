-- The dataset of `agent-workflow index export` in DuckDB: a view for each kind of question.
--   sed 's#@DATASET@#/srv/fleet#g' duckdb.sql | duckdb fleet.db
-- A view that finds no file fails when it is made: no host has such rows yet, and its statement can be left out.

CREATE OR REPLACE VIEW manifests AS
SELECT * FROM read_json('@DATASET@/manifests/*/manifest.json', format = 'newline_delimited', maximum_object_size = 67108864);

-- Files that a manifest names. Others are leftovers, or belong to an export that has not ended.
CREATE OR REPLACE VIEW parts AS
SELECT '@DATASET@/' || part.path AS path
FROM (SELECT unnest(parts) AS part FROM manifests);

CREATE OR REPLACE VIEW runs AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=runs/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW incidents AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=incidents/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW permissions AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=permissions/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW workflows AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=workflows/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW workflow_nodes AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=workflow_nodes/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW errors AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=errors/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW repairs AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=repairs/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW events AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=events/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW health AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=health/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW remediations AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=remediations/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW metrics AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=metrics/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW processes AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=processes/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW notices AS
SELECT * EXCLUDE (filename)
FROM read_parquet(
    '@DATASET@/table=notices/schema=v1/*/*/*.parquet',
    hive_partitioning = true, hive_types = {'host': VARCHAR, 'date': DATE}, union_by_name = true, filename = true
)
WHERE filename IN (SELECT path FROM parts);

-- A row for each host; sum the counts, or weigh the averages by them, for the whole fleet.
CREATE OR REPLACE VIEW attempts AS
SELECT
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state,
    count(*) AS run_count,
    count(CASE WHEN acceptance_eligible = 1 THEN 1 END) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current' AND coalesce(superseded, 0) = 0
GROUP BY
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state;

CREATE OR REPLACE VIEW performance AS
SELECT
    host, executor, model, stage, sample_count, avg_elapsed_seconds, avg_first_output_latency_seconds,
    avg_input_tokens, avg_output_tokens,
    provider_billed_sample_count,
    CASE WHEN provider_billed_currency IS NOT NULL THEN billed_average END AS avg_provider_billed_cost,
    provider_billed_currency,
    local_estimated_sample_count,
    CASE WHEN local_estimated_currency IS NOT NULL THEN estimated_average END AS avg_local_estimated_cost,
    local_estimated_currency
FROM (
    SELECT
        host, executor, model, stage,
        count(*) AS sample_count,
        avg(elapsed_seconds) AS avg_elapsed_seconds,
        avg(first_output_latency_seconds) AS avg_first_output_latency_seconds,
        avg(input_tokens) AS avg_input_tokens,
        avg(output_tokens) AS avg_output_tokens,
        count(provider_billed_cost) AS provider_billed_sample_count,
        avg(CAST(provider_billed_cost AS DOUBLE)) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(CAST(local_estimated_cost AS DOUBLE)) AS estimated_average,
        CASE WHEN count(DISTINCT estimated_in) = 1 THEN nullif(max(estimated_in), '') END AS local_estimated_currency
    FROM (
        SELECT
            *,
            CASE WHEN provider_billed_cost IS NOT NULL THEN coalesce(currency, '') END AS billed_in,
            CASE WHEN local_estimated_cost IS NOT NULL THEN coalesce(currency, '') END AS estimated_in
        FROM metrics
        WHERE coalesce(superseded, 0) = 0
    ) AS samples
    GROUP BY host, executor, model, stage
) AS grouped;
