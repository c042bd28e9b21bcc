"""On genuine evidence every table holds the rows that the files justify: counted, and read field by field."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agent_workflow import index_store

from . import expected_rows, expected_views
from .conftest import CopyOfCorpus
from .evidence_builder import EvidenceRoot
from .expected_rows import GenuineRun, Line
from .index_reading import Row, dump, opened, row_of, rows_of

pytestmark = pytest.mark.corpus

COMMAND = Path(sys.executable).with_name("agent-workflow")

Expected = dict[str, dict[str, Any]]
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


@pytest.fixture(scope="module")
def root(copy_of_corpus: CopyOfCorpus) -> EvidenceRoot:
    """Return a copy of the genuine state root, indexed; nobody may change it."""
    copy = copy_of_corpus()
    index_store.rebuild(copy.path)
    return copy


@pytest.fixture(scope="module")
def expected(corpus_archives: Path) -> Expected:
    """Return what must be concluded about each run."""
    conclusions: Expected = json.loads((corpus_archives / "agent-workflow-state.expected.json").read_bytes())
    return conclusions


@pytest.fixture(scope="module")
def current_runs(root: EvidenceRoot, expected: Expected) -> list[GenuineRun]:
    """Return the run directories that are evidence."""
    places = {"active": "runs", "archive": "archive"}
    return [
        GenuineRun(root.path / places[conclusion["storage_class"]] / session_id)
        for session_id, conclusion in expected.items()
        if conclusion["index_state"] == "current"
    ]


def alike(rows: list[Row], columns: set[str]) -> list[tuple[str, ...]]:
    """Return rows in an order of their own, cut to some columns, so that 1 and 1.0 are one number."""
    return sorted(tuple(f"{name}={_plain(row[name])}" for name in sorted(columns)) for row in rows)


def _plain(value: object) -> str:
    return repr(float(value)) if isinstance(value, (int, float)) else repr(value)


# What must be concluded about each run.


def test_the_index_concludes_what_is_expected_about_every_run(root: EvidenceRoot, expected: Expected) -> None:
    """State, storage class, completeness and error category of all 59 runs, as `index query runs` shows them."""
    rows = index_store.query(root.path, "runs", limit=10_000).rows
    categories = {row["session_id"]: row["category"] for row in rows_of(root.database, "index_errors")}
    concluded = {
        str(row["session_id"]): (
            row["index_state"],
            row["storage_class"],
            row["evidence_complete"],
            categories.get(row["session_id"]),
        )
        for row in rows
    }

    assert len(rows) == 59
    assert {
        session_id: (run["index_state"], run["storage_class"], run["evidence_complete"], run["error_category"])
        for session_id, run in expected.items()
    } == concluded


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not installed")
def test_the_command_line_concludes_the_same(copy_of_corpus: CopyOfCorpus, expected: Expected) -> None:
    """`index rebuild --json`, then `index query runs --json --limit 10000`, as a user types them."""
    root = copy_of_corpus()
    report = _printed(root, "index", "rebuild", "--json")
    answer = _printed(root, "index", "query", "runs", "--json", "--limit", "10000")

    in_error = [run for run in expected.values() if run["index_state"] == "error"]
    retired = [run for run in in_error if run["error_category"] == "historical_artifact"]
    counts = (report["indexed_count"], report["error_count"], report["quarantined_count"])
    assert (59 - len(in_error), len(in_error) - len(retired), len(retired)) == counts
    assert {
        session_id: (run["index_state"], run["storage_class"], run["evidence_complete"])
        for session_id, run in expected.items()
    } == {
        row["session_id"]: (row["index_state"], row["storage_class"], row["evidence_complete"])
        for row in answer["rows"]
    }


def _printed(root: EvidenceRoot, *words: str) -> dict[str, Any]:
    done = subprocess.run([COMMAND, "--state-root", root.path, *words], capture_output=True, timeout=60, check=True)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_every_run_has_its_number_of_journal_records(root: EvidenceRoot, expected: Expected) -> None:
    """Each current run has one event a journal record; a run in error has none."""
    counted = Counter(str(row["session_id"]) for row in rows_of(root.database, "events"))

    assert {name: run["journal_records"] or 0 for name, run in expected.items()} == {
        name: counted[name] for name in expected
    }


def test_all_intact_sealed_runs_are_current_and_complete(root: EvidenceRoot) -> None:
    """30 of 30 sealed runs verify, and each names the digest of its own receipt."""
    sealed = rows_of(root.database, "runs", "evidence_complete = 1")

    assert len(sealed) == 30
    assert {run["index_state"] for run in sealed} == {"current"}
    for run in sealed:
        receipt = GenuineRun(root.path / str(run["source_dir"])).sha256("final-receipt.json")
        assert receipt == run["final_receipt_sha256"]


def test_no_other_run_claims_a_receipt(root: EvidenceRoot) -> None:
    """A run that is not sealed, or whose seal does not hold, names no digest of a receipt."""
    unsealed = rows_of(root.database, "runs", "evidence_complete = 0")

    assert len(unsealed) == 29
    assert {run["final_receipt_sha256"] for run in unsealed} == {None}


def test_every_run_in_error_has_one_error_that_says_why(root: EvidenceRoot, expected: Expected) -> None:
    """Each of the 14 runs in error has its latest error, below its own directory and at most 4,096 characters long."""
    errors = rows_of(root.database, "index_errors")
    runs = {run["session_id"]: run for run in rows_of(root.database, "runs")}

    assert sorted(name for name, run in expected.items() if run["index_state"] == "error") == sorted(
        str(error["session_id"]) for error in errors
    )
    for error in errors:
        run = runs[error["session_id"]]
        assert str(error["source_path"]).startswith(f"{run['source_dir']}/")
        assert 0 < len(str(error["detail"])) <= 4096
        assert run["index_error"]


def test_a_run_in_error_has_no_rows_but_its_own(root: EvidenceRoot, expected: Expected) -> None:
    """Bad evidence is an error and nothing more: no source, record, result or metric of it is projected."""
    bad = {name for name, run in expected.items() if run["index_state"] == "error"}
    tables = [table for table in PROJECTIONS if table not in ("workflows", "workflow_nodes", "workflow_edges")]

    projected = {str(row["session_id"]) for table in tables for row in rows_of(root.database, table)}

    assert bad & projected == set()


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
    justified = {run.session_id: expected_rows.run_row(run, expected[run.session_id]) for run in current_runs}
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
    assert expected_rows.evidence_repair(directory) == row


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


# Views.


def _rounded(rows: list[Row]) -> list[Row]:
    return [
        {
            name: round(float(value), 9) if name.startswith("avg") and value is not None else value
            for name, value in row.items()
        }
        for row in rows
    ]


def assert_view(root: EvidenceRoot, view: str, justified: list[Row]) -> None:
    """Check that a view has exactly the rows and columns worked out in Python."""
    rows = rows_of(root.database, view)

    assert justified
    assert set(justified[0]) == set(rows[0])
    columns = set(rows[0])
    assert alike(_rounded(justified), columns) == alike(_rounded(rows), columns)


def test_run_overview_counts_what_is_open_and_pending(root: EvidenceRoot) -> None:
    """An incident or permission counts by the latest event of its subject."""
    tables = [
        rows_of(root.database, name) for name in ("runs", "health_samples", "incident_events", "permission_events")
    ]

    assert_view(root, "run_overview", expected_views.run_overview(*tables))


@pytest.mark.parametrize(
    ("view", "table", "names"),
    [
        ("incident_summary", "incident_events", ("category", "severity", "state")),
        ("permission_summary", "permission_events", ("operation", "resource_class", "state")),
    ],
)
def test_summaries_count_events_and_runs(root: EvidenceRoot, view: str, table: str, names: tuple[str, ...]) -> None:
    """Each group has its events, its runs, and when it was first and last seen."""
    assert_view(root, view, expected_views.state_summary(rows_of(root.database, table), *names))


def test_performance_summary_keeps_the_two_kinds_of_money_apart(root: EvidenceRoot) -> None:
    """Averages are those of the samples; billed and estimated costs have their own counts and currencies."""
    tables = [rows_of(root.database, name) for name in ("runs", "execution_metrics")]

    assert_view(root, "performance_summary", expected_views.performance_summary(*tables))


def test_attempt_summary_counts_outcomes_of_current_runs(root: EvidenceRoot) -> None:
    """Each combination of outcomes has the number of its runs and of those that may be accepted."""
    assert_view(root, "attempt_summary", expected_views.attempt_summary(rows_of(root.database, "runs")))


# Literal values, read by a person in the genuine files.


def line_digest(root: EvidenceRoot, session_id: str, name: str) -> str:
    """Return the digest of the first line of a journal."""
    return sha256((root.path / "runs" / session_id / name).read_bytes().split(b"\n")[0]).hexdigest()


def test_a_genuine_incident_reads_as_it_was_written(root: EvidenceRoot) -> None:
    """The incident of run-one, every column."""
    assert row_of(root.database, "incident_events", "session_id = 'run-one'") == {
        "session_id": "run-one",
        "relative_path": "incident-events.jsonl",
        "source_sequence": 1,
        "incident_id": "a" * 24,
        "recorded_at": "2026-07-30T00:03:00+00:00",
        "category": "process_alive_no_progress",
        "severity": "medium",
        "summary": "No semantic progress",
        "fingerprint": "b" * 64,
        "state": "open",
        "record_sha256": line_digest(root, "run-one", "incident-events.jsonl"),
    }


def test_a_genuine_health_sample_reads_as_it_was_written(root: EvidenceRoot) -> None:
    """The health sample of run-one, every column."""
    assert row_of(root.database, "health_samples", "session_id = 'run-one'") == {
        "session_id": "run-one",
        "relative_path": "run-health-samples.jsonl",
        "source_sequence": 1,
        "recorded_at": "2026-07-30T00:02:00+00:00",
        "runner_alive": 1,
        "executor_alive": 1,
        "executor_state": "S",
        "cpu_user_seconds": 1.5,
        "cpu_system_seconds": 0.5,
        "rss_bytes": 4096,
        "peak_rss_bytes": 8192,
        "read_bytes": 10,
        "write_bytes": 20,
        "open_fd_count": 3,
        "child_process_count": 0,
        "host_load_1m": 0.1,
        "host_available_memory_bytes": 100_000,
        "disk_free_bytes": 200_000,
        "output_bytes": 100,
        "stderr_bytes": 0,
        "executor_event_bytes": 50,
        "terminal_event_bytes": 40,
        "last_semantic_progress_at": "2026-07-30T00:01:59+00:00",
        "seconds_since_semantic_progress": 1.0,
        "last_semantic_progress_source": "terminal_event",
        "record_sha256": line_digest(root, "run-one", "run-health-samples.jsonl"),
    }


def test_a_genuine_terminal_event_leaves_its_content_behind(root: EvidenceRoot) -> None:
    """Of what a terminal showed, the digest and the time are kept, and the text is not."""
    row = row_of(root.database, "events", "session_id = 'run-one' AND relative_path = 'terminal-events.jsonl'")

    assert ("f" * 64, "2026-07-30T00:05:30+00:00") == (row["content_sha256"], row["recorded_at"])
    assert not any("SECRET" in str(value) for value in row.values())


def test_a_genuine_workflow_joins_its_plan_with_its_course(root: EvidenceRoot) -> None:
    """The workflow of workflow-owner, its second node and its edge, every column."""
    workflow = row_of(root.database, "workflows", "owner_run_id = 'workflow-owner'")

    assert workflow.pop("indexed_at")
    assert workflow == {
        "workflow_id": "wf-one",
        "owner_run_id": "workflow-owner",
        "pack_id": "pack-one",
        "snapshot_sha256": "4" * 64,
        "workflow_state": "running",
        "event_count": 2,
    }
    assert row_of(root.database, "workflow_nodes", "workflow_id = 'wf-one' AND node_id = 'review'") == {
        "workflow_id": "wf-one",
        "node_id": "review",
        "kind": "task",
        "ticket_id": "IDX-002",
        "configured_session_id": "review-run",
        "bound_run_id": "review-run",
        "state": "running",
        "attempt": 1,
        "retry_of_run_id": None,
        "executor": "claude",
        "model": "sonnet",
        "interactive": 0,
        "terminal_reason": None,
    }
    assert rows_of(root.database, "workflow_edges", "workflow_id = 'wf-one'") == [
        {"workflow_id": "wf-one", "source_node_id": "build", "target_node_id": "review"}
    ]


def test_deleting_the_database_loses_nothing(copy_of_corpus: CopyOfCorpus) -> None:
    """The database deleted and rebuilt has the same rows in every table, but for the times of indexing."""
    root = copy_of_corpus()
    index_store.rebuild(root.path)
    before = dump(root.database)
    shutil.rmtree(root.path / "index")

    index_store.sync(root.path)

    assert before == dump(root.database)
