"""Recorded workflows in the index: their row, their seal, where their trace lies."""

from typing import Any

import pytest
from sample_records import MOMENT, incident, permission, remediation
from sample_state import StateRoot, write_rich_run
from traced_runs import (
    ALWAYS,
    BUILDER,
    DATABASE,
    GATE_FAILED,
    REVIEWER,
    TRACED,
    UNLESS_LOST,
    begin_traced_run,
    end_traced_run,
    lose_traced_run,
    seal,
    write_traced_run,
)

from agent_workflow import index_store


def row_of(state: StateRoot, session_id: str) -> dict[str, Any]:
    """Index the state root and return the row of a run."""
    index_store.sync(state.path)
    rows = index_store.query(state.path, "runs", index_store.Filters(session=session_id)).rows
    assert 1 == len(rows)
    return dict(rows[0])


def test_a_sealed_workflow_has_a_whole_row(state: StateRoot) -> None:
    """Every column that its contract can fill."""
    write_traced_run(state, "aaaa0001", retry_of="aaaa0000", adw_id="shop0001")

    row = row_of(state, "aaaa0001")

    expected = {
        "index_state": "current",
        "launch_schema": TRACED,
        "workflow_id": "add-greeting",
        "agent_name": "builder",
        "executor": "pi",
        "model": "large",
        "interactive": 0,
        "retry_of_run_id": "aaaa0000",
        "created_at": MOMENT,
        "workdir": "/srv/shop",
        "source_revision": "abc",
        "branch": "main",
        "dirty_at_launch": 1,
        "durable_status": "completed",
        "executor_result": "completed",
        "policy_result": "passed",
        "acceptance_eligible": 1,
        "attempt_classification": "acceptance-eligible",
        "evidence_complete": 1,
        "ticket_id": None,
        "pack_id": None,
        "workflow_node_id": None,
        "adw_id": "shop0001",
        "trace_database": DATABASE,
        "session_directory": "/srv/shop/adws/adw_data/sessions/shop0001",
    }
    assert expected == {name: row[name] for name in expected}


def test_a_workflow_that_failed_on_a_gate_is_sealed_and_says_so(state: StateRoot) -> None:
    """A bad ending is good evidence."""
    seal(end_traced_run(begin_traced_run(state, "aaaa0001"), **GATE_FAILED))

    row = row_of(state, "aaaa0001")

    assert ("policy-failed", "gate_failed", 1) == (
        row["attempt_classification"],
        row["failure_category"],
        row["evidence_complete"],
    )


@pytest.mark.parametrize("leaves_result", [False, True])
def test_a_lost_workflow_is_complete_without_what_nobody_could_write(state: StateRoot, *, leaves_result: bool) -> None:
    """Its final status says that it was lost; a process result that is there is sealed and shown all the same."""
    run = lose_traced_run(begin_traced_run(state, "aaaa0001"))
    if leaves_result:
        end_traced_run(run)
        lose_traced_run(run)
    seal(run)

    row = row_of(state, "aaaa0001")
    processes = index_store.query(state.path, "processes").rows

    assert ("executor-lost", 1, int(leaves_result)) == (
        row["attempt_classification"],
        row["evidence_complete"],
        len(processes),
    )


def test_a_live_workflow_is_shown_by_its_roster(state: StateRoot) -> None:
    """Until the provenance says which agents worked, it is those that may; several are joined, each once."""
    other = BUILDER | {"name": "planner"}
    begin_traced_run(state, "aaaa0001", agents=[BUILDER, REVIEWER, other])

    row = row_of(state, "aaaa0001")

    assert ("codex+pi", "large", None) == (row["executor"], row["model"], row["agent_name"])
    assert ("running", 0, None) == (row["durable_status"], row["evidence_complete"], row["attempt_classification"])
    assert DATABASE == row["trace_database"]


def test_a_workflow_without_agents_has_no_executor(state: StateRoot) -> None:
    """Nothing is made up where there is no roster."""
    begin_traced_run(state, "aaaa0001", agents=[])

    row = row_of(state, "aaaa0001")

    assert (None, None, None) == (row["executor"], row["model"], row["agent_name"])


@pytest.mark.parametrize(
    ("used", "expected"),
    [
        ({"executor": "codex+pi", "model": "large+small"}, ("codex+pi", "large+small")),
        ({"executor": None, "model": None}, (None, None)),
    ],
)
def test_the_agents_really_used_count_once_they_are_known(
    state: StateRoot, used: dict[str, Any], expected: tuple[str | None, str | None]
) -> None:
    """A workflow that called none of its agents is not a run of any of them."""
    seal(end_traced_run(begin_traced_run(state, "aaaa0001"), provenance_of=used))

    row = row_of(state, "aaaa0001")

    assert expected == (row["executor"], row["model"])


