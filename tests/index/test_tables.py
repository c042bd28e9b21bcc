"""On evidence of our own every table holds what the files justify, whichever of a value's sources are there."""

from collections.abc import Iterator
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from agent_workflow import index_store

from . import expected_rows, expected_runs, expected_views
from .evidence_documents import (
    completion_collection,
    launch_contract,
    ledger_row,
    metrics_stage,
    process_result,
    run_provenance,
    session_status,
    source_baseline,
    workflow_snapshot,
    workflow_status,
)
from .evidence_files import EvidenceRoot, RunDirectory, moment
from .evidence_journals import incident_event, permission_event
from .evidence_runs import SEALED_ALWAYS, write_sealed_run
from .genuine_run import GenuineRun
from .index_reading import Row, row_of, rows_of

SOURCES_OF_A_ROW = (
    "launch-contract.json",
    "run-provenance.json",
    "final-status.json",
    "status.json",
    "process-result.json",
    "ledger-row.json",
    "collections/completion.json",
    "scores/score-set.json",
)


def write_distinct(run: RunDirectory, names: tuple[str, ...]) -> None:
    """Write some of the documents a run's row is made of, each with values of its own."""
    run.write("prompt.md", "prompt")
    run.write("launch-prompt.md", "launch prompt")
    run.write("source-baseline.json", source_baseline())
    for name in names:
        run.write(name, _distinct(run, name))


def _distinct(run: RunDirectory, name: str) -> dict[str, Any]:
    session_id = run.session_id
    if name == "launch-contract.json":
        return launch_contract(run, 1)
    if name == "run-provenance.json":
        node = {"workflow_id": "wf-of-provenance", "node_id": "build", "attempt": 1}
        return run_provenance(
            session_id,
            executor="executor-of-provenance",
            agent_class="class-of-provenance",
            model="model-of-provenance",
            source_revision="revision-of-provenance",
            worktree="/tree/of/provenance",
            retry_of_run_id="retry-of-provenance",
            exit_code=3,
            workflow=node | {"inputs_path": None, "inputs_sha256": None, "routing": None},
        )
    if name in ("final-status.json", "status.json"):
        return _status(session_id, name)
    if name == "process-result.json":
        return process_result(exit_code=4)
    if name == "ledger-row.json":
        return ledger_row(session_id, completion_result="missing", attempt_classification="policy-failed")
    if name == "collections/completion.json":
        return completion_collection(session_id, validation_status="invalid")
    return {"schema": "agent-workflow/score-set/v1", "verdict": "fail", "scores": [], "final_receipt_sha256": "0" * 64}


def _status(session_id: str, name: str) -> dict[str, Any]:
    final = name == "final-status.json"
    return session_status(
        session_id,
        status="failed" if final else "running",
        ticket_id=f"ticket of {name}",
        pack_id=f"pack of {name}",
        workdir=f"/workdir/of/{name}",
        created_at=moment(500 + final),
        updated_at=moment(600 + final),
        disposition="rejected" if final else "reviewed",
        failure_category=f"category of {name}",
        executor_result="killed",
        policy_result="failed",
        completion_result="valid",
        acceptance_eligible=False,
        evaluation_path="/evaluation.md" if final else None,
    )


def subsets() -> Iterator[tuple[str, ...]]:
    """Return every choice of the documents that a row is made of."""
    for size in range(len(SOURCES_OF_A_ROW) + 1):
        yield from combinations(SOURCES_OF_A_ROW, size)


def test_each_column_of_runs_comes_from_the_first_of_its_sources_that_is_present(tmp_path: Path) -> None:
    """With every choice of the eight documents, every column is that of the contract's order of sources."""
    root = EvidenceRoot.create(tmp_path / "state")
    for number, names in enumerate(subsets()):
        write_distinct(root.run(f"run-{number:03d}"), names)

    report = index_store.rebuild(root.path)

    assert report.errors == ()
    rows = {row["session_id"]: _described(row) for row in rows_of(root.database, "runs")}
    assert len(rows) == 2 ** len(SOURCES_OF_A_ROW)
    assert rows == {
        path.name: expected_runs.run_row(GenuineRun(path), {"evidence_complete": 0})
        for path in (root.path / "runs").iterdir()
    }


def _described(row: Row) -> Row:
    return {name: value for name, value in row.items() if name not in ("source_fingerprint", "indexed_at")}


OUTCOMES = tuple(
    product(
        ("valid", "missing", "invalid"),
        ("passed", "failed"),
        ("completed", "failed", "interrupted", "killed", "lost", None),
        (True, False),
        ("completed", "failed"),
    )
)


def test_a_sealed_attempt_without_a_ledger_row_is_classified_by_the_first_rule_that_holds(tmp_path: Path) -> None:
    """Every combination of outcomes is classified as the contract's list says, top to bottom."""
    root = EvidenceRoot.create(tmp_path / "state")
    for number, (completion, policy, executor, eligible, status) in enumerate(OUTCOMES):
        run = root.run(f"run-{number:03d}")
        write_sealed_run(run, launch=None)
        collected = completion_collection(run.session_id, validation_status=completion)
        run.write("collections/completion.json", collected, mode=0o400)
        outcome = {"policy_result": policy, "executor_result": executor, "acceptance_eligible": eligible}
        run.write("final-status.json", session_status(run.session_id, status=status, **outcome), mode=0o400)
        run.seal(SEALED_ALWAYS)

    report = index_store.rebuild(root.path)

    assert report.errors == ()
    rows = {row["session_id"]: _described(row) for row in rows_of(root.database, "runs")}
    assert rows == {
        path.name: expected_runs.run_row(GenuineRun(path), {"evidence_complete": 1})
        for path in (root.path / "runs").iterdir()
    }
    assert len({row["attempt_classification"] for row in rows.values()}) == 10


