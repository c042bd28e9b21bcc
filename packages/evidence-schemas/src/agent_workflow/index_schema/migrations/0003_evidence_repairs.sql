-- Verified supplements to sealed runs. A repair never changes a column of runs.

CREATE TABLE evidence_repairs (
    repair_id TEXT PRIMARY KEY,
    source_session_id TEXT NOT NULL REFERENCES runs (session_id) ON DELETE CASCADE,
    source_final_receipt_sha256 TEXT NOT NULL,
    source_artifact_path TEXT NOT NULL,
    source_artifact_sha256 TEXT NOT NULL,
    adapter_id TEXT NOT NULL,
    adapter_version TEXT NOT NULL,
    adapter_sha256 TEXT NOT NULL,
    canonical_sha256 TEXT NOT NULL,
    validation_result TEXT NOT NULL,
    source_mutation_verified INTEGER NOT NULL,
    repair_receipt_sha256 TEXT NOT NULL,
    repair_dir TEXT NOT NULL,
    created_at TEXT,
    actor TEXT,
    indexed_at TEXT NOT NULL
);
