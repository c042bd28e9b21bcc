"""Text that people and agents wrote is nowhere in the index: not in the database, its WAL, a report or an error."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from agent_workflow import index_store

from .evidence_documents import completion
from .evidence_files import EvidenceRoot
from .evidence_journals import incident_event
from .evidence_runs import write_live_run
from .index_reading import row_of, rows_of
from .planted_text import Planted, invalid_lines, plant_host

COMMAND = Path(sys.executable).with_name("agent-workflow")


@pytest.fixture
def planted() -> Planted:
    """Return the texts that were planted."""
    return Planted()


@pytest.fixture
def host_of_secrets(tmp_path: Path, planted: Planted) -> EvidenceRoot:
    """Return a state root full of text, not yet indexed."""
    return plant_host(tmp_path / "state", planted)


def bytes_of_the_index(root: EvidenceRoot) -> bytes:
    """Return the bytes of every file that the index keeps."""
    return b"\n".join(path.read_bytes() for path in sorted((root.path / "index").rglob("*")) if path.is_file())


def test_the_texts_are_there_to_be_found(host_of_secrets: EvidenceRoot, planted: Planted) -> None:
    """The evidence holds every planted text, so that not finding one in the index means something."""
    evidence = b"".join(path.read_bytes() for path in host_of_secrets.path.rglob("*") if path.is_file())

    assert len(planted.places) > 90
    assert [place for place in planted.places if place not in planted.met_in(evidence)] == []


def test_the_good_runs_are_indexed_and_the_bad_ones_are_errors(host_of_secrets: EvidenceRoot) -> None:
    """Planted text changes no conclusion: what is valid is current, and what is not is an error."""
    index_store.rebuild(host_of_secrets.path)

    states = {str(row["session_id"]): row["index_state"] for row in rows_of(host_of_secrets.database, "runs")}
    assert {"current"} == {state for name, state in states.items() if name.endswith("-run")}
    assert {"error"} == {state for name, state in states.items() if not name.endswith("-run")}


@pytest.mark.parametrize("action", [index_store.rebuild, index_store.sync], ids=["rebuild", "sync"])
def test_no_text_is_in_the_database(host_of_secrets: EvidenceRoot, planted: Planted, action: object) -> None:
    """Not one planted text is in the bytes of any file of the index."""
    assert callable(action)
    action(host_of_secrets.path)

    assert planted.met_in(bytes_of_the_index(host_of_secrets)) == []


def test_no_text_is_in_the_files_of_a_rebuild_that_goes_on(host_of_secrets: EvidenceRoot, planted: Planted) -> None:
    """After each run of a rebuild the files that it fills hold no text either."""
    met: set[str] = set()

    index_store.rebuild(
        host_of_secrets.path, progress=lambda *_: met.update(planted.met_in(bytes_of_the_index(host_of_secrets)))
    )

    assert met == set()


def test_no_text_is_in_the_write_ahead_log(host_of_secrets: EvidenceRoot, planted: Planted, tmp_path: Path) -> None:
    """With a reader that keeps the log alive, no text is in it during a sync or after."""
    index_store.rebuild(host_of_secrets.path)
    for run in (host_of_secrets.path / "runs").iterdir():
        (run / "status.json").touch()
    write_ahead_log = host_of_secrets.database.with_name(f"{host_of_secrets.database.name}-wal")
    met: set[str] = set()
    seen: list[int] = []

    def look(*_: int) -> None:
        met.update(planted.met_in(bytes_of_the_index(host_of_secrets)))
        seen.append(write_ahead_log.stat().st_size if write_ahead_log.exists() else 0)

    with closing(sqlite3.connect(f"file:{host_of_secrets.database}?mode=ro", uri=True)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchone()
        index_store.sync(host_of_secrets.path, progress=look)
        look()

    assert max(seen) > 0
    assert met == set()


def test_no_text_is_in_what_was_deleted(host_of_secrets: EvidenceRoot, planted: Planted) -> None:
    """A run that was current and turned bad, or went away, leaves no text behind in a free page."""
    index_store.rebuild(host_of_secrets.path)
    live = host_of_secrets.run("live-run")
    live.write("status.json", planted.text("turned bad"))
    index_store.sync(host_of_secrets.path)

    assert planted.met_in(bytes_of_the_index(host_of_secrets)) == []


def test_no_text_is_in_any_report(host_of_secrets: EvidenceRoot, planted: Planted) -> None:
    """Reports of sync, rebuild, verify, status and of every kind of query hold no planted text."""
    root = host_of_secrets.path
    answers: list[object] = [index_store.rebuild(root), index_store.sync(root), index_store.status(root)]
    answers += [index_store.verify(root, full=True)]
    answers += [index_store.verify(root, review=name) for name in ("live-run", "sealed-run", "bad-00")]
    answers += [index_store.query(root, kind, limit=10_000) for kind in index_store.KINDS]

    said = "\n".join(f"{answer!r}\n{answer.to_document()!r}" for answer in answers)  # type: ignore[attr-defined]  # each report has it

    assert planted.met_in(said.encode()) == []


@pytest.mark.parametrize("fault", invalid_lines(Planted()))
def test_the_error_of_an_invalid_record_quotes_nothing_of_it(tmp_path: Path, planted: Planted, fault: str) -> None:
    """An error says what is wrong and where, in words of the contract and never in those of the record."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("bad-run")
    run.write("incident-events.jsonl", invalid_lines(planted)[fault] + b"\n")

    report = index_store.rebuild(root.path)

    (error,) = report.errors
    assert "incident-events.jsonl:1" in error.error
    assert planted.met_in(repr(report).encode() + bytes_of_the_index(root)) == []


