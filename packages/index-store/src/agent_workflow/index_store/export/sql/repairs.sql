SELECT
    evidence_repairs.*,
    repair_receipt_sha256 AS source_digest,
    coalesce(evidence_repairs.created_at, runs.started_at, runs.created_at) AS partition_time
FROM evidence_repairs
JOIN runs ON runs.session_id = source_session_id
