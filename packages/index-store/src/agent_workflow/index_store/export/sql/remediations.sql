WITH told AS (
    SELECT session_id, incident_id, category, row_number() OVER (
        PARTITION BY session_id, incident_id ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
    ) AS age
    FROM incident_events
),
latest AS (
    SELECT session_id, incident_id, category FROM told WHERE age = 1
)
SELECT record.*, latest.category
FROM remediation_events AS record
LEFT JOIN latest USING (session_id, incident_id)