def test_an_error_does_not_quote_prose_that_stands_for_a_fields_name(tmp_path: Path, planted: Planted) -> None:
    """A field's name may be text as well: it is named only where it has the shape of a name."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("bad-run")
    record = completion(run.session_id) | {planted.text("name of a field"): True}
    run.write("completion.json", record)

    report = index_store.rebuild(root.path)

    assert len(report.errors) == 1
    assert planted.met_in(repr(report).encode() + bytes_of_the_index(root)) == []


@pytest.mark.skipif(not COMMAND.exists(), reason="the command line is not installed")
@pytest.mark.parametrize(
    "words",
    [
        ["index", "rebuild"],
        ["index", "sync", "--json"],
        ["index", "sync", "--strict"],
        ["index", "verify", "--full"],
        ["index", "verify", "--review", "sealed-run", "--json"],
        ["index", "query", "events", "--json"],
        ["index", "query", "errors", "--wide"],
        ["index", "query", "runs"],
        ["index", "status"],
    ],
    ids=" ".join,
)
def test_the_command_line_prints_no_text(host_of_secrets: EvidenceRoot, planted: Planted, words: list[str]) -> None:
    """Neither what a command prints nor what it complains of holds planted text."""
    index_store.rebuild(host_of_secrets.path)

    done = subprocess.run(
        [COMMAND, "--state-root", host_of_secrets.path, *words], capture_output=True, timeout=120, check=False
    )

    assert done.returncode in (0, 1)
    assert done.stdout
    assert planted.met_in(done.stdout + done.stderr) == []


# What may be kept.


def test_an_incidents_summary_is_kept(tmp_path: Path) -> None:
    """The summary of an incident is there to be shown, in both tables, whole where it is short."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = write_live_run(root.run("live-run"))
    run.write_journal("incident-events.jsonl", [incident_event(run.session_id, 1, summary="two\nlines \U0001f600")])

    index_store.rebuild(root.path)

    for table in ("events", "incident_events"):
        assert row_of(root.database, table, "relative_path = 'incident-events.jsonl'")["summary"] == (
            "two\nlines \U0001f600"
        )


@pytest.mark.parametrize("character", ["x", "é", "\U0001f600"], ids=["1 byte", "2 bytes", "4 bytes"])
def test_a_summary_of_2048_characters_is_kept_whole(tmp_path: Path, character: str) -> None:
    """The bound counts characters, not bytes or UTF-16 units."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("live-run")
    run.write_journal("incident-events.jsonl", [incident_event(run.session_id, 1, summary=character * 2048)])

    report = index_store.rebuild(root.path)

    assert report.errors == ()
    assert row_of(root.database, "incident_events", "1")["summary"] == character * 2048


def test_nothing_behind_the_2048th_character_of_a_summary_is_kept(tmp_path: Path, planted: Planted) -> None:
    """What is longer breaks its contract, and no part of its end is anywhere."""
    root = EvidenceRoot.create(tmp_path / "state")
    run = root.run("live-run")
    summary = "x" * 2048 + planted.text("behind the bound")
    run.write_journal("incident-events.jsonl", [incident_event(run.session_id, 1, summary=summary)])

    report = index_store.rebuild(root.path)

    assert len(report.errors) == 1
    assert planted.met_in(bytes_of_the_index(root) + repr(report).encode()) == []


def test_a_payloads_name_and_time_are_kept(tmp_path: Path) -> None:
    """Of a provider's record its id, time and type are kept where they have the shape of such."""
    root = EvidenceRoot.create(tmp_path / "state")
    payload = {"event_id": "thread-1", "timestamp": "2026-03-01T00:00:03+00:00", "type": "item.completed"}
    root.run("live-run").write_journal("executor-events.jsonl", [payload | {"state": "x", "result": "y"}])

    index_store.rebuild(root.path)

    row = row_of(root.database, "events", "1")
    kept = {name: value for name, value in row.items() if value is not None}
    assert kept.pop("record_sha256")
    assert kept == {
        "session_id": "live-run",
        "relative_path": "executor-events.jsonl",
        "source_sequence": 1,
        "event_id": "thread-1",
        "recorded_at": "2026-03-01T00:00:03+00:00",
        "event_kind": "item.completed",
    }


def test_json_in_the_index_is_only_a_list_of_contracts(host_of_secrets: EvidenceRoot) -> None:
    """No column holds a copied object: the one JSON column lists contract ids."""
    index_store.rebuild(host_of_secrets.path)

    for row in rows_of(host_of_secrets.database, "source_files"):
        ids = json.loads(str(row["schema_ids_json"]))
        assert ids == sorted(set(ids))
        assert all(isinstance(name, str) for name in ids)
