"""Readers and writers at the same time: the old content or the new one, never neither, never a mixture."""

import threading
from pathlib import Path
from typing import Any

import apsw
import pytest
from index_playground import dump
from mortal_process import DONE, Call, MortalProcess, mortal_processes
from sample_records import lifecycle
from sample_state import StateRoot

from agent_workflow import index_store
from agent_workflow.index_store import database

pytestmark = pytest.mark.slow

MISSING = ["missing"]


class TwoContents:
    """A state root with two sets of runs that take turns; they differ in every run, in number and in size."""

    def __init__(self, path: Path) -> None:
        self.state = StateRoot(path)
        self._aside = path / "the other runs"
        for number in range(12):
            run = self.state.run(f"run-{number:02}", status="completed")
            run.journal("events.jsonl", [lifecycle(sequence) for sequence in range(1, 150)])
        self.large = self._answer()
        (path / "runs").rename(self._aside)
        (path / "runs").mkdir(mode=0o700)
        for number in range(6):
            self.state.run(f"run-{number:02}", status="running")
        self.small = self._answer()

    def _answer(self) -> list[str]:
        """Return what a reader sees of the runs that are there now, from a separate index."""
        runs = sorted((self.state.path / "runs").iterdir())
        status = "completed" if len(runs) == 12 else "running"
        return [f"{run.name} {status} {149 if len(runs) == 12 else 0}" for run in runs]

    def swap(self) -> None:
        """Let the other set of runs be the evidence."""
        runs, between = self.state.path / "runs", self.state.path / "between"
        runs.rename(between)
        self._aside.rename(runs)
        between.rename(self._aside)


@pytest.fixture
def contents(tmp_path: Path) -> TwoContents:
    """Give a state root with two contents, the small one in place."""
    return TwoContents(tmp_path / "state")


def begin_to_watch(readers: list[MortalProcess], contents: TwoContents, until: Path) -> None:
    """Let readers ask without a pause until a file is there."""
    for reader in readers:
        reader.start(Call("watch", str(contents.state.path), until=str(until)))


def test_readers_see_the_old_or_the_new_during_fifty_rebuilds(contents: TwoContents, tmp_path: Path) -> None:
    """The first of which makes the database: only before it may a reader find none."""
    until = tmp_path / "enough"
    with mortal_processes(2) as readers:
        begin_to_watch(readers, contents, until)

        for _ in range(50):
            index_store.rebuild(contents.state.path)
            contents.swap()
        until.touch()
        seen = [reader.finish().answer for reader in readers]

    for answers in seen:
        rest = answers[1:] if answers[0] == MISSING else answers
        assert [] == [answer for answer in rest if answer not in (contents.small, contents.large)]
        assert contents.small in rest
        assert contents.large in rest


def test_readers_see_no_error_during_syncs(contents: TwoContents, tmp_path: Path) -> None:
    """A sync goes run by run: each row is an old one or a new one, and no run that stays is ever away."""
    until = tmp_path / "enough"
    index_store.rebuild(contents.state.path)
    with mortal_processes(2) as readers:
        begin_to_watch(readers, contents, until)

        for _ in range(15):
            contents.swap()
            index_store.sync(contents.state.path)
        until.touch()
        seen = [reader.finish().answer for reader in readers]

    known = set(contents.small) | set(contents.large)
    for answers in seen:
        assert set() == {row for answer in answers for row in answer} - known
        assert [] == [answer for answer in answers if len({row.split()[0] for row in answer}) < 6]


