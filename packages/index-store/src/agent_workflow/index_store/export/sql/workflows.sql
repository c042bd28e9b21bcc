SELECT
    workflows.*, runs.storage_class, runs.source_dir,
    (SELECT count(*) FROM workflow_nodes WHERE workflow_nodes.workflow_id = workflows.workflow_id) AS node_count,
    coalesce(run_digest(owner_run_id), runs.source_fingerprint) AS source_digest,
    coalesce(runs.started_at, runs.created_at) AS run_at, NULL AS partition_time
FROM workflows
JOIN runs ON runs.session_id = workflows.owner_run_id
