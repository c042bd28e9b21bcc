SELECT *
FROM attempt_summary
WHERE (:state IS NULL OR evaluation_state = :state)
  AND (:category IS NULL OR attempt_classification = :category)
ORDER BY run_count DESC, attempt_classification, executor_result, completion_result, policy_result, score_verdict
LIMIT :limit
