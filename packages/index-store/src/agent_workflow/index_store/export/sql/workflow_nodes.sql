SELECT
    node.*, workflows.owner_run_id, workflows.pack_id,
    (
        SELECT group_concat(source_node_id, ' ') FROM workflow_edges
        WHERE workflow_edges.workflow_id = node.workflow_id AND target_node_id = node.node_id
    ) AS dependencies,
    coalesce(run_digest(owner_run_id), runs.source_fingerprint) AS source_digest,
    coalesce(runs.started_at, runs.created_at) AS run_at, NULL AS partition_time
FROM workflow_nodes AS node
JOIN workflows ON workflows.workflow_id = node.workflow_id
JOIN runs ON runs.session_id = workflows.owner_run_id