@pytest.mark.parametrize("name", [*ALWAYS, *UNLESS_LOST])
def test_a_seal_must_list_what_the_contract_requires(state: StateRoot, name: str) -> None:
    """Nothing of it is complete by being left out."""
    run = end_traced_run(begin_traced_run(state, "aaaa0001"))
    seal(run, without=[name])

    row = row_of(state, "aaaa0001")

    assert "error" == row["index_state"]
    assert f"does not seal {name}" in row["index_error"]


@pytest.mark.parametrize("name", ALWAYS)
def test_a_lost_workflow_too_must_list_what_is_always_there(state: StateRoot, name: str) -> None:
    """Being lost excuses two files only."""
    seal(lose_traced_run(begin_traced_run(state, "aaaa0001")), without=[name])

    row = row_of(state, "aaaa0001")

    assert f"does not seal {name}" in row["index_error"]


def test_only_the_sealed_final_status_says_that_a_workflow_was_lost(state: StateRoot) -> None:
    """A status projection that anybody may write excuses nothing."""
    run = end_traced_run(begin_traced_run(state, "aaaa0001"))
    for name in UNLESS_LOST:
        (run.path / name).unlink()
    run.document("status.json", run.read("status.json") | {"executor_result": "lost"})
    seal(run)

    row = row_of(state, "aaaa0001")

    assert "does not seal process-result.json, execution-metrics.json" in row["index_error"]


@pytest.mark.parametrize("name", ["status.json", "incident-events.jsonl", "deep/notes.json", "workflow-snapshot.json"])
def test_a_structured_file_that_no_seal_lists_is_foreign(state: StateRoot, name: str) -> None:
    """Nobody vouches for it, and it would have rows."""
    run = end_traced_run(begin_traced_run(state, "aaaa0001"))
    (run.path / "status.json").unlink()
    seal(run)
    (run.path / name).parent.mkdir(exist_ok=True)
    (run.path / name).write_text("{}\n" if name.endswith("l") else '{"name": "value"}\n')

    row = row_of(state, "aaaa0001")

    assert "error" == row["index_state"]
    assert f"{name}: is not sealed by final-receipt.json" in row["index_error"]
    assert "mismatch" == _review(state, "aaaa0001")


@pytest.mark.parametrize("name", ["receipts/000001-reviewed.json", "scores/one.json", "notes.txt"])
def test_what_judges_a_run_may_come_after_its_seal(state: StateRoot, name: str) -> None:
    """And what is no source is nobody's business."""
    run = write_traced_run(state, "aaaa0001")
    (run.path / name).parent.mkdir(exist_ok=True)
    (run.path / name).write_text('{"name": "value"}\n')

    row = row_of(state, "aaaa0001")

    assert (1, None) == (row["evidence_complete"], row["index_error"])
    assert "unreviewed" == _review(state, "aaaa0001")


def _review(state: StateRoot, session_id: str) -> str:
    review = index_store.verify(state.path, review=session_id).review
    assert review is not None
    return review.verdict


def test_a_seal_of_another_session_is_refused(state: StateRoot) -> None:
    """A copied run is no run."""
    seal(end_traced_run(begin_traced_run(state, "aaaa0001")), session_id="aaaa0002")

    assert "seals another session" in row_of(state, "aaaa0001")["index_error"]


SEALED_FILES = sorted([*ALWAYS, *UNLESS_LOST, "status.json", "final-receipt.json"])


@pytest.mark.parametrize("name", SEALED_FILES)
@pytest.mark.parametrize("archived", [False, True])
def test_a_flipped_bit_is_found_wherever_it_is(state: StateRoot, name: str, *, archived: bool) -> None:
    """By verification before the next sync, and by the sync."""
    run = write_traced_run(state, "aaaa0001", archived=archived)
    index_store.sync(state.path)
    assert index_store.verify(state.path, full=True).valid
    path = run.path / name
    path.chmod(0o644)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    path.chmod(0o444)

    found = index_store.verify(state.path, full=True).source_mismatches

    assert name in {mismatch.path for mismatch in found}
    assert "error" == row_of(state, "aaaa0001")["index_state"]


def test_the_files_of_the_seal_are_those_of_the_run(state: StateRoot) -> None:
    """So that every file has its bit flipped above."""
    run = write_traced_run(state, "aaaa0001")

    assert SEALED_FILES == sorted(path.name for path in run.path.iterdir())


KINDS_OF_BOTH = {
    "runs": {"traced", "other"},
    "incidents": {"traced", "other"},
    "permissions": {"traced", "other"},
    "remediations": {"traced", "other"},
    "events": {"traced", "other"},
    "metrics": {"traced", "other"},
    "processes": {"traced", "other"},
}


