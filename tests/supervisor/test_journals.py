"""The journals that a supervisor writes, their caps and their damage; statuses that are made again."""

from dataclasses import replace
from pathlib import Path

import pytest
from supervisor_lab import Host, records

from agent_workflow.evidence_schemas import IncidentEvent, RemediationEvent, RunHealthSample, SessionStatus

SAMPLES, INCIDENTS, REMEDIATIONS = "run-health-samples.jsonl", "incident-events.jsonl", "remediation-events.jsonl"


def test_samples_stop_at_their_cap_and_one_record_says_so(host: Host) -> None:
    """The journal grows no further; the run is watched on, and the report says what is not recorded."""
    run = host.run()
    host.settings = replace(host.settings, sample_bytes=4000)

    for _ in range(8):
        report = host.look(1)
    for _ in range(2):
        host.look_anew(1)

    size = (run.directory / SAMPLES).stat().st_size
    assert 4000 <= size < 4000 + 2000
    notes = run.records(INCIDENTS)
    assert [("journal_cap", SAMPLES)] == [(note["category"], note["evidence"]["journal"]) for note in notes]
    assert (False, True) == (report.health[0].is_recorded, report.health[0].sample is not None)
    assert [f"run-one: {SAMPLES} is at its cap; no more is appended to it"] == report.notices


def test_stall_is_seen_beyond_the_cap(host: Host) -> None:
    """A supervisor that keeps running remembers what it no longer records."""
    run = host.run()
    host.settings = replace(host.settings, sample_bytes=1500)
    host.look()
    host.look(1)
    run.say("output.log", "a\n")
    host.look(1)
    for _ in range(4):
        host.look(400)

    assert "process_alive_no_progress" in [note["category"] for note in run.records(INCIDENTS)]


def test_events_stop_at_their_cap(host: Host) -> None:
    """The last place of the incident journal says that there are no more."""
    run = host.run()
    host.settings = replace(host.settings, journal_records=5, stall_samples=1)
    host.look()
    for number in range(6):
        host.look(700)
        run.say("output.log", f"{number}\n")
        host.look(1)

    notes = run.records(INCIDENTS)
    assert 5 == len(notes)
    assert ["journal_cap"] == [note["category"] for note in notes[-1:]]
    assert 1 == sum(note["category"] == "journal_cap" for note in notes)


def test_nothing_is_done_without_room_for_the_intent(host: Host) -> None:
    """A remediation that cannot be put on record first does not happen."""
    run = host.run()
    host.settings = replace(host.settings, journal_records=1, stall_samples=1, terminate_stalled=True)
    host.look()
    host.look(700)

    assert [] == run.records(REMEDIATIONS)
    assert run.executor.poll() is None


def test_torn_tail_is_mended_and_damage_in_the_middle_is_told(host: Host) -> None:
    """A record that a killed writer left half is set aside; a damaged line stays, is told, and stops nothing."""
    run = host.run()
    host.look()
    run.say(SAMPLES, '{"schema":"agent-wor')
    torn = host.look(1)
    (run.directory / INCIDENTS).write_text("not json\n")

    damaged = host.look(1)

    assert [] == torn.errors
    assert 3 == len(run.records(SAMPLES))
    assert [("run-one", "line 1 is damaged")] == [(fault.session_id, fault.reason) for fault in damaged.errors]
    assert damaged.health[0].is_recorded


def test_one_bad_run_does_not_hide_the_others(host: Host) -> None:
    """A linked journal, a status that is no object, an empty directory: each is told, the rest is watched."""
    good, linked = host.run("good"), host.run("linked")
    (linked.directory / INCIDENTS).symlink_to(good.directory / "status.json")
    broken, empty = host.root / "runs/broken", host.root / "runs/empty"
    for directory in (broken, empty):
        directory.mkdir()
    (broken / "status.json").write_text("[]")

    report = host.look()

    assert ["good"] == [health.session_id for health in report.health]
    assert {"broken", "linked"} == {fault.session_id for fault in report.errors}
    assert ["empty is empty: no run yet, or one that was never begun"] == report.notices
    assert all(fault.path.startswith(str(host.root)) and fault.reason for fault in report.errors)


@pytest.mark.parametrize("how", ["missing", "damaged"])
def test_status_is_made_again(host: Host, how: str) -> None:
    """From launch contract and lifecycle journal; the run is then watched in the same cycle."""
    run = host.run()
    status = run.directory / "status.json"
    status.unlink()
    if how == "damaged":
        status.write_text('{"status": "runn')

    report = host.look()

    made = SessionStatus.model_validate(run.document("status.json"))
    assert ("running", "run-one", "repair") == (made.status, made.session_id, made.projection_source)
    rule = "rebuild-status/v1"
    assert [(rule, "intended"), (rule, "applied")] == [
        (record["rule_id"], record["outcome"]) for record in run.records(REMEDIATIONS)
    ]
    assert ["run-one"] == [health.session_id for health in report.health]
    if how == "damaged":
        assert 16 == run.records(REMEDIATIONS)[-1]["details"]["replaced_bytes"]


def test_run_that_is_only_being_made_gets_no_status_from_us(host: Host) -> None:
    """A launch contract alone does not say that there was a status."""
    run = host.run()
    for name in ("status.json", "events.jsonl"):
        (run.directory / name).unlink()

    report = host.look()

    assert not (run.directory / "status.json").exists()
    assert ([], ["run-one has no status, and nothing says what it was"]) == (report.errors, report.notices)


def test_status_is_made_again_only_so_often(host: Host) -> None:
    """Something removes it again and again: after the last attempt a person has to look."""
    run = host.run()
    for _ in range(5):
        (run.directory / "status.json").unlink(missing_ok=True)
        report = host.look(1)

    outcomes = [record["outcome"] for record in run.records(REMEDIATIONS)]
    assert [*["intended", "applied"] * 3, "given_up"] == outcomes
    assert ["run-one"] == [fault.session_id for fault in report.errors]


def test_every_record_is_what_its_contract_says(host: Host) -> None:
    """Samples, incidents and remediations of an eventful run validate."""
    run = host.run()
    (run.directory / "status.json").unlink()
    host.settings = replace(host.settings, interrupt_stalled=True, stall_samples=2)
    for _ in range(4):
        host.look(700 if run.records(SAMPLES) else 0)

    for name, model in ((SAMPLES, RunHealthSample), (INCIDENTS, IncidentEvent), (REMEDIATIONS, RemediationEvent)):
        found = run.records(name)
        assert found, name
        for record in found:
            model.model_validate(record)
            assert "run-one" == record["session_id"]


def test_files_are_for_their_owner_only(host: Host) -> None:
    """Journals and the lock are 0600."""
    run = host.run()
    host.look()

    for path in (run.directory / SAMPLES, host.root / "supervisor.lock"):
        assert 0o600 == path.stat().st_mode & 0o777
    assert records(Path(run.directory / SAMPLES))
