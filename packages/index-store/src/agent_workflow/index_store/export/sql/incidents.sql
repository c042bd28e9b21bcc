SELECT * FROM incident_events
