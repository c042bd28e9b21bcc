-- Where the trace of a recorded workflow lies, so that a run leads to its trace and back.

CREATE TABLE run_traces (
    session_id TEXT PRIMARY KEY REFERENCES runs (session_id) ON DELETE CASCADE,
    adw_id TEXT NOT NULL,
    trace_database TEXT NOT NULL,
    session_directory TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX run_traces_by_session ON run_traces (adw_id);
CREATE INDEX run_traces_by_database ON run_traces (trace_database);
