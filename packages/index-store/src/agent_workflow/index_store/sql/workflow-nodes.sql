SELECT
    node.workflow_id, node.node_id, node.state, node.kind, node.ticket_id, node.configured_session_id, node.bound_run_id,
    node.attempt, node.retry_of_run_id, node.executor, node.model, node.interactive, node.terminal_reason,
    (
        SELECT group_concat(source_node_id, ' ') FROM workflow_edges
        WHERE workflow_edges.workflow_id = node.workflow_id AND target_node_id = node.node_id
    ) AS dependencies,
    workflows.owner_run_id, workflows.pack_id, workflows.indexed_at
FROM workflow_nodes AS node
JOIN workflows ON workflows.workflow_id = node.workflow_id
JOIN runs ON runs.session_id = workflows.owner_run_id
WHERE (:session IS NULL OR node.bound_run_id = :session OR node.configured_session_id = :session
       OR workflows.owner_run_id = :session)
  AND (:state IS NULL OR node.state = :state)
  AND (:executor IS NULL OR node.executor = :executor)
  AND (:model IS NULL OR node.model = :model)
  AND (:pack IS NULL OR workflows.pack_id = :pack)
ORDER BY unixepoch(coalesce(runs.started_at, runs.created_at), 'subsec') DESC, node.workflow_id, node.node_id
LIMIT :limit