@pytest.fixture
def indexed(host: EvidenceRoot) -> EvidenceRoot:
    """Return our own state root, indexed."""
    index_store.rebuild(host.path)
    return host


@pytest.mark.parametrize(
    "table",
    [
        "events",
        "health_samples",
        "permission_events",
        "incident_events",
        "remediation_events",
        "process_results",
        "execution_metrics",
        "workflow_nodes",
        "workflow_edges",
    ],
)
def test_every_row_of_a_table_is_what_the_files_justify(indexed: EvidenceRoot, table: str) -> None:
    """Column by column, on journals of several lines and on runs of every kind."""
    project = getattr(expected_rows, table)
    runs = [GenuineRun(path) for place in ("runs", "archive") for path in (indexed.path / place).iterdir()]
    justified = [row for run in runs for row in project(run)]

    assert justified
    assert sorted(justified, key=_order) == sorted(rows_of(indexed.database, table), key=_order)


def _order(row: Row) -> str:
    return repr(sorted((name, repr(value)) for name, value in row.items() if isinstance(value, (str, int))))


def test_an_incident_and_a_permission_count_by_their_latest_event(indexed: EvidenceRoot) -> None:
    """Resolved after open is closed, cleared after pending is not pending, and the clock decides neither."""
    overview = row_of(indexed.database, "run_overview", "session_id = 'live-run'")

    assert (overview["open_incident_count"], overview["last_open_incident_at"]) == (1, moment(52))
    assert overview["pending_permission_count"] == 0
    assert overview["last_health_at"] == moment(30)


def test_reopened_is_open_although_the_clock_was_stepped_back(tmp_path: Path) -> None:
    """The order in the journal tells which event is the latest, also where its time is earlier."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("live-run")
    run.write_journal(
        "incident-events.jsonl",
        [incident_event(run.session_id, 50, state="resolved"), incident_event(run.session_id, 40, state="open")],
    )
    targets = ("git push", "git push", "rm", None)
    run.write_journal(
        "permission-events.jsonl",
        [permission_event(run.session_id, 60 - number, target=target) for number, target in enumerate(targets)],
    )

    index_store.rebuild(root.path)

    overview = row_of(root.database, "run_overview", "1")
    assert (overview["open_incident_count"], overview["last_open_incident_at"]) == (1, moment(40))
    assert overview["pending_permission_count"] == 3


Sample = tuple[float | None, float | None, str | None]
"""What was billed, what was estimated, in which currency."""


def test_a_group_of_mixed_currencies_has_neither_currency_nor_average(tmp_path: Path) -> None:
    """Billed and estimated money never meet; more than one currency, or a cost without one, gives NULL and NULL."""
    root = EvidenceRoot.create(tmp_path / "state")
    samples: dict[str, list[Sample]] = {
        "one-currency": [(1.0, None, "USD"), (3.0, None, "USD"), (None, None, None)],
        "two-currencies": [(1.0, 0.5, "USD"), (3.0, None, "EUR")],
        "no-currency": [(1.0, 2.0, None), (3.0, 4.0, "USD")],
        "no-cost": [(None, None, "USD")],
    }
    for executor, costs in samples.items():
        for number, (billed, estimated, currency) in enumerate(costs):
            run = root.run(f"{executor}-{number}")
            run.write("run-provenance.json", run_provenance(run.session_id, executor=executor))
            stage = metrics_stage("total", provider_billed_cost=billed, local_estimated_cost=estimated)
            metrics = {"schema": "agent-workflow/execution-metrics/v1", "session_id": run.session_id}
            run.write("execution-metrics.json", metrics | {"stages": [stage | {"currency": currency}]})

    index_store.rebuild(root.path)

    rows = {str(row["executor"]): row for row in rows_of(root.database, "performance_summary")}
    runs, metrics_rows = rows_of(root.database, "runs"), rows_of(root.database, "execution_metrics")
    assert rows == {str(row["executor"]): row for row in expected_views.performance_summary(runs, metrics_rows)}
    money = {name: (row["avg_provider_billed_cost"], row["provider_billed_currency"]) for name, row in rows.items()}
    assert money == {
        "one-currency": (2.0, "USD"),
        "two-currencies": (None, None),
        "no-currency": (None, None),
        "no-cost": (None, None),
    }
    assert rows["two-currencies"]["avg_local_estimated_cost"] == 0.5


def test_a_workflow_status_may_be_nested_in_the_workflows_run(tmp_path: Path) -> None:
    """Without ``workflow-status.json`` the status inside ``workflow-run.json`` counts."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("owner")
    run.write("workflow-snapshot.json", workflow_snapshot("wf-one"))
    nested = {"schema": "agent-workflow/workflow-run/v1", "workflow_id": "wf-one", "snapshot_sha256": "5" * 64}
    paths = {"snapshot_path": "a", "events_path": "b", "status_path": "c", "status": workflow_status("wf-one")}
    run.write("workflow-run.json", nested | paths)

    index_store.rebuild(root.path)

    workflow = row_of(root.database, "workflows", "1")
    assert (workflow["workflow_state"], workflow["event_count"]) == ("running", 2)
    nodes = {str(row["node_id"]): row["state"] for row in rows_of(root.database, "workflow_nodes")}
    assert nodes == {"build": "running", "review": None, "extra": "failed"}
