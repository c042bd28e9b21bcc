-- The dataset of `agent-workflow index export` in ClickHouse and chDB: a view for each kind of question.
--   sed 's#@DATASET@#/srv/fleet#g' clickhouse.sql > views.sql; clickhouse local --queries-file views.sql --interactive
-- On a server the path lies below user_files, or file(…) becomes s3(…).
-- A view that finds no file fails when it is made: no host has such rows yet, and its statement can be left out.

-- Host and day come from the path as text, whatever they look like; policies may differ from host to host.
SET use_hive_partitioning = 0;
SET schema_inference_mode = 'union';

CREATE OR REPLACE VIEW manifests AS
SELECT JSONExtractString(json, 'host') AS host, json
FROM file('@DATASET@/manifests/*/manifest.json', 'JSONAsString', 'json String');

-- Files that a manifest names. Others are leftovers, or belong to an export that has not ended.
CREATE OR REPLACE VIEW parts AS
SELECT concat('@DATASET@/', JSONExtractString(part, 'path')) AS path
FROM (SELECT arrayJoin(JSONExtractArrayRaw(json, 'parts')) AS part FROM manifests);

CREATE OR REPLACE VIEW runs AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=runs/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW incidents AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=incidents/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW permissions AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=permissions/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW workflows AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=workflows/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW workflow_nodes AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=workflow_nodes/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW errors AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=errors/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW repairs AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=repairs/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW events AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=events/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW health AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=health/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW remediations AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=remediations/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW metrics AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=metrics/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW processes AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=processes/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

CREATE OR REPLACE VIEW notices AS
SELECT *, extract(_path, '/host=([^/]+)/') AS host, toDate(extract(_path, '/date=([^/]+)/')) AS date
FROM file('@DATASET@/table=notices/schema=v1/*/*/*.parquet', 'Parquet')
WHERE _path IN (SELECT path FROM parts);

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
        avg(toFloat64(provider_billed_cost)) AS billed_average,
        CASE WHEN count(DISTINCT billed_in) = 1 THEN nullif(max(billed_in), '') END AS provider_billed_currency,
        count(local_estimated_cost) AS local_estimated_sample_count,
        avg(toFloat64(local_estimated_cost)) AS estimated_average,
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