def test_a_reader_with_an_open_transaction_keeps_its_content(
    contents: TwoContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rebuild does not reach into a question that is being answered."""
    monkeypatch.setattr(database, "BUSY_MILLISECONDS", 50)
    index_store.rebuild(contents.state.path)
    reader = apsw.Connection(str(contents.state.database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    before = reader.execute("SELECT session_id FROM runs ORDER BY session_id").fetchall()

    contents.swap()
    index_store.rebuild(contents.state.path)
    still = reader.execute("SELECT session_id FROM runs ORDER BY session_id").fetchall()
    reader.execute("COMMIT")
    then = reader.execute("SELECT count(*) FROM runs").get
    reader.close()

    assert before == still
    assert 12 == then


def test_a_wal_that_a_reader_held_is_shortened_later(contents: TwoContents, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild goes on beside a long reader, and the next writer moves the WAL into the file."""
    monkeypatch.setattr(database, "BUSY_MILLISECONDS", 50)
    wal = contents.state.database.with_name(contents.state.database.name + "-wal")
    index_store.rebuild(contents.state.path)
    reader = apsw.Connection(str(contents.state.database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM runs").fetchall()

    contents.swap()
    index_store.rebuild(contents.state.path)
    held = wal.stat().st_size
    reader.execute("COMMIT")
    index_store.sync(contents.state.path)
    later = wal.stat().st_size
    reader.close()

    assert held > 0
    assert 0 == later


def test_every_rebuild_is_a_generation_of_its_own(tmp_path: Path) -> None:
    """A reader that keeps a cursor can tell that the rows behind it are others."""
    state = StateRoot(tmp_path / "state")
    state.run("run")
    generations = []

    for _ in range(5):
        index_store.rebuild(state.path)
        generations.append(index_store.status(state.path).generation)

    assert None not in generations
    assert 5 == len(set(generations))


def test_a_sync_stays_in_its_generation(tmp_path: Path) -> None:
    """It replaces rows of what changed, and a cursor goes on."""
    state = StateRoot(tmp_path / "state")
    state.run("run")
    index_store.rebuild(state.path)
    before = index_store.status(state.path).generation

    state.run("another")
    index_store.sync(state.path)

    assert before == index_store.status(state.path).generation


@pytest.mark.parametrize("indexed", [False, True], ids=["no index yet", "an index"])
def test_two_syncs_at_once_both_succeed(contents: TwoContents, *, indexed: bool) -> None:
    """One waits for the other, and finds nothing left to do."""
    if indexed:
        index_store.rebuild(contents.state.path)
        contents.swap()
    with mortal_processes(2) as writers:
        for writer in writers:
            writer.start(Call("sync", str(contents.state.path)))
        outcomes = [writer.finish() for writer in writers]

    rows = dump(contents.state.path)
    index_store.rebuild(contents.state.path)

    assert [DONE, DONE] == [outcome.word for outcome in outcomes]
    assert dump(contents.state.path) == rows


def test_a_sync_beside_rebuilds_ends_in_a_rebuilds_rows(contents: TwoContents) -> None:
    """Writers of both kinds, one after the other under one lock."""
    with mortal_processes(2) as writers:
        for _ in range(5):
            for writer, name in zip(writers, ("sync", "rebuild"), strict=True):
                writer.start(Call(name, str(contents.state.path)))
            outcomes = [writer.finish().word for writer in writers]
            assert [DONE, DONE] == outcomes

    rows = dump(contents.state.path)
    index_store.rebuild(contents.state.path)

    assert dump(contents.state.path) == rows


def test_a_run_that_grows_meanwhile_is_right_after_the_next_sync(tmp_path: Path) -> None:
    """What is appended while the run is read is there after the next sync, whole and once."""
    state = StateRoot(tmp_path / "state")
    run = state.run("run")
    journal = run.journal("events.jsonl", [lifecycle(1)])
    index_store.sync(state.path)

    def grow() -> None:
        for number in range(2, 400):
            run.journal("events.jsonl", [lifecycle(number)])

    agent = threading.Thread(target=grow)
    agent.start()
    while agent.is_alive():
        index_store.sync(state.path)
    agent.join()
    index_store.sync(state.path)

    assert 399 == len(journal.read_text().splitlines())
    rows = dump(state.path)
    index_store.rebuild(state.path)
    assert dump(state.path) == rows
    assert 399 == len(rows["events"])


def test_a_first_fill_that_ends_while_its_file_is_judged_is_not_foreign(
    contents: TwoContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first page was not written when it was read, and the journal is gone when it is looked for."""
    index_store.rebuild(contents.state.path)
    database_file = contents.state.database
    journal = database_file.with_name(database_file.name + "-journal")
    whole = database_file.read_bytes()
    database_file.write_bytes(bytes(8192))
    journal.write_bytes(b"pages of a transaction")
    journal.chmod(0o600)
    genuine = apsw.Connection

    class Judging(genuine):  # type: ignore[valid-type,misc] # the type as it was before the patch
        def read(self, *arguments: Any) -> Any:
            found = super().read(*arguments)
            database_file.write_bytes(whole)
            journal.unlink(missing_ok=True)
            return found

    monkeypatch.setattr(apsw, "Connection", Judging)

    with pytest.raises(index_store.MissingDatabase):
        index_store.query(contents.state.path, "runs")

    assert len(contents.small) == len(index_store.query(contents.state.path, "runs").rows)