@pytest.fixture
def both(state: StateRoot) -> StateRoot:
    """Index a recorded workflow beside a run of the other kind."""
    run = end_traced_run(begin_traced_run(state, "traced"))
    run.journal("incident-events.jsonl", [incident(1)])
    run.journal("permission-events.jsonl", [permission(1)])
    run.journal("remediation-events.jsonl", [remediation(1)])
    seal(run)
    write_rich_run(state, "other")
    index_store.sync(state.path)
    return state


@pytest.mark.parametrize("kind", KINDS_OF_BOTH)
def test_both_kinds_of_runs_answer_side_by_side(both: StateRoot, kind: str) -> None:
    """A question does not ask how a run was recorded."""
    rows = index_store.query(both.path, kind).rows

    assert KINDS_OF_BOTH[kind] == {row["session_id"] for row in rows}


def test_both_kinds_are_counted_by_what_they_were(both: StateRoot) -> None:
    """Performance is per executor and model, whoever recorded it; attempts per outcome."""
    performance = {
        (row["executor"], row["model"], row["stage"]): row["avg_provider_billed_cost"]
        for row in index_store.query(both.path, "performance").rows
    }
    attempts = index_store.query(both.path, "attempts").rows

    assert 0.25 == performance["pi", "large", "total"] == performance["pi", "large", "child:builder"]
    assert performance["codex", "large", "total"] is None
    assert {"acceptance-eligible", None} == {row["attempt_classification"] for row in attempts}


def test_open_and_pending_are_counted_for_workflows_too(both: StateRoot) -> None:
    """The overview knows no kinds."""
    counts = {
        row["session_id"]: (row["open_incident_count"], row["pending_permission_count"])
        for row in index_store.query(both.path, "runs").rows
    }

    assert {"traced": (1, 1), "other": (1, 0)} == counts


def test_a_run_of_the_other_kind_has_no_trace(both: StateRoot) -> None:
    """Unknown stays unknown."""
    row = index_store.query(both.path, "runs", index_store.Filters(session="other")).rows[0]

    assert (None, None, None) == (row["adw_id"], row["trace_database"], row["session_directory"])


def test_a_session_leads_to_every_run_it_was_published_as(state: StateRoot) -> None:
    """Newest first, whatever the repository; the asker tells them apart by the database."""
    write_traced_run(state, "aaaa0001", created_at="2026-03-01T08:00:00+00:00")
    write_traced_run(state, "aaaa0001-2", adw_id="aaaa0001", created_at="2026-03-01T10:00:00+01:30")
    write_traced_run(state, "aaaa0001-3", adw_id="aaaa0001", database="/srv/b.db", created_at="2026-03-02")
    index_store.sync(state.path)

    with index_store.open_index(state.path) as index:
        rows = index.runs_of_session("aaaa0001").rows
        nobody = index.runs_of_session("aaaa0001-2").rows
        databases = index.trace_databases()
        first = index.trace_databases(limit=1)

    found = [(row["session_id"], row["trace_database"]) for row in rows]
    assert [("aaaa0001-3", "/srv/b.db"), ("aaaa0001-2", DATABASE), ("aaaa0001", DATABASE)] == found
    assert () == nobody
    assert ("/srv/b.db", DATABASE) == databases
    assert ("/srv/b.db",) == first


def test_a_workflow_that_ended_is_read_again_whole_or_not_with_equal_rows(state: StateRoot) -> None:
    """The row while it lives gives way to the one at its end; so does where its trace lies."""
    run = begin_traced_run(state, "aaaa0001")
    index_store.sync(state.path)
    run.journal("events.jsonl", [lifecycle_of_a_phase])
    end_traced_run(run)
    run.document("launch-contract.json", run.read("launch-contract.json") | {"tracer_version": "1.0.1"})
    seal(run)

    synced = row_of(state, "aaaa0001")
    index_store.rebuild(state.path)
    rebuilt = row_of(state, "aaaa0001")

    assert ("completed", DATABASE) == (synced["durable_status"], synced["trace_database"])
    assert {name: value for name, value in synced.items() if name != "indexed_at"} == {
        name: value for name, value in rebuilt.items() if name != "indexed_at"
    }


lifecycle_of_a_phase = {
    "schema": "agent-workflow/lifecycle-event/v1",
    "sequence": 2,
    "timestamp": MOMENT,
    "actor": "tracer",
    "dimension": "phase",
    "prior": None,
    "new": "build",
    "reason": "a phase began",
    "receipt_refs": [],
}


def test_a_removed_workflow_leaves_no_trace_behind(state: StateRoot) -> None:
    """Nor does one that turns bad."""
    for session_id in ("aaaa0001", "aaaa0002"):
        write_traced_run(state, session_id, database=f"/srv/{session_id}.db")
    index_store.sync(state.path)
    state.remove("aaaa0001")
    (state.path / "runs" / "aaaa0002" / "bad.json").write_text("{")
    index_store.sync(state.path)

    with index_store.open_index(state.path) as index:
        assert () == index.trace_databases()
