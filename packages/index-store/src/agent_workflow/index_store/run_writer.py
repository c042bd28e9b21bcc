"""The statements that replace, extend and remove the rows of one run: all SQL that writes the projection of runs."""

import json
import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import apsw

from agent_workflow.index_store.database import utc_now
from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.scanning import FileKind, RunScan
from agent_workflow.index_store.values import Row, Value

if TYPE_CHECKING:  # an unchanged sync only removes rows, and does not pay for the models
    from agent_workflow.index_store.document_rows import WorkflowRows
    from agent_workflow.index_store.documents import TracedLaunch
    from agent_workflow.index_store.journals import Checkpoint

JOURNAL_TABLES = ("events", "health_samples", "permission_events", "incident_events", "remediation_events")
_JOURNAL_INSERTS = {
    table: f"INSERT INTO {table} VALUES ({', '.join('?' * columns)})"  # noqa: S608 -- two constants
    for table, columns in zip(JOURNAL_TABLES, (16, 26, 16, 11, 11), strict=True)
}

_DOCUMENT_TABLES = ("process_results", "execution_metrics", "workflow_claims", "run_traces")

# What belongs to one run, children first.
_RUN_TABLES = (
    *JOURNAL_TABLES,
    "source_files",
    "journal_checkpoints",
    *_DOCUMENT_TABLES,
)

_DELETE_WORKFLOW_PARTS = (
    "DELETE FROM workflow_edges WHERE workflow_id IN (SELECT workflow_id FROM workflows WHERE owner_run_id = ?)",
    "DELETE FROM workflow_nodes WHERE workflow_id IN (SELECT workflow_id FROM workflows WHERE owner_run_id = ?)",
    "DELETE FROM workflows WHERE owner_run_id = ?",
)

RUN_COLUMNS = (
    "session_id",
    "source_dir",
    "storage_class",
    "index_state",
    "index_error",
    "source_fingerprint",
    "indexed_at",
    "evidence_complete",
    "final_receipt_sha256",
    "launch_schema",
    "ticket_id",
    "pack_id",
    "workflow_id",
    "workflow_node_id",
    "retry_of_run_id",
    "agent_name",
    "agent_class",
    "tier",
    "executor",
    "model",
    "interactive",
    "workdir",
    "source_revision",
    "branch",
    "dirty_at_launch",
    "created_at",
    "started_at",
    "finished_at",
    "durable_status",
    "disposition",
    "failure_category",
    "exit_code",
    "executor_result",
    "policy_result",
    "completion_result",
    "acceptance_eligible",
    "attempt_classification",
    "score_verdict",
    "evaluation_state",
)
_INSERT_RUN = (
    f"INSERT OR REPLACE INTO runs ({', '.join(RUN_COLUMNS)}) "  # noqa: S608 -- constants
    f"VALUES ({', '.join('?' * len(RUN_COLUMNS))})"
)


class Notice(NamedTuple):
    """Something worth telling that is no error."""

    source_path: str
    kind: str
    contract: str | None
    detail: str


class ReadSource(NamedTuple):
    """A source as it was read: a row of ``source_files`` in the making."""

    path: str
    kind: FileKind
    status: os.stat_result
    sha256: str
    record_count: int
    schema_ids: Collection[str]


