"""A journal that grows costs what it grew, and whatever else happens to one gives the rows of a rebuild."""

import fcntl
import os
from hashlib import sha256
from pathlib import Path

import apsw
import pytest
from index_playground import Playground, dump, permission_record, rebuilt

from agent_workflow import index_store
from agent_workflow.index_store import reading


@pytest.fixture
def ground(tmp_path: Path) -> Playground:
    """A state root with one run whose journal has 1,000 records, synced."""
    ground = Playground(tmp_path)
    ground.create("alpha")
    journal(ground).write_bytes(b"".join(permission_record(number) for number in range(1000)))
    index_store.sync(tmp_path)
    return ground


def journal(ground: Playground) -> Path:
    """Return the path of the journal."""
    return ground.root / "runs" / "alpha" / "permission-events.jsonl"


def parsed_of(report: index_store.SyncReport) -> int:
    """Return how many records of the one journal were parsed."""
    return sum(run.records_parsed for run in report.indexed)


def test_one_appended_record_parses_one_record(ground: Playground) -> None:
    """The rest of the journal is only hashed."""
    with journal(ground).open("ab") as file:
        file.write(permission_record(2000))

    report = index_store.sync(ground.root)

    assert parsed_of(report) == 1
    assert dump(ground.root) == rebuilt(ground.root)


