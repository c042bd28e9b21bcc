SELECT
    session_id, kind AS category, contract, source_path, detail, detected_at
FROM notices
WHERE (:session IS NULL OR session_id = :session)
  AND (:category IS NULL OR kind = :category)
  AND (:since IS NULL OR unixepoch(detected_at, 'subsec') >= :since)
  AND (:until IS NULL OR unixepoch(detected_at, 'subsec') <= :until)
ORDER BY unixepoch(detected_at, 'subsec') DESC, session_id, source_path
LIMIT :limit
