SELECT
    runs.*, adw_id, trace_database, session_directory,
    coalesce(run_digest(session_id), source_fingerprint) AS source_digest,
    coalesce(started_at, created_at) AS partition_time,
    (SELECT count(*) FROM events WHERE events.session_id = runs.session_id) AS journal_record_count,
    session_id IN (SELECT session_id FROM superseded_runs) AS superseded
FROM run_overview AS runs
LEFT JOIN run_traces USING (session_id)
