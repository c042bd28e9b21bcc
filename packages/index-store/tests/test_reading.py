"""Reading sources: bounded, regular, noticed when they change, and late enough for their times to tell."""

import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_workflow.index_store import indexing, reading
from agent_workflow.index_store.discovery import Candidate
from agent_workflow.index_store.errors import UnreadableSource, UnsafeSource, UnsettledSource
from agent_workflow.index_store.scanning import RunScan, scan_run


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    """The descriptor of a run directory at ``tmp_path``."""
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


def test_bytes_come_back_as_they_are(tmp_path: Path, folder: int) -> None:
    """Nothing is decoded, stripped or normalised."""
    (tmp_path / "x.jsonl").write_bytes(b"\r\n\x85\xff\x00")

    content = reading.read_source(folder, "x.jsonl", "jsonl")

    assert (content.data, content.moved) == (b"\r\n\x85\xff\x00", False)


def test_file_over_the_limit_is_refused(tmp_path: Path, folder: int) -> None:
    """A sparse file of one byte too many is not read."""
    (tmp_path / "x.json").touch()
    os.truncate(tmp_path / "x.json", reading.MAXIMUM_SOURCE_BYTES + 1)

    with pytest.raises(UnreadableSource, match="more than"):
        reading.read_source(folder, "x.json", "json")


@pytest.mark.parametrize("kind", ["link", "fifo", "directory", "link below"])
def test_anything_but_a_regular_file_is_refused_without_blocking(tmp_path: Path, folder: int, kind: str) -> None:
    """A FIFO nobody writes to must not hang the index."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "x.json").write_bytes(b"{}")
    path = "x.json"
    if kind == "link":
        (tmp_path / "x.json").symlink_to("real/x.json")
    elif kind == "fifo":
        os.mkfifo(tmp_path / "x.json")
    elif kind == "directory":
        (tmp_path / "x.json").mkdir()
    else:
        (tmp_path / "below").symlink_to("real")
        path = "below/x.json"

    with pytest.raises(UnsafeSource):
        reading.read_source(folder, path, "json")


def test_journal_that_grows_meanwhile_gives_what_was_there(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The records behind are left to the next sync, which is told to look."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"1\n")
    real_read = os.read

    def read_then_grow(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        with path.open("ab") as file:
            file.write(b"2\n")
        return data

    monkeypatch.setattr(os, "read", read_then_grow)
    content = reading.read_source(folder, "x.jsonl", "jsonl")

    assert (content.data, content.moved) == (b"1\n", True)


def test_document_that_keeps_changing_is_left_to_the_next_sync(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two looks that never agree are no answer."""
    path = tmp_path / "x.json"
    path.write_bytes(b"{}")
    real_read = os.read

    def read_then_rewrite(descriptor: int, size: int) -> bytes:
        data = real_read(descriptor, size)
        path.write_bytes(path.read_bytes() + b" ")
        return data

    monkeypatch.setattr(os, "read", read_then_rewrite)

    with pytest.raises(UnsettledSource):
        reading.read_source(folder, "x.json", "json")


def test_journal_is_read_when_its_writer_lets_go(tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that holds the lock is waited for."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"1\n")
    writer = path.open("ab")
    fcntl.flock(writer, fcntl.LOCK_EX)

    def let_go(_: float) -> None:
        writer.write(b"2\n")
        writer.close()

    monkeypatch.setattr(time, "sleep", let_go)  # of the reader, once it waits
    content = reading.read_source(folder, "x.jsonl", "jsonl")

    assert content.data == b"1\n2\n"
    assert writer.closed


def test_journal_that_stays_locked_is_left_to_the_next_sync(
    tmp_path: Path, folder: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One stuck writer holds up its own run for two seconds, not the index."""
    monkeypatch.setattr(reading, "_LOCK_WAIT_SECONDS", 0.05)
    (tmp_path / "x.jsonl").write_bytes(b"1\n")
    with (tmp_path / "x.jsonl").open("ab") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)

        with pytest.raises(UnsettledSource, match="locked"):
            reading.read_source(folder, "x.jsonl", "jsonl")


@pytest.fixture
def scan(tmp_path: Path) -> RunScan:
    """A scan of a run of one file, just written."""
    run = tmp_path / "alpha"
    run.mkdir()
    (run / "x.json").write_bytes(b"{}")
    descriptor = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return scan_run(Candidate("alpha", "active"), descriptor)
    finally:
        os.close(descriptor)


def test_fresh_files_are_waited_for_until_a_change_would_show(scan: RunScan) -> None:
    """Behind the wait, a rewrite of the same size gets another ctime."""
    now = time.time_ns()
    settled = indexing.settle(scan._replace(newest_change_ns=now))

    assert settled
    assert time.time_ns() - now >= 20_000_000


def test_old_files_are_not_waited_for(scan: RunScan, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most runs of a host ended long ago."""
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("it waited"))

    assert indexing.settle(scan._replace(newest_change_ns=time.time_ns() - 10**12 + 1))


@pytest.mark.parametrize(
    ("offset", "settled"),
    [(10**12 + 1, False), (-2 * 10**9, False), (-3 * 10**9, True)],
    ids=["in the future", "whole seconds", "whole seconds, long enough ago"],
)
def test_times_that_cannot_tell_leave_the_run_unsettled(
    scan: RunScan, monkeypatch: pytest.MonkeyPatch, offset: int, *, settled: bool
) -> None:
    """A clock that was stepped back, or a file system of whole seconds: the next sync reads again."""
    now = 1_800_000_000 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: now)

    assert settled == indexing.settle(scan._replace(newest_change_ns=now + offset))
