-- The dataset of `agent-workflow index export` in Spark SQL: a view for each kind of question.
--   sed 's#@DATASET@#/srv/fleet#g' spark.sql > views.sql; spark-sql -i views.sql
-- A view that finds no file fails when it is made: no host has such rows yet, and its statement can be left out.

-- Else a host called 0123 would be the number 123.
SET spark.sql.sources.partitionColumnTypeInference.enabled = false;
-- Policies may differ from host to host.
SET spark.sql.parquet.mergeSchema = true;

CREATE OR REPLACE TEMPORARY VIEW manifests USING json OPTIONS (path '@DATASET@/manifests/*/manifest.json');

-- Files that a manifest names. Others are leftovers, or belong to an export that has not ended.
CREATE OR REPLACE TEMPORARY VIEW parts AS
SELECT host AS part_host, part.table AS part_table, concat('part-', part.sha256, '.parquet') AS part_file
FROM (SELECT host, explode(parts) AS part FROM manifests);

CREATE OR REPLACE TEMPORARY VIEW runs AS
SELECT files.* FROM parquet.`@DATASET@/table=runs/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'runs' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW incidents AS
SELECT files.* FROM parquet.`@DATASET@/table=incidents/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'incidents' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW permissions AS
SELECT files.* FROM parquet.`@DATASET@/table=permissions/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'permissions' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW workflows AS
SELECT files.* FROM parquet.`@DATASET@/table=workflows/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'workflows' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW workflow_nodes AS
SELECT files.* FROM parquet.`@DATASET@/table=workflow_nodes/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'workflow_nodes' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW errors AS
SELECT files.* FROM parquet.`@DATASET@/table=errors/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'errors' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW repairs AS
SELECT files.* FROM parquet.`@DATASET@/table=repairs/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'repairs' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW events AS
SELECT files.* FROM parquet.`@DATASET@/table=events/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'events' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW health AS
SELECT files.* FROM parquet.`@DATASET@/table=health/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'health' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW remediations AS
SELECT files.* FROM parquet.`@DATASET@/table=remediations/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'remediations' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW metrics AS
SELECT files.* FROM parquet.`@DATASET@/table=metrics/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'metrics' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW processes AS
SELECT files.* FROM parquet.`@DATASET@/table=processes/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'processes' AND part_host = files.host AND part_file = files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW notices AS
SELECT files.* FROM parquet.`@DATASET@/table=notices/schema=v1` AS files
LEFT SEMI JOIN parts ON part_table = 'notices' AND part_host = files.host AND part_file = files._metadata.file_name;

-- A row for each host; sum the counts, or weigh the averages by them, for the whole fleet.
CREATE OR REPLACE TEMPORARY VIEW attempts AS
SELECT
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state,
    count(*) AS run_count,
    count(CASE WHEN acceptance_eligible = 1 THEN 1 END) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current' AND coalesce(superseded, 0) = 0
GROUP BY
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state;

CREATE OR REPLACE TEMPORARY VIEW performance AS
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
