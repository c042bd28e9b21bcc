"""A journal still being written, and what a notice says of one."""

import json

import pytest

from agent_workflow import index_store

from .evidence_files import EvidenceRoot, encode
from .evidence_journals import incident_event
from .index_reading import everything_said_about, row_of, rows_of
from .like_a_rebuild import assert_like_a_rebuild

JOURNAL = "incident-events.jsonl"


@pytest.mark.parametrize(
    "torn", [b'{"schema": "agent-wor', b"\xe2\x80", b"{", b"\x00\x00", b'{"whole": "but no newline"}']
)
def test_a_torn_tail_waits_and_the_complete_records_count(indexed: EvidenceRoot, torn: bytes) -> None:
    """A last line without its newline is no damage: the run stays current with the records that are complete."""
    run = indexed.run("live-run")
    before = rows_of(indexed.database, "incident_events", "session_id = 'live-run'")
    whole = (run.path / JOURNAL).read_bytes()
    (run.path / JOURNAL).write_bytes(whole + torn)

    report = index_store.sync(indexed.path)

    assert report.errors == ()
    assert before == rows_of(indexed.database, "incident_events", "session_id = 'live-run'")
    assert_like_a_rebuild(indexed)


def test_a_torn_tail_counts_once_it_is_complete(indexed: EvidenceRoot) -> None:
    """The rest of a torn line makes one more record, and the line number is right."""
    run = indexed.run("live-run")
    line = encode(incident_event(run.session_id, 70))
    with (run.path / JOURNAL).open("ab") as journal:
        journal.write(line[:50])
    index_store.sync(indexed.path)
    with (run.path / JOURNAL).open("ab") as journal:
        journal.write(line[50:])

    index_store.sync(indexed.path)

    newest = row_of(indexed.database, "incident_events", "session_id = 'live-run' AND source_sequence = 4")
    assert incident_event(run.session_id, 70)["recorded_at"] == newest["recorded_at"]
    assert_like_a_rebuild(indexed)


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\u0085", "\x7f", "\ufeff", "\U0001f600", "\\r", "\\u0000"])
def test_a_character_that_some_take_for_a_line_end_ends_no_line(indexed: EvidenceRoot, mark: str) -> None:
    """Only a newline ends a record, whatever else Python's own line splitting would split at."""
    run = indexed.run("live-run")
    line = encode(incident_event(run.session_id, 70)).decode().replace("No semantic", f"No{mark}semantic")
    with (run.path / JOURNAL).open("ab") as journal:
        journal.write(line.encode())

    report = index_store.sync(indexed.path)

    assert report.errors == ()
    newest = row_of(indexed.database, "incident_events", "session_id = 'live-run' AND source_sequence = 4")
    assert json.loads(line)["summary"] == newest["summary"]


def test_a_notice_about_a_journal_names_the_line(indexed: EvidenceRoot) -> None:
    """A record of an unknown contract is told by file and line, as an error would be."""
    run = indexed.run("live-run")
    run.append(JOURNAL, incident_event(run.session_id, 70, schema="agent-workflow/incident-event/v9"))

    index_store.sync(indexed.path)

    said = everything_said_about(indexed.database, run.session_id)
    assert JOURNAL in said
    assert "line 4" in said


def test_an_unknown_contract_is_indexed_by_its_provenance_alone(indexed: EvidenceRoot) -> None:
    """Of a record of an unknown contract the index keeps its place, its contract and its digest."""
    run = indexed.run("live-run")
    record = incident_event(run.session_id, 70, schema="agent-workflow/incident-event/v9", kind="loud")
    run.append(JOURNAL, record)

    index_store.sync(indexed.path)

    event = row_of(
        indexed.database, "events", "session_id = 'live-run' AND relative_path = ? AND source_sequence = 4", JOURNAL
    )
    told = {column: value for column, value in event.items() if value is not None}
    assert {"session_id", "relative_path", "source_sequence", "schema_id", "record_sha256"} == set(told)
    assert event["schema_id"] == "agent-workflow/incident-event/v9"
    assert row_of(indexed.database, "runs", "session_id = 'live-run'")["index_state"] == "current"
