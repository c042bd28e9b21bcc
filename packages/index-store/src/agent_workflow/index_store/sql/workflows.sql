SELECT
    workflows.workflow_id, workflow_state, owner_run_id, workflows.pack_id, event_count,
    (SELECT count(*) FROM workflow_nodes WHERE workflow_nodes.workflow_id = workflows.workflow_id) AS node_count,
    snapshot_sha256, runs.storage_class, runs.source_dir, workflows.indexed_at
FROM workflows
JOIN runs ON runs.session_id = workflows.owner_run_id
WHERE (:session IS NULL OR owner_run_id = :session)
  AND (:state IS NULL OR workflow_state = :state)
  AND (:pack IS NULL OR workflows.pack_id = :pack)
ORDER BY unixepoch(coalesce(runs.started_at, runs.created_at), 'subsec') DESC, workflows.workflow_id
LIMIT :limit
