SELECT *
FROM performance_summary
WHERE (:executor IS NULL OR executor = :executor)
  AND (:model IS NULL OR model = :model)
ORDER BY sample_count DESC, executor, model, stage
LIMIT :limit
