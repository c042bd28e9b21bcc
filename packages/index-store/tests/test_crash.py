"""A writer that dies at any moment leaves an index that opens, and that the next sync completes."""

import errno
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from index_playground import Rows, dump
from mortal_process import DONE, KILLED, MortalProcess, Outcome, mortal_processes
from sample_records import incident, lifecycle
from sample_state import StateRoot, write_rich_run

from agent_workflow import index_store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def process() -> Iterator[MortalProcess]:
    """Give a process whose children can be killed."""
    with mortal_processes(1) as (one,):
        yield one


class Host:
    """A state root whose evidence moved on since it was indexed, with the index as it was before."""

    def __init__(self, folder: Path) -> None:
        self.state = StateRoot(folder / "state")
        self._saved = folder / "saved index"
        for session_id in ("changed", "grown", "unchanged"):
            write_rich_run(self.state, session_id)
        self.state.run("mended").document("status.json", {"schema": "agent-workflow/session-status/v2"})
        self.state.run("gone")
        self.state.run("sealed", archived=True).seal()
        index_store.rebuild(self.state.path)
        self.files = self.state.index_files()
        self.before = dump(self.state.path)
        shutil.copytree(self.state.index, self._saved)
        self._move_on()
        index_store.rebuild(self.state.path)
        self.after = dump(self.state.path)

    def _move_on(self) -> None:
        self.state.run("changed", status="completed")
        self.state.run("mended")
        self.state.run("new")
        self.state.remove("gone")
        grown = write_rich_run(self.state, "grown")
        grown.journal("events.jsonl", [lifecycle(number) for number in range(3, 40)])
        grown.journal("incidents.jsonl", [incident(2, state="resolved")])

    def restore(self, *, indexed: bool) -> None:
        """Bring back the old index, or none at all."""
        shutil.rmtree(self.state.index)
        if indexed:
            shutil.copytree(self._saved, self.state.index)


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    """Give a state root that every test of a death begins with."""
    return Host(tmp_path_factory.mktemp("host"))


def readable(host: Host) -> Rows | None:
    """Ask as a user does; return all rows, or None where the index says that it is not there yet."""
    try:
        index_store.query(host.state.path, "runs", limit=10_000)
    except index_store.MissingDatabase:
        return None
    return dump(host.state.path)


