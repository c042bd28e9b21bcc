SELECT
    repair_id, source_session_id, validation_result, source_mutation_verified, created_at, actor,
    adapter_id, adapter_version, adapter_sha256, source_artifact_path, source_artifact_sha256,
    source_final_receipt_sha256, canonical_sha256, repair_receipt_sha256, repair_dir, indexed_at
FROM evidence_repairs
WHERE (:session IS NULL OR source_session_id = :session)
  AND (:since IS NULL OR unixepoch(created_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(created_at, 'subsec') <= :until)
ORDER BY unixepoch(created_at, 'subsec') DESC, repair_id
LIMIT :limit
