-- The dataset of `agent-workflow index export` in Spark SQL: a view for each kind of question.
--   sed 's#@DATASET@#/srv/fleet#g' spark.sql > views.sql; spark-sql -i views.sql
-- A view that finds no file fails when it is made: no host has such rows yet, and its statement can be left out.

-- Else a host called 0123 would be the number 123.
SET spark.sql.sources.partitionColumnTypeInference.enabled = false;

CREATE OR REPLACE TEMPORARY VIEW manifests USING json OPTIONS (path '@DATASET@/manifests/*/manifest.json');

-- Files that a manifest names. Others are leftovers, or belong to an export that has not ended.
CREATE OR REPLACE TEMPORARY VIEW parts AS
SELECT host AS part_host, part.table AS part_table, concat('part-', part.sha256, '.parquet') AS part_file
FROM (SELECT host, explode(parts) AS part FROM manifests);

CREATE OR REPLACE TEMPORARY VIEW runs_files
USING parquet OPTIONS (path '@DATASET@/table=runs/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW runs AS
SELECT /*+ BROADCAST(parts) */ runs_files.*
FROM runs_files
LEFT SEMI JOIN parts ON part_table = 'runs' AND part_host = host AND part_file = runs_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW incidents_files
USING parquet OPTIONS (path '@DATASET@/table=incidents/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW incidents AS
SELECT /*+ BROADCAST(parts) */ incidents_files.*
FROM incidents_files
LEFT SEMI JOIN parts ON part_table = 'incidents' AND part_host = host AND part_file = incidents_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW permissions_files
USING parquet OPTIONS (path '@DATASET@/table=permissions/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW permissions AS
SELECT /*+ BROADCAST(parts) */ permissions_files.*
FROM permissions_files
LEFT SEMI JOIN parts ON part_table = 'permissions' AND part_host = host AND part_file = permissions_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW workflows_files
USING parquet OPTIONS (path '@DATASET@/table=workflows/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW workflows AS
SELECT /*+ BROADCAST(parts) */ workflows_files.*
FROM workflows_files
LEFT SEMI JOIN parts ON part_table = 'workflows' AND part_host = host AND part_file = workflows_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW workflow_nodes_files
USING parquet OPTIONS (path '@DATASET@/table=workflow_nodes/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW workflow_nodes AS
SELECT /*+ BROADCAST(parts) */ workflow_nodes_files.*
FROM workflow_nodes_files
LEFT SEMI JOIN parts ON part_table = 'workflow_nodes' AND part_host = host AND part_file = workflow_nodes_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW errors_files
USING parquet OPTIONS (path '@DATASET@/table=errors/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW errors AS
SELECT /*+ BROADCAST(parts) */ errors_files.*
FROM errors_files
LEFT SEMI JOIN parts ON part_table = 'errors' AND part_host = host AND part_file = errors_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW repairs_files
USING parquet OPTIONS (path '@DATASET@/table=repairs/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW repairs AS
SELECT /*+ BROADCAST(parts) */ repairs_files.*
FROM repairs_files
LEFT SEMI JOIN parts ON part_table = 'repairs' AND part_host = host AND part_file = repairs_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW events_files
USING parquet OPTIONS (path '@DATASET@/table=events/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW events AS
SELECT /*+ BROADCAST(parts) */ events_files.*
FROM events_files
LEFT SEMI JOIN parts ON part_table = 'events' AND part_host = host AND part_file = events_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW health_files
USING parquet OPTIONS (path '@DATASET@/table=health/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW health AS
SELECT /*+ BROADCAST(parts) */ health_files.*
FROM health_files
LEFT SEMI JOIN parts ON part_table = 'health' AND part_host = host AND part_file = health_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW remediations_files
USING parquet OPTIONS (path '@DATASET@/table=remediations/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW remediations AS
SELECT /*+ BROADCAST(parts) */ remediations_files.*
FROM remediations_files
LEFT SEMI JOIN parts ON part_table = 'remediations' AND part_host = host AND part_file = remediations_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW metrics_files
USING parquet OPTIONS (path '@DATASET@/table=metrics/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW metrics AS
SELECT /*+ BROADCAST(parts) */ metrics_files.*
FROM metrics_files
LEFT SEMI JOIN parts ON part_table = 'metrics' AND part_host = host AND part_file = metrics_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW processes_files
USING parquet OPTIONS (path '@DATASET@/table=processes/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW processes AS
SELECT /*+ BROADCAST(parts) */ processes_files.*
FROM processes_files
LEFT SEMI JOIN parts ON part_table = 'processes' AND part_host = host AND part_file = processes_files._metadata.file_name;

CREATE OR REPLACE TEMPORARY VIEW notices_files
USING parquet OPTIONS (path '@DATASET@/table=notices/schema=v1', mergeSchema 'true');
CREATE OR REPLACE TEMPORARY VIEW notices AS
SELECT /*+ BROADCAST(parts) */ notices_files.*
FROM notices_files
LEFT SEMI JOIN parts ON part_table = 'notices' AND part_host = host AND part_file = notices_files._metadata.file_name;

-- A row for each host; sum the counts, or weigh the averages by them, for the whole fleet.
CREATE OR REPLACE TEMPORARY VIEW attempts AS
SELECT
    host, attempt_classification, executor_result, completion_result, policy_result, score_verdict, evaluation_state,
    count(*) AS run_count,
    count(CASE WHEN acceptance_eligible = 1 THEN 1 END) AS acceptance_eligible_count
FROM runs
WHERE index_state = 'current'
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
    ) AS samples
    GROUP BY host, executor, model, stage
) AS grouped;
