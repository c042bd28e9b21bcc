"""What another supervisor saw and did about genuine runs is shown: incidents, permissions, remediations, health."""

import json
from typing import Any

import pytest

from agent_workflow import index_store

from .corpus_reading import Expected
from .evidence_files import EvidenceRoot
from .genuine_run import GenuineRun

pytestmark = pytest.mark.corpus


def answers(root: EvidenceRoot, kind: str, session_id: str, *columns: str) -> list[tuple[Any, ...]]:
    """Ask about one run, oldest row first."""
    rows = index_store.query(root.path, kind, index_store.Filters(session=session_id)).rows
    return [tuple(row[column] for column in columns) for row in reversed(rows)]


def overview(root: EvidenceRoot, session_id: str) -> tuple[Any, ...]:
    """Return what is open, since when, what is pending, and when a sample was taken last."""
    columns = ("open_incident_count", "last_open_incident_at", "pending_permission_count", "last_health_at")
    return answers(root, "runs", session_id, *columns)[0]


INCIDENT = ("category", "severity", "state", "summary")


def test_a_run_that_waited_for_a_permission_shows_it(root: EvidenceRoot) -> None:
    """Both of its incidents, the permission it waited for, and what is still open."""
    session_id = "supervisor-permission"

    assert [
        ("permission_wait", "high", "open", "executor is waiting for an authority decision"),
        ("command_not_found", "high", "open", "executor finished with a classified failure"),
    ] == answers(root, "incidents", session_id, *INCIDENT)
    assert [
        ("executor_interaction", "unknown", None, "pending", "executor_stderr", "human_authority_required")
    ] == answers(
        root,
        "permissions",
        session_id,
        *("operation", "resource_class", "target", "state", "source", "remediation_class"),
    )
    assert [] == answers(root, "remediations", session_id, "action")
    assert [1, 1, 1, 0] == [alive for (alive,) in answers(root, "health", session_id, "executor_alive")]
    assert (
        *(2, "2026-11-30T07:15:24.196279+00:00"),
        *(1, "2026-11-30T07:15:24.189996+00:00"),
    ) == overview(root, session_id)


def test_a_run_that_stalled_shows_what_was_done_about_it(root: EvidenceRoot) -> None:
    """The probe names the incident that it was an answer to; the text of its reason stays out."""
    session_id = "supervisor-stall"
    stall = "1f70ab1ffe9bfe6fe51dbe99"

    assert [
        ("process_alive_no_progress", "high", "open", "executor is alive but semantic progress is stale"),
        ("command_not_found", "high", "open", "executor finished with a classified failure"),
    ] == answers(root, "incidents", session_id, *INCIDENT)
    assert [(stall, "request_progress_probe", "requested", "SAFE-PROBE-STALL-v1")] == answers(
        root, "remediations", session_id, "incident_id", "action", "outcome", "rule_id"
    )
    sources = answers(root, "health", session_id, "last_semantic_progress_source", "seconds_since_semantic_progress")
    assert [("stderr", 0.631), ("output", 120.218)] == sources[:2]
    assert [("steering_delivery", 0.493), ("steering_delivery", 10.102)] == [sources[2], sources[5]]
    assert (
        *(2, "2026-11-30T07:15:13.978221+00:00"),
        *(0, "2026-11-30T07:15:13.976601+00:00"),
    ) == overview(root, session_id)


def test_a_run_whose_status_was_repaired_shows_that(root: EvidenceRoot) -> None:
    """A remediation needs no incident."""
    session_id = "supervisor-repair"

    assert [(None, "repair_status_projection", "applied", "SAFE-REPAIR-STATUS-v1")] == answers(
        root, "remediations", session_id, "incident_id", "action", "outcome", "rule_id"
    )
    assert [] == answers(root, "incidents", session_id, "category")
    assert (0, None, 0, "2026-11-30T07:15:24.519909+00:00") == overview(root, session_id)


@pytest.mark.parametrize(
    ("kind", "journal"),
    [
        ("incidents", "incident-events.jsonl"),
        ("permissions", "permission-events.jsonl"),
        ("remediations", "remediation-events.jsonl"),
        ("health", "run-health-samples.jsonl"),
    ],
)
def test_every_record_of_a_supervisor_is_an_answer(
    root: EvidenceRoot, current_runs: list[GenuineRun], kind: str, journal: str
) -> None:
    """As many of each run as lines in its journal, and by no filter more."""
    written = {run.session_id: lines for run in current_runs if (lines := count(run, journal))}

    rows = index_store.query(root.path, kind, limit=10_000).rows
    told = {session_id: len(answers(root, kind, session_id, "session_id")) for session_id in written}

    assert written
    assert written == told
    assert sum(written.values()) == len(rows)


def test_runs_that_need_somebody_are_those_whose_journals_end_so(
    root: EvidenceRoot, expected: Expected, current_runs: list[GenuineRun]
) -> None:
    """Open and pending by the last record of each subject, over all runs; a run in error needs nothing."""
    rows = index_store.query(root.path, "runs", limit=10_000).rows
    told = {row["session_id"]: (row["open_incident_count"], row["pending_permission_count"]) for row in rows}

    justified = dict.fromkeys(expected, (0, 0))
    for run in current_runs:
        incidents = {record["incident_id"]: record["state"] for record in records(run, "incident-events.jsonl")}
        permissions = {
            (record["operation"], record["resource_class"], record["target"]): record["state"]
            for record in records(run, "permission-events.jsonl")
        }
        states = [*incidents.values()].count("open"), [*permissions.values()].count("pending")
        justified[run.session_id] = states

    assert sum(any(states) for states in justified.values()) > 10
    assert justified == told


def count(run: GenuineRun, journal: str) -> int:
    """Count the lines of a journal; a missing one has none."""
    path = run.path / journal
    return path.read_bytes().count(b"\n") if path.is_file() else 0


def records(run: GenuineRun, journal: str) -> list[dict[str, Any]]:
    """Read a journal by plain means."""
    path = run.path / journal
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.is_file() else []
