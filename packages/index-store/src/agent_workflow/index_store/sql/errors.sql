SELECT
    error_id, session_id, category, source_path, detail, detected_at
FROM index_errors
WHERE (:session IS NULL OR session_id = :session)
  AND (:category IS NULL OR category = :category)
  AND (:since IS NULL OR unixepoch(detected_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(detected_at, 'subsec') <= :until)
ORDER BY unixepoch(detected_at, 'subsec') DESC, error_id DESC
LIMIT :limit