class RunWriter:
    """Writes one run's rows over an open transaction of ``connection``."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def write_journal_rows(self, table: str, rows: list[Row]) -> None:
        """Append rows to a journal table."""
        self._connection.executemany(_JOURNAL_INSERTS[table], rows)

    def remove_run(self, session_id: str) -> None:
        """Remove everything of a run but its repairs' checkpoints, its errors and notices included."""
        self.clear(session_id)
        self._connection.execute("DELETE FROM evidence_repairs WHERE source_session_id = ?", (session_id,))
        self._connection.execute("DELETE FROM runs WHERE session_id = ?", (session_id,))

    def clear(self, session_id: str) -> None:
        """Remove a run's projected rows, notices and errors; its row in ``runs`` stays, to be replaced."""
        self._clear_tables(session_id, _RUN_TABLES)

    def clear_documents(self, session_id: str) -> None:
        """Remove what comes from documents, and the records of sources; journal rows and checkpoints stay."""
        self._clear_tables(session_id, (*_DOCUMENT_TABLES, "source_files"))

    def _clear_tables(self, session_id: str, tables: Sequence[str]) -> None:
        for statement in _DELETE_WORKFLOW_PARTS:
            self._connection.execute(statement, (session_id,))
        for table in (*tables, "notices", "index_errors"):
            self._connection.execute(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608

    def write_sources(self, session_id: str, sources: Sequence[ReadSource], indexed_at: str) -> None:
        """Record the sources as they were read."""
        self._connection.executemany(
            "INSERT INTO source_files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (
                    session_id,
                    path,
                    kind,
                    status.st_size,
                    status.st_mtime_ns,
                    sha256,
                    records,
                    json.dumps(sorted(schema_ids)),
                    indexed_at,
                )
                for path, kind, status, sha256, records, schema_ids in sources
            ],
        )

    def write_checkpoints(self, session_id: str, checkpoints: "Mapping[str, Checkpoint]") -> None:
        """Remember how far each journal has been projected; without any, the run is read whole next time."""
        self._connection.execute("DELETE FROM journal_checkpoints WHERE session_id = ?", (session_id,))
        self._connection.executemany(
            "INSERT INTO journal_checkpoints VALUES (?, ?, ?, ?, ?)",
            [(session_id, path, *checkpoint) for path, checkpoint in checkpoints.items()],
        )

    def write_process_result(self, row: Row) -> None:
        """Write the row of ``process_results``."""
        self._connection.execute(f"INSERT INTO process_results VALUES ({', '.join('?' * 18)})", row)  # noqa: S608

    def write_metrics(self, rows: list[Row]) -> None:
        """Write the rows of ``execution_metrics``."""
        self._connection.executemany(f"INSERT INTO execution_metrics VALUES ({', '.join('?' * 17)})", rows)  # noqa: S608

    def write_trace(self, session_id: str, launch: "TracedLaunch") -> None:
        """Write where the trace of a recorded workflow lies."""
        trace = launch.trace
        self._connection.execute(
            "INSERT INTO run_traces VALUES (?, ?, ?, ?)",
            (session_id, trace.adw_id, trace.database, trace.session_directory),
        )

    def claim_workflow(self, session_id: str, workflow_id: str) -> bool:
        """Claim a workflow for a run.

        Returns:
            True where the run is the first by name of all that hold the workflow's files, and so owns its rows.
        """
        connection = self._connection
        connection.execute("INSERT OR REPLACE INTO workflow_claims VALUES (?, ?)", (workflow_id, session_id))
        first = connection.execute(
            "SELECT min(session_id) FROM workflow_claims WHERE workflow_id = ?", (workflow_id,)
        ).get
        return bool(first == session_id)

    def write_workflow(self, workflow_id: str, rows: "WorkflowRows") -> None:
        """Replace the rows of a workflow, whoever owned them before."""
        connection = self._connection
        for table in ("workflow_edges", "workflow_nodes", "workflows"):
            connection.execute(f"DELETE FROM {table} WHERE workflow_id = ?", (workflow_id,))  # noqa: S608
        connection.execute(f"INSERT INTO workflows VALUES ({', '.join('?' * 7)})", rows.workflow)  # noqa: S608
        connection.executemany(f"INSERT INTO workflow_nodes VALUES ({', '.join('?' * 13)})", rows.nodes)  # noqa: S608
        connection.executemany("INSERT INTO workflow_edges VALUES (?, ?, ?)", rows.edges)

    def write_run(
        self,
        scan: RunScan,
        fingerprint: str,
        receipt_sha256: str | None,
        columns: Mapping[str, Value],
        indexed_at: str,
    ) -> None:
        """Write the row of a current run."""
        head: Row = (
            scan.session_id,
            scan.source_dir,
            scan.storage_class,
            "current",
            None,
            fingerprint,
            indexed_at,
            receipt_sha256 is not None,
            receipt_sha256,
        )
        rest = tuple(columns[name] for name in RUN_COLUMNS[len(head) :])
        self._connection.execute(_INSERT_RUN, head + rest)

    def is_current(self, session_id: str) -> bool:
        """Tell whether a run has rows that were current when they were written."""
        found = self._connection.execute("SELECT index_state FROM runs WHERE session_id = ?", (session_id,)).get
        return bool(found == "current")

    def write_error(self, scan: RunScan, fingerprint: str, error: EvidenceError) -> None:
        """Replace all rows of a run by its error."""
        self.clear(scan.session_id)
        head: Row = (
            scan.session_id,
            scan.source_dir,
            scan.storage_class,
            "error",
            error.detail,
            fingerprint,
            utc_now(),
            0,
        )
        self._connection.execute(_INSERT_RUN, head + (None,) * (len(RUN_COLUMNS) - len(head)))
        self._connection.execute(
            "INSERT INTO index_errors (session_id, source_path, detected_at, category, detail) VALUES (?, ?, ?, ?, ?)",
            (scan.session_id, f"{scan.source_dir}/{error.source_path}", utc_now(), error.category, error.detail),
        )

    def write_notices(self, session_id: str, notices: Sequence[Notice]) -> None:
        """Write a run's notices."""
        if not notices:
            return
        self._connection.executemany(
            "INSERT INTO notices VALUES (?, ?, ?, ?, ?, ?)",
            [(session_id, *notice, utc_now()) for notice in notices],
        )
