SELECT
    record.*,
    (
        SELECT incident_events.category FROM incident_events
        WHERE incident_events.session_id = record.session_id AND incident_events.incident_id = record.incident_id
        ORDER BY source_sequence DESC, recorded_at DESC, relative_path DESC
        LIMIT 1
    ) AS category
FROM remediation_events AS record