def spread(points: int) -> list[int]:
    """Return the first and the last 25 points, and some 30 between."""
    between = range(26, max(26, points - 25), max(1, (points - 50) // 30))
    return sorted({*range(1, min(points, 25) + 1), *between, *range(max(1, points - 24), points + 1)})


def count_points(host: Host, process: MortalProcess, name: str, *, indexed: bool, small_cache: bool = False) -> int:
    """Let a writer live and return how many points it passes."""
    host.restore(indexed=indexed)
    outcome = process.call(name, host.state.path, small_cache=small_cache)
    assert DONE == outcome.word, outcome
    return outcome.points


def test_a_sync_killed_at_any_point_is_completed_by_the_next(host: Host, process: MortalProcess) -> None:
    """Every run then has its old rows or its new ones, and the next sync leaves a rebuild's rows."""
    for point in spread(count_points(host, process, "sync", indexed=True)):
        host.restore(indexed=True)

        outcome = process.call("sync", host.state.path, die_at=point)
        left = readable(host)
        index_store.sync(host.state.path)
        files = host.state.index_files()

        assert KILLED == outcome.word
        assert left is not None
        assert set(left["runs"]) <= set(host.before["runs"]) | set(host.after["runs"]), point
        assert host.files == files, point
        assert host.after == dump(host.state.path), point


def test_a_rebuild_killed_at_any_point_leaves_the_old_rows_or_the_new(host: Host, process: MortalProcess) -> None:
    """Never a mixture; and the next sync leaves a rebuild's rows."""
    for point in spread(count_points(host, process, "rebuild", indexed=True)):
        host.restore(indexed=True)

        outcome = process.call("rebuild", host.state.path, die_at=point)
        left = readable(host)
        index_store.sync(host.state.path)
        files = host.state.index_files()

        assert KILLED == outcome.word
        assert left in (host.before, host.after), point
        assert host.files == files, point
        assert host.after == dump(host.state.path), point


@pytest.mark.parametrize("small_cache", [False, True], ids=["small index", "larger than the cache"])
def test_a_first_rebuild_killed_at_any_point_leaves_nothing_or_all(
    host: Host, process: MortalProcess, *, small_cache: bool
) -> None:
    """Until it is whole there is no index; a reader is told so, and the next sync makes one."""
    points = count_points(host, process, "rebuild", indexed=False, small_cache=small_cache)
    for point in spread(points):
        host.restore(indexed=False)

        outcome = process.call("rebuild", host.state.path, die_at=point, small_cache=small_cache)
        left = readable(host)
        index_store.sync(host.state.path)

        assert KILLED == outcome.word
        assert left in (None, host.after), point
        assert host.after == dump(host.state.path), point


def test_an_initialize_killed_at_any_point_is_completed_by_the_next_sync(host: Host, process: MortalProcess) -> None:
    """A database that is empty or half made is no obstacle."""
    for point in spread(count_points(host, process, "initialize", indexed=False))[::4]:
        host.restore(indexed=False)

        process.call("initialize", host.state.path, die_at=point)
        index_store.sync(host.state.path)

        assert host.after == dump(host.state.path), point


@pytest.mark.parametrize("name", ["sync", "rebuild"])
def test_a_writer_killed_again_and_again_still_ends_well(host: Host, process: MortalProcess, name: str) -> None:
    """Deaths at any time, one upon the other, without anybody cleaning up between them."""
    rng = random.Random(name)
    host.restore(indexed=True)

    for _ in range(40):
        process.call(name, host.state.path, die_after=rng.uniform(0.0, 0.06))
        left = readable(host)
        assert left is not None
        assert set(left["runs"]) <= set(host.before["runs"]) | set(host.after["runs"])
    index_store.sync(host.state.path)
    files = host.state.index_files()

    assert host.files == files
    assert host.after == dump(host.state.path)


def test_the_scratch_of_a_dead_rebuild_is_harmless(host: Host, process: MortalProcess) -> None:
    """Readers do not see it, and the next sync removes it."""
    points = count_points(host, process, "rebuild", indexed=True)
    host.restore(indexed=True)
    process.call("rebuild", host.state.path, die_at=points // 2)

    left_behind = host.state.index_files()
    left = readable(host)
    index_store.sync(host.state.path)

    assert "rebuild.sqlite3" in left_behind
    assert host.before == left
    assert host.files == host.state.index_files()


def test_the_lock_of_a_dead_writer_is_free(host: Host, process: MortalProcess) -> None:
    """The file that it left names it still, and nobody waits for it."""
    host.restore(indexed=True)
    process.call("sync", host.state.path, die_at=40)

    report = index_store.sync(host.state.path, lock_timeout_seconds=0)

    assert "new" in {run.session_id for run in report.indexed}


def die_leaving_a_wal(process: MortalProcess, state: StateRoot, saved: Path) -> None:
    """Let a sync die as late as it can while its transactions are still in the WAL."""
    wal = state.database.with_name(state.database.name + "-wal")
    shutil.copytree(state.index, saved)
    points = process.call("sync", state.path).points
    for point in range(points, 0, -1):
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        process.call("sync", state.path, die_at=point)
        if wal.exists() and wal.stat().st_size:
            return
    pytest.fail("no death leaves a WAL")


@pytest.fixture
def grown(tmp_path: Path, process: MortalProcess) -> StateRoot:
    """Give an index of a small run in the file, and a large run in the WAL of a dead writer."""
    state = StateRoot(tmp_path / "state")
    state.run("small")
    index_store.rebuild(state.path)
    state.run("large").journal("events.jsonl", [lifecycle(number) for number in range(1, 2000)])
    die_leaving_a_wal(process, state, tmp_path / "saved")
    return state


def test_a_wal_of_a_dead_writer_is_read_by_everybody(grown: StateRoot) -> None:
    """What was committed and not yet moved into the file counts."""
    rows = index_store.query(grown.path, "runs").rows

    assert ["large", "small"] == [row["session_id"] for row in rows]


def test_a_checkpoint_cut_off_after_its_first_page_is_no_damage(grown: StateRoot) -> None:
    """The first page then speaks of pages that only the WAL has yet, and readers read on."""
    connection = apsw.Connection(str(grown.database), flags=apsw.SQLITE_OPEN_READONLY)
    first_page = connection.serialize("main")[:4096]
    connection.close()
    with grown.database.open("r+b") as file:
        file.write(first_page)

    rows = index_store.query(grown.path, "runs").rows
    index_store.sync(grown.path)

    assert ["large", "small"] == [row["session_id"] for row in rows]
    assert ("ok",) == index_store.verify(grown.path).integrity_check


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of a few megabytes."""
    folder = tmp_path / "disk"
    folder.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=12m,mode=0700", "tmpfs", str(folder)], capture_output=True, text=True
        )
    except FileNotFoundError:
        pytest.skip("there is no mount command here")
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path, *, leave: int = 0) -> Path:
    """Fill a disk to the last block but those of ``leave`` bytes; return the file that does it."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4096))
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
        file.truncate(max(0, file.tell() - leave))
    return ballast


def write(call: str, state: StateRoot) -> Outcome:
    """Call a writer and say how it ended, as a word."""
    try:
        getattr(index_store, call)(state.path)
    except index_store.IndexStoreError as error:
        return Outcome(type(error).__name__, str(error))
    return Outcome(DONE)


@pytest.mark.parametrize("leave", [0, 4096, 40_960, 131_072, 262_144])
@pytest.mark.parametrize("call", ["sync", "rebuild"])
def test_a_full_disk_is_said_and_the_old_content_stays(small_disk: Path, call: str, leave: int) -> None:
    """The writer says that it cannot write; readers go on; with room again, a sync completes the work."""
    state = StateRoot(small_disk / "state")
    for number in range(4):
        write_rich_run(state, f"run-{number}")
    index_store.sync(state.path)
    before = dump(state.path)
    for number in range(4, 40):
        write_rich_run(state, f"run-{number}")
    ballast = fill(small_disk, leave=leave)

    outcome = write(call, state)
    asked = index_store.query(state.path, "runs")
    left = {str(row["session_id"]) for row in asked.rows}
    ballast.unlink()
    index_store.sync(state.path)

    assert "NotWritable" == outcome.word, outcome
    assert {str(row[0]) for row in before["runs"]} <= left
    assert 40 == len(dump(state.path)["runs"])
    index_store.rebuild(state.path)
    assert 40 == len(dump(state.path)["runs"])


def test_a_first_sync_on_a_full_disk_is_said(small_disk: Path) -> None:
    """Nothing is there afterwards that hinders the sync that follows."""
    state = StateRoot(small_disk / "state")
    write_rich_run(state, "run")
    ballast = fill(small_disk, leave=0)

    outcome = write("sync", state)
    ballast.unlink()
    index_store.sync(state.path)

    assert "NotWritable" == outcome.word, outcome
    assert 1 == len(dump(state.path)["runs"])


def test_a_database_is_whole_after_every_death(host: Host, process: MortalProcess) -> None:
    """SQLite's own integrity check agrees, for deaths all over a sync."""
    points = count_points(host, process, "sync", indexed=True)
    for point in range(1, points, 17):
        host.restore(indexed=True)
        process.call("sync", host.state.path, die_at=point)

        report = index_store.verify(host.state.path)

        assert ("ok",) == report.integrity_check
        assert report.foreign_key_errors == ()


def test_a_death_is_seen_by_sqlite_too(tmp_path: Path, process: MortalProcess) -> None:
    """The deaths of these tests are real ones: an open transaction is lost with its process."""
    state = StateRoot(tmp_path / "state")
    state.run("run")
    index_store.sync(state.path)
    outcome = process.call("sync", state.path, die_at=10)

    connection = apsw.Connection(str(state.database), flags=apsw.SQLITE_OPEN_READONLY)
    runs = connection.execute("SELECT count(*) FROM runs").get
    connection.close()

    assert KILLED == outcome.word
    assert 1 == runs
