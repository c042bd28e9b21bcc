-- A run's time is when it started, else when it was created.
SELECT
    session_id, index_state, durable_status, executor_result, attempt_classification, evaluation_state, score_verdict,
    executor, model, interactive, agent_name, agent_class, tier, ticket_id, pack_id, workflow_id, workflow_node_id,
    retry_of_run_id, created_at, started_at, finished_at, exit_code, failure_category, disposition,
    completion_result, policy_result, acceptance_eligible,
    open_incident_count, last_open_incident_at, pending_permission_count, last_health_at,
    workdir, source_revision, branch, dirty_at_launch,
    storage_class, source_dir, launch_schema, evidence_complete, final_receipt_sha256, index_error,
    source_fingerprint, indexed_at, adw_id, trace_database, session_directory,
    (SELECT count(*) FROM events WHERE events.session_id = run_overview.session_id) AS journal_record_count,
    session_id IN (SELECT session_id FROM superseded_runs) AS superseded
FROM run_overview
LEFT JOIN run_traces USING (session_id)
WHERE (:session IS NULL OR session_id = :session)
  AND (:state IS NULL OR durable_status = :state OR index_state = :state)
  AND (:category IS NULL OR failure_category = :category)
  AND (:executor IS NULL OR executor = :executor)
  AND (:model IS NULL OR model = :model)
  AND (:pack IS NULL OR pack_id = :pack)
  AND (:since IS NULL OR unixepoch(coalesce(started_at, created_at), 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(coalesce(started_at, created_at), 'subsec') <= :until)
ORDER BY unixepoch(coalesce(started_at, created_at), 'subsec') DESC, session_id
LIMIT :limit
