"""Append-only files: whole lines, torn tails, damage."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent_workflow.tracer import TraceWriteFailed
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import Journal, records, torn_tail
from agent_workflow.tracer._replay import StateFollower, replay_state


def test_records_come_back_in_order(tmp_path: Path) -> None:
    """What was appended is read with its line numbers."""
    journal = Journal(tmp_path / "a.jsonl")
    starts = [journal.append(b'{"n": %d}\n' % n) for n in range(3)]
    journal.close()

    assert [0, 9, 18] == starts
    assert [(1, {"n": 0}), (2, {"n": 1}), (3, {"n": 2})] == [(r.number, r.value) for r in records(tmp_path / "a.jsonl")]


def test_torn_tail_waits_for_its_end(tmp_path: Path) -> None:
    """A reader passes over a line that is not finished yet, and says how much of it is there."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n{"n": 2')

    assert [{"n": 1}] == [record.value for record in records(path)]
    assert 7 == torn_tail(path)


@pytest.mark.parametrize(("torn", "kept"), [(b'{"n": 2', 1), (b'{"n": 2}', 2), (b"\x00\x00\xe2\x80", 1)])
def test_torn_tail_is_settled_before_the_next_append(tmp_path: Path, torn: bytes, kept: int) -> None:
    """Half a record is moved aside, a whole one without newline is completed; the next one stands alone."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n' + torn)

    journal = Journal(path)
    journal.append(b'{"n": 3}\n')
    journal.close()

    assert [*[{"n": 1}, {"n": 2}][:kept], {"n": 3}] == [record.value for record in records(path)]
    aside = path.with_name("a.jsonl.torn")
    assert (torn + b"\n" if kept == 1 else None) == (aside.read_bytes() if aside.exists() else None)


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[1]",
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": 1e999}',
        b'{"a": "\xff"}',
        b'{"a": ' + b"[" * 5000 + b"]" * 5000 + b"}",
        b'{"a": ' + b"[" * 300 + b"]" * 300 + b"}",
        b'{"a": ' + b"9" * 5000 + b"}",
        b"\x00" * 100,
        b"",
    ],
    ids=["text", "array", "repeated key", "NaN", "infinity", "overflow", "not UTF-8", "very deep", "deep",
         "long number", "NUL", "empty"],
)  # fmt: skip
def test_damage_in_the_middle(tmp_path: Path, line: bytes) -> None:
    """A damaged line is told with its number, and the lines around it are read."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"n": 1}\n' + line + b'\n{"n": 3}\n')

    found = list(records(path))

    assert [{"n": 1}, None, {"n": 3}] == [record.value for record in found]
    assert found[1].fault
    assert 2 == found[1].number


def test_rows_are_followed(tmp_path: Path) -> None:
    """What was written since the last look is added to the rows; a line that is not finished is read when it is."""
    files = SessionFiles(tmp_path)
    follower = StateFollower(files)
    line = b'{"table": "phases", "row": {"phase_id": "%s", "status": "running"}}\n'

    assert [] == follower.read().of("phases")
    files.state.write_bytes(line % b"a" + b"damaged\n" + (line % b"b")[:9])
    assert ["a"] == [row["phase_id"] for row in follower.read().of("phases")]
    with files.state.open("ab") as stream:
        stream.write((line % b"b")[9:] + (line % b"a").replace(b"running", b"fail"))
    assert [("a", "fail"), ("b", "running")] == [
        (row["phase_id"], row["status"]) for row in follower.read().of("phases")
    ]
    assert replay_state(files).rows == follower.read().rows
    assert 1 == len(follower.read().faults)


def test_separators_inside_of_strings_split_nothing(tmp_path: Path) -> None:
    """Only the newline byte ends a line."""
    text = "a\u2028b\u2029c\x85d"
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"t": "{text}"}}\n')

    assert [{"t": text}] == [record.value for record in records(path)]


def test_missing_file_has_no_records(tmp_path: Path) -> None:
    """A journal that was never begun is empty."""
    assert [] == list(records(tmp_path / "none.jsonl"))
    assert 0 == torn_tail(tmp_path / "none.jsonl")


def test_link_is_not_followed(tmp_path: Path) -> None:
    """A journal is a file of its own, not a link to another."""
    (tmp_path / "target").touch()
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "target")

    with pytest.raises(OSError, match="symbolic links"):
        Journal(tmp_path / "a.jsonl")


def test_record_that_does_not_fit_is_taken_back(tmp_path: Path) -> None:
    """When the limit of a file's size cuts a record in two, the file is as it was and the next one stands alone."""
    program = """
import resource, signal, sys
from pathlib import Path
from agent_workflow.tracer import TraceWriteFailed
from agent_workflow.tracer._journal import Journal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Journal(Path(sys.argv[1]))
journal.append(b'{"n": 1}\\n')
resource.setrlimit(resource.RLIMIT_FSIZE, (14, resource.RLIM_INFINITY))
try:
    journal.append(b'{"n": 22222222}\\n')
except TraceWriteFailed as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
journal.append(b'{"n": 3}\\n')
"""
    path = tmp_path / "a.jsonl"
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True)

    assert "no space left" in done.stdout
    assert not path.with_name("a.jsonl.torn").exists()
    assert b'{"n": 1}\n{"n": 3}\n' == path.read_bytes()


def test_what_another_process_wrote_behind_a_cut_record_stays(tmp_path: Path) -> None:
    """A record that was cut in two is not taken back where that would take another one with it."""
    path = tmp_path / "a.jsonl"
    journal = Journal(path)
    path.write_bytes(b'{"n": 1}\n{"n": 2\n{"n": 3}\n')

    journal._take_back(9, 7)
    journal.append(b'{"n": 4}\n')
    journal.close()

    assert [{"n": 1}, None, {"n": 3}, {"n": 4}] == [record.value for record in records(path)]


def test_two_writers_take_turns(tmp_path: Path) -> None:
    """Two journals on one file interleave whole lines."""
    path = tmp_path / "a.jsonl"
    one, two = Journal(path), Journal(path)
    for n in range(50):
        (one if n % 2 else two).append(b'{"n": %d}\n' % n)
    one.close()
    two.close()

    assert list(range(50)) == [record.value["n"] for record in records(path) if record.value]


def test_a_closed_journal_refuses(tmp_path: Path) -> None:
    """Nothing is acknowledged that is not written."""
    journal = Journal(tmp_path / "a.jsonl")
    journal.close()
    journal.close()

    with pytest.raises(TraceWriteFailed):
        journal.append(b"{}\n")
