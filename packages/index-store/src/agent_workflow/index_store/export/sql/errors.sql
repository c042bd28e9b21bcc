SELECT
    index_errors.*,
    text_digest(session_id, source_path, category, detail) AS source_digest,
    NULL AS partition_time
FROM index_errors
