"""Users, modes and disks that take no writes."""

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from mortal_process import DONE, MortalProcess
from safety_ground import CALLS, DATABASE, NOBODY, WRITERS, as_root, picture
from sample_state import StateRoot, write_rich_run

from agent_workflow import index_store

READ_BY_ALL = (".", "runs", "archive", "index", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")


# Users, modes and disks that take no writes.


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that every user can reach, owned by the user that :func:`plain_user` names."""
    folder = Path(tempfile.mkdtemp(prefix="index-store-"))
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def plain_user() -> int | None:
    """Name a user whom modes bind: nobody where the tests run as root, else whoever runs them."""
    if os.geteuid() != 0:
        return None
    for parent in Path(index_store.__file__).resolve().parents:
        if not parent.stat().st_mode & stat.S_IXOTH:
            pytest.skip(f"other users may not read the package: {parent} is closed to them")
    return NOBODY


def give(folder: Path, user: int | None) -> None:
    """Give a folder and everything in it to a user."""
    if user is not None:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, user, user, follow_symlinks=False)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o777], ids=oct)
def test_the_index_is_private_under_any_umask(
    open_folder: Path, plain_user: int | None, process: MortalProcess, umask: int
) -> None:
    """The directories are 0700, every file is 0600, and the next calls work."""
    root = open_folder / "state"

    words = [process.call(name, root, user=plain_user, umask=umask).word for name in ("sync", "query", "sync")]
    words += [process.call(name, root, user=plain_user, umask=umask).word for name in ("rebuild", "query")]
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root, root / "index")}
    files = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (root / "index").iterdir()}

    assert [DONE] * 5 == words
    assert {"state": 0o700, "index": 0o700} == modes
    assert {"agent-workflow.sqlite3", "index.lock"} <= files.keys()
    assert {0o600} == set(files.values())


@pytest.mark.parametrize("umask", [0o000, 0o777], ids=oct)
def test_an_index_directory_that_was_open_to_readers_is_closed(
    open_folder: Path, plain_user: int | None, process: MortalProcess, umask: int
) -> None:
    """The next writer takes away what others may, and gives nobody more."""
    state = StateRoot(open_folder / "state")
    state.index.mkdir()
    state.index.chmod(0o755)
    give(state.path, plain_user)

    outcome = process.call("sync", state.path, user=plain_user, umask=umask)

    assert DONE == outcome.word
    assert 0o700 == stat.S_IMODE(state.index.stat().st_mode)


@pytest.fixture
def read_only(open_folder: Path, plain_user: int | None, process: MortalProcess) -> StateRoot:
    """Give an indexed state root in which its user may write nowhere."""
    state = StateRoot(open_folder / "state")
    write_rich_run(state, "run")
    give(state.path, plain_user)
    outcome = process.call("sync", state.path, user=plain_user)
    assert DONE == outcome.word, outcome
    for path in (*state.path.rglob("*"), state.path):
        path.chmod(0o500 if path.is_dir() else 0o400)
    return state


@pytest.mark.parametrize("name", ["query", "status", "verify"])
def test_a_read_only_state_root_is_read(
    read_only: StateRoot, plain_user: int | None, process: MortalProcess, name: str
) -> None:
    """A cleanly closed index answers, and nothing is left behind."""
    before = picture(read_only.path)

    outcome = process.call(name, read_only.path, user=plain_user)

    assert DONE == outcome.word, outcome
    assert before == picture(read_only.path)


@pytest.mark.parametrize("name", ["sync", "rebuild", "initialize"])
def test_a_read_only_state_root_is_not_written(
    read_only: StateRoot, plain_user: int | None, process: MortalProcess, name: str
) -> None:
    """The writer says so, and does not help itself to the right."""
    before = picture(read_only.path)

    outcome = process.call(name, read_only.path, user=plain_user)

    assert "NotWritable" == outcome.word, outcome
    assert before == picture(read_only.path)


def states_of(state: StateRoot) -> dict[str, str]:
    """Return what the index holds each run to be; whoever runs the tests may not own it."""
    with closing(apsw.Connection(str(state.database), flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        return {str(name): str(word) for name, word in connection.execute("SELECT session_id, index_state FROM runs")}


@pytest.mark.parametrize("place", ["runs", "runs/sealed", "runs/sealed/notes", "runs/live", "runs/live/notes"])
def test_a_directory_that_may_be_listed_and_not_entered_is_an_error_of_its_runs(
    open_folder: Path, plain_user: int | None, process: MortalProcess, place: str
) -> None:
    """Names alone are no evidence. Nothing of other runs is touched, and with the right back all is well."""
    state = StateRoot(open_folder / "state")
    for name in ("live", "other", "sealed"):
        run = state.run(name)
        (run.path / "notes").mkdir(mode=0o700)
        (run.path / "notes" / ("no-source.txt" if name == "sealed" else "source.json")).write_text("{}")
        if name == "sealed":
            run.seal()
    state.run("old", archived=True)
    give(state.path, plain_user)
    (state.path / place).chmod(0o600)

    answers = [process.call(name, state.path, user=plain_user) for name in CALLS]
    states = states_of(state)

    assert [DONE] * len(CALLS) == [answer.word for answer in answers], answers
    bad = {"live", "other", "sealed"} if place == "runs" else {place.split("/")[1]}
    assert {name: "error" if name in bad else "current" for name in ("live", "old", "other", "sealed")} == states
    (state.path / place).chmod(0o700)
    assert DONE == process.call("sync", state.path, user=plain_user).word
    assert {"current"} == set(states_of(state).values())


def test_a_state_root_in_a_read_only_folder_cannot_be_made(
    open_folder: Path, plain_user: int | None, process: MortalProcess
) -> None:
    """The writer says where."""
    open_folder.chmod(0o555)

    outcome = process.call("sync", open_folder / "state", user=plain_user)

    assert "NotWritable" == outcome.word, outcome
    assert str(open_folder / "state") in outcome.message


@as_root
@pytest.mark.parametrize("owned", [".", "index"])
def test_a_directory_of_roots_is_not_written_by_others(
    open_folder: Path, plain_user: int | None, process: MortalProcess, owned: str
) -> None:
    """An administrator's state root can be asked, and says that it takes no writes."""
    state = StateRoot(open_folder / "state")
    state.run("run")
    index_store.sync(state.path)
    for path in (state.path, *state.path.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    if owned == "index":
        os.chown(state.path, NOBODY, NOBODY)

    asked = process.call("query", state.path, user=plain_user)
    written = process.call("sync", state.path, user=plain_user)

    assert DONE == asked.word, asked
    assert "NotWritable" == written.word, written


@pytest.fixture
def read_only_disk(tmp_path: Path) -> Iterator[StateRoot]:
    """Give an indexed state root on a file system that is mounted read-only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = shutil.which("mount")
    if mount is None:
        pytest.skip("there is no mount command here")
    mounted = subprocess.run([mount, "-t", "tmpfs", "tmpfs", str(folder)], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"a file system cannot be mounted: {mounted.stderr.strip()}")
    try:
        state = StateRoot(folder / "state")
        write_rich_run(state, "run")
        index_store.sync(state.path)
        subprocess.run([mount, "-o", "remount,ro", str(folder)], check=True)
        yield state
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_read_only_disk_is_read_and_not_written(read_only_disk: StateRoot) -> None:
    """Questions are answered from a cleanly closed index; writers say that they cannot."""
    report = index_store.query(read_only_disk.path, "runs")
    status = index_store.status(read_only_disk.path)
    verification = index_store.verify(read_only_disk.path, full=True)

    assert ["run"] == [row["session_id"] for row in report.rows]
    assert "current" == status.freshness.word
    assert verification.valid
    for name in WRITERS:
        with pytest.raises(index_store.NotWritable):
            CALLS[name](read_only_disk.path)


def test_a_wal_that_cannot_be_read_without_writing_is_said(
    open_folder: Path, plain_user: int | None, process: MortalProcess
) -> None:
    """A dead writer's WAL on a read-only root: an answer without it would be wrong, so there is none."""
    state = StateRoot(open_folder / "state")
    state.run("run")
    index_store.sync(state.path)
    connection = apsw.Connection(str(state.database))
    connection.execute("INSERT INTO index_metadata VALUES ('not yet', 'in the file')")
    wal = state.database.with_name(state.database.name + "-wal")
    content = {path: path.read_bytes() for path in (state.database, wal)}
    connection.close()
    for path, data in content.items():
        path.write_bytes(data)
        path.chmod(0o400)
    give(state.path, plain_user)
    for path in (state.index, state.path):
        path.chmod(0o500)

    outcome = process.call("query", state.path, user=plain_user)

    assert "NotWritable" == outcome.word, outcome
