SELECT
    notices.*, kind AS category,
    text_digest(session_id, source_path, kind, contract, detail) AS source_digest,
    NULL AS partition_time
FROM notices
