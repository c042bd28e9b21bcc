"""On genuine evidence every table holds the rows that the files justify: counted, and read field by field."""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256

import pytest

from . import expected_rows, expected_runs
from .corpus_reading import Expected, alike
from .evidence_files import EvidenceRoot
from .genuine_run import GenuineRun, Line
from .index_reading import Row, opened, rows_of

pytestmark = pytest.mark.corpus


Project = Callable[[GenuineRun], Iterator[Row]]

PROJECTIONS: dict[str, Project] = {
    "source_files": expected_rows.source_files,
    "events": expected_rows.events,
    "health_samples": expected_rows.health_samples,
    "permission_events": expected_rows.permission_events,
    "incident_events": expected_rows.incident_events,
    "remediation_events": expected_rows.remediation_events,
    "process_results": expected_rows.process_results,
    "execution_metrics": expected_rows.execution_metrics,
    "workflows": expected_rows.workflows,
    "workflow_nodes": expected_rows.workflow_nodes,
    "workflow_edges": expected_rows.workflow_edges,
}

JOURNAL_TABLES = {
    "health_samples": "agent-workflow/run-health-sample/v1",
    "permission_events": "agent-workflow/permission-event/v1",
    "incident_events": "agent-workflow/incident-event/v1",
    "remediation_events": "agent-workflow/remediation-event/v1",
}


# Table by table.


@pytest.mark.parametrize("table", PROJECTIONS)
def test_a_table_has_as_many_rows_as_the_files_justify(
    root: EvidenceRoot, current_runs: list[GenuineRun], table: str
) -> None:
    """The number of rows of each run in each table is counted from the files."""
    owner = {"workflows": "owner_run_id"}.get(table, "session_id")
    justified = Counter(row.get(owner) for run in current_runs for row in PROJECTIONS[table](run))

    rows = rows_of(root.database, table)

    assert sum(justified.values()) > 0
    assert justified == Counter(row.get(owner) for row in rows)


@pytest.mark.parametrize("table", PROJECTIONS)
def test_every_column_of_a_table_holds_what_the_files_say(
    root: EvidenceRoot, current_runs: list[GenuineRun], table: str
) -> None:
    """Every row equals an independent reading of its record, column by column."""
    justified = [row for run in current_runs for row in PROJECTIONS[table](run)]
    rows = rows_of(root.database, table)
    settled = set.intersection(*(set(row) for row in justified))

    assert set(rows[0]) - settled <= {"indexed_at", "record_count"}
    assert alike(justified, settled) == alike(rows, settled)


def test_journals_are_counted_in_source_files(root: EvidenceRoot, current_runs: list[GenuineRun]) -> None:
    """``record_count`` of a journal is the number of its complete lines."""
    justified = {
        (row["session_id"], row["relative_path"]): row["record_count"]
        for run in current_runs
        for row in expected_rows.source_files(run)
        if "record_count" in row
    }
    rows = rows_of(root.database, "source_files", "file_kind = 'jsonl'")

    assert justified == {(row["session_id"], row["relative_path"]): row["record_count"] for row in rows}


def test_every_column_of_runs_holds_what_the_files_say(
    root: EvidenceRoot, current_runs: list[GenuineRun], expected: Expected
) -> None:
    """Every current run's row equals an independent reading of its documents, in the order that the contract gives."""
    justified = {run.session_id: expected_runs.run_row(run, expected[run.session_id]) for run in current_runs}
    rows = {str(row["session_id"]): row for row in rows_of(root.database, "runs", "index_state = 'current'")}

    for row in rows.values():
        assert row.pop("source_fingerprint")
        assert row.pop("indexed_at")
    assert justified == rows


def test_the_one_valid_repair_is_one_row(root: EvidenceRoot) -> None:
    """The repair has a row that equals its record and receipt, and nothing of its run changed for it."""
    directory = root.path / "evidence-repairs" / "source-review-repair"
    (row,) = rows_of(root.database, "evidence_repairs")

    assert row.pop("indexed_at")
    assert expected_runs.evidence_repair(directory) == row


def test_every_contract_of_the_corpus_is_seen(root: EvidenceRoot, current_runs: list[GenuineRun]) -> None:
    """The sources name every contract that the files of current runs name, and none is a notice."""
    written = {contract for run in current_runs for row in expected_rows.source_files(run) for contract in _ids(row)}
    seen = {contract for row in rows_of(root.database, "source_files") for contract in _ids(row)}

    assert len(written) > 30
    assert written == seen
    assert rows_of(root.database, "notices", "contract IS NOT NULL") == []


def _ids(row: Row) -> list[str]:
    ids: list[str] = json.loads(str(row["schema_ids_json"]))
    return ids


def test_the_bookkeeping_says_what_the_database_is(root: EvidenceRoot) -> None:
    """Authority, schema version and scope are in ``index_metadata``; the migrations are numbered from 1."""
    metadata = {row["key"]: row["value"] for row in rows_of(root.database, "index_metadata")}
    versions = [row["version"] for row in rows_of(root.database, "schema_migrations", "1 ORDER BY version")]
    with opened(root.database) as connection:
        user_version = connection.execute("PRAGMA user_version").fetchone()[0]
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]

    assert metadata["authority"] == "json-jsonl-sealed-receipts"
    assert metadata["last_sync_scope"] == "active+archive"
    assert metadata["last_sync_at"]
    assert str(user_version) == metadata["schema_version"]
    assert list(range(1, user_version + 1)) == versions
    assert application_id == 0x41574631


# Provenance that anyone can check.


def test_a_records_digest_is_that_of_its_exact_line(root: EvidenceRoot, current_runs: list[GenuineRun]) -> None:
    """Every row of every journal table carries the SHA-256 of the bytes of its line."""
    lines: dict[tuple[str, str, int], Line] = {
        (run.session_id, line.path, line.number): line for run in current_runs for line in run.lines
    }

    for table, contract in JOURNAL_TABLES.items():
        for row in rows_of(root.database, table):
            line = lines[(str(row["session_id"]), str(row["relative_path"]), int(row["source_sequence"] or 0))]
            assert contract == line.contract
            assert sha256(line.raw).hexdigest() == row["record_sha256"]


@pytest.mark.parametrize("table", ["events", *JOURNAL_TABLES])
def test_sed_and_sha256sum_confirm_a_digest(root: EvidenceRoot, table: str) -> None:
    """The command in our documentation gives the digest in the database, for the last row of each journal table."""
    with opened(root.database) as connection:
        row = dict(
            connection.execute(
                f"SELECT source_dir, t.* FROM {table} AS t JOIN runs USING (session_id) "
                "ORDER BY source_sequence DESC, session_id LIMIT 1"
            ).fetchone()
        )
    path = root.path / row["source_dir"] / row["relative_path"]

    command = f"sed -n {row['source_sequence']}p '{path}' | tr -d '\\n' | sha256sum"
    printed = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True).stdout

    assert printed.split()[0] == row["record_sha256"]
