SELECT * FROM permission_events