def test_every_line_is_a_row_wherever_the_pieces_that_are_read_together_end(ground: Playground) -> None:
    """Lines as long as a piece, one byte shorter and longer, several pieces long, and short ones between them."""
    lengths = [20, piece := 128 * 1024, piece - 1, piece + 1, 40, 2 * piece, 2 * piece + 1, 3 * piece, *[600] * 700, 20]
    lines = [b'{"text":"%s"}' % (b"x" * (length - 12)) for length in lengths]
    (ground.root / "runs" / "alpha" / "notes.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))

    index_store.sync(ground.root)

    rows = rows_of(ground.root, "source_sequence, record_sha256", "events", "relative_path = 'notes.jsonl'")
    assert [(number, sha256(line).hexdigest()) for number, line in enumerate(lines, 1)] == rows


def rows_of(root: Path, columns: str, table: str, where: str) -> list[tuple[object, ...]]:
    """Return rows of the index, in the order of their first column."""
    database = apsw.Connection(str(root / "index" / "agent-workflow.sqlite3"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return database.execute(f"SELECT {columns} FROM {table} WHERE {where} ORDER BY 1").fetchall()
    finally:
        database.close()


@pytest.mark.slow
def test_one_record_appended_to_100_000_parses_one_record(tmp_path: Path) -> None:
    """The cost of a sync follows the growth, not the size."""
    ground = Playground(tmp_path)
    ground.create("alpha")
    journal(ground).write_bytes(b"".join(permission_record(number) for number in range(100_000)))
    index_store.sync(tmp_path)
    with journal(ground).open("ab") as file:
        file.write(permission_record(100_000))

    report = index_store.sync(tmp_path)

    assert parsed_of(report) == 1
    assert index_store.query(tmp_path, "runs").rows[0]["journal_record_count"] == 100_001


def test_truncated_journal_is_read_whole(ground: Playground) -> None:
    """Half of the records are gone; those that stay are read again."""
    content = journal(ground).read_bytes()
    os.truncate(journal(ground), content.index(b"\n", len(content) // 2) + 1)

    report = index_store.sync(ground.root)

    assert 0 < parsed_of(report) < 1000
    assert dump(ground.root) == rebuilt(ground.root)


def test_rotation_onto_the_same_inode_is_read_whole(ground: Playground) -> None:
    """The file begins anew and is longer than before: an offset would point into it."""
    inode = journal(ground).stat().st_ino
    journal(ground).write_bytes(b"".join(permission_record(number) for number in range(5000, 6500)))

    report = index_store.sync(ground.root)

    assert journal(ground).stat().st_ino == inode
    assert parsed_of(report) == 1500
    assert dump(ground.root) == rebuilt(ground.root)


def test_changed_byte_in_the_prefix_is_read_whole(ground: Playground) -> None:
    """One byte of the first record differs and a record is appended."""
    with journal(ground).open("r+b") as file:
        content = file.read()
        file.seek(content.index(b"target 0"))
        file.write(b"tArget 0")
        file.seek(0, os.SEEK_END)
        file.write(permission_record(2000))

    report = index_store.sync(ground.root)

    assert parsed_of(report) == 1001
    assert dump(ground.root) == rebuilt(ground.root)


def test_torn_tail_waits_and_is_counted_once_it_is_whole(ground: Playground) -> None:
    """Half a record is no record yet; its second half makes it one."""
    record = permission_record(2000)
    with journal(ground).open("ab") as file:
        file.write(record[:50])
    index_store.sync(ground.root)
    torn = dump(ground.root)
    count_while_torn = len(torn["events"])
    assert torn == rebuilt(ground.root)
    with journal(ground).open("ab") as file:
        file.write(record[50:])

    report = index_store.sync(ground.root)

    assert (count_while_torn, parsed_of(report)) == (1000, 1)
    assert dump(ground.root) == rebuilt(ground.root)


def test_damage_in_the_middle_is_an_error_with_its_line(ground: Playground) -> None:
    """A line that is no JSON, with a whole record behind it, is no tail."""
    with journal(ground).open("ab") as file:
        file.write(b'{"torn": \n' + permission_record(2000))

    report = index_store.sync(ground.root)

    assert [error.error.split(": ")[0] for error in report.errors] == ["permission-events.jsonl:1001"]


def test_lost_rows_make_the_journal_be_read_whole(ground: Playground) -> None:
    """A checkpoint that speaks of rows that are not there is not believed."""
    database = apsw.Connection(str(ground.root / "index" / "agent-workflow.sqlite3"))
    database.execute("DELETE FROM events WHERE source_sequence > 990")
    database.close()
    with journal(ground).open("ab") as file:
        file.write(permission_record(2000))

    report = index_store.sync(ground.root)

    assert parsed_of(report) == 1001


def test_lines_that_an_agent_printed_are_told_and_counted(ground: Playground) -> None:
    """A warning in the stream of an agent program is no bad evidence: it is a row by its provenance, and told."""
    stream = ground.root / "runs" / "alpha" / "executor-events.jsonl"
    stream.write_bytes(b'{"type":"start"}\nWARNING: slow network\n{"type":"end"}\n')
    index_store.sync(ground.root)
    with stream.open("ab") as file:
        file.write(b"bye\n")

    report = index_store.sync(ground.root)

    assert [notice.detail for notice in report.notices] == [
        "2 lines are no records; the first is executor-events.jsonl:2: not JSON: expected value at column 1"
    ]
    assert report.errors == ()
    assert dump(ground.root) == rebuilt(ground.root)
    assert len(dump(ground.root)["events"]) == 1004


def test_directory_that_holds_another_session_is_told(ground: Playground) -> None:
    """A copied run is shown twice; the notice says which of them is the copy."""
    copy = ground.root / "runs" / "copy-of-alpha"
    copy.mkdir()
    (copy / "status.json").write_bytes((ground.root / "runs" / "alpha" / "status.json").read_bytes())

    report = index_store.sync(ground.root)

    assert [(notice.session_id, notice.kind) for notice in report.notices] == [("copy-of-alpha", "other_session")]


def test_journal_that_stays_locked_leaves_the_rows_as_they_were(
    ground: Playground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stuck writer makes a run stale, not an error, and is waited for once."""
    monkeypatch.setattr(reading, "_LOCK_WAIT_SECONDS", 0.1)
    with journal(ground).open("ab") as file:
        file.write(permission_record(2000))
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        report = index_store.sync(ground.root)
        status = index_store.status(ground.root).freshness

    assert [notice.kind for notice in report.notices] == ["unsettled"]
    assert (status.word, status.stale_runs, status.error_runs) == ("stale", 1, 0)
    assert parsed_of(index_store.sync(ground.root)) == 1
    assert dump(ground.root) == rebuilt(ground.root)
