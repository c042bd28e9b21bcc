"""What stands in place of our own files is refused, never followed and never changed."""

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from index_playground import dump
from mortal_process import DONE, MortalProcess, mortal_processes
from sample_state import StateRoot, write_rich_run

from agent_workflow import index_store
from agent_workflow.index_schema import SCHEMA_VERSION

NOBODY = 65534
WRITERS = ("sync", "rebuild")
CALLS: dict[str, Callable[[Path], object]] = {
    "sync": index_store.sync,
    "rebuild": index_store.rebuild,
    "query": lambda root: index_store.query(root, "runs"),
    "status": index_store.status,
    "verify": lambda root: index_store.verify(root, full=True),
}
DATABASE = "index/agent-workflow.sqlite3"
DIRECTORIES = (".", "runs", "archive", "index", "evidence-repairs")
FILES = (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal", "index/index.lock")
READ_BY_ALL = (".", "runs", "archive", "index", DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


@pytest.fixture
def state(tmp_path: Path) -> StateRoot:
    """Give an indexed state root in a folder whose name a shell would split."""
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    state = StateRoot(folder / "state")
    state.run("run").document("collections/note.json", {"note": "kept"})
    state.run("old", archived=True)
    (state.path / "evidence-repairs").mkdir(mode=0o700)
    index_store.sync(state.path)
    return state


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Give a folder with files that are none of our business."""
    folder = tmp_path / "elsewhere"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "status.json").write_text('{"secret": "of somebody else"}')
    (folder / "file").write_text("somebody else's text\n")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def process() -> Iterator[MortalProcess]:
    """Give a process whose children can be another user."""
    with mortal_processes(1) as (one,):
        yield one


def picture(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return mode, owner, time and content of everything in a folder, the folder itself included."""
    found = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(status.st_mode) else b""
        found[str(path.relative_to(folder))] = (status.st_mode, status.st_uid, status.st_mtime_ns, content)
    return found


def replace(path: Path, impostor: str, elsewhere: Path) -> None:
    """Put something else where a file or directory of ours is or would be."""
    if path.is_dir():
        path.rename(path.with_name(path.name + ".aside"))
    else:
        path.unlink(missing_ok=True)
    if impostor == "link to a directory":
        path.symlink_to(elsewhere, target_is_directory=True)
    elif impostor == "link to a file":
        path.symlink_to(elsewhere / "file")
    elif impostor == "link to nothing":
        path.symlink_to(elsewhere / "nothing")
    elif impostor == "file":
        path.write_text("a file\n")
    elif impostor == "directory":
        path.mkdir(mode=0o700)
    elif impostor == "FIFO":
        os.mkfifo(path)
    elif impostor == "socket":
        bind_socket(path)


def bind_socket(path: Path) -> None:
    """Make a socket; its address must be short, so it is bound from its own folder."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path.name)
    finally:
        os.chdir(before)


LINKS = ("link to a directory", "link to a file", "link to nothing")
IMPOSTORS = [
    *((place, impostor) for place in DIRECTORIES for impostor in (*LINKS, "file", "FIFO")),
    *((place, impostor) for place in FILES for impostor in (*LINKS, "directory", "FIFO", "socket")),
]


def callers_of(place: str) -> list[str]:
    """Return the calls that would open what is at a place."""
    if place == "index/index.lock":
        return list(WRITERS)
    if place == "evidence-repairs":
        return list(WRITERS)
    return list(CALLS)


@pytest.mark.parametrize(("place", "impostor"), IMPOSTORS)
def test_an_impostor_is_refused(state: StateRoot, elsewhere: Path, place: str, impostor: str) -> None:
    """By every call that would open it; what a link leads to stays as it is."""
    replace(state.path / place, impostor, elsewhere)
    before = picture(elsewhere)

    for name in callers_of(place):
        with pytest.raises(index_store.UnsafePath) as refusal:
            CALLS[name](state.path)
        assert refusal.value.hint, name

    assert before == picture(elsewhere)


@pytest.mark.parametrize("impostor", ["link to a file", "link to nothing", "file", "FIFO", "socket"])
def test_what_stands_in_place_of_the_scratch_is_replaced(state: StateRoot, elsewhere: Path, impostor: str) -> None:
    """The scratch belongs to whoever rebuilds: a leftover is removed, and a link is not followed."""
    replace(state.index / "rebuild.sqlite3", impostor, elsewhere)
    before = picture(elsewhere)

    index_store.rebuild(state.path)

    assert before == picture(elsewhere)
    assert "rebuild.sqlite3" not in state.index_files()


@pytest.mark.parametrize("name", WRITERS)
def test_a_directory_in_place_of_the_scratch_is_refused(state: StateRoot, elsewhere: Path, name: str) -> None:
    """Nothing below it is removed."""
    replace(state.index / "rebuild.sqlite3", "directory", elsewhere)
    (state.index / "rebuild.sqlite3" / "precious").touch()

    with pytest.raises(index_store.UnsafePath):
        CALLS[name](state.path)

    assert (state.index / "rebuild.sqlite3" / "precious").exists()


@as_root
@pytest.mark.parametrize("place", [*DIRECTORIES, *FILES])
def test_what_belongs_to_somebody_else_is_refused(state: StateRoot, elsewhere: Path, place: str) -> None:
    """Even where it is otherwise what it should be."""
    path = state.path / place
    path.touch(exist_ok=True)
    os.chown(path, NOBODY, NOBODY)

    for name in callers_of(place):
        with pytest.raises(index_store.UnsafePath, match="belongs to user"):
            CALLS[name](state.path)


@pytest.mark.parametrize("mode", [0o020, 0o002, 0o022])
@pytest.mark.parametrize("place", [*DIRECTORIES, DATABASE, "index/index.lock"])
def test_what_others_may_write_is_refused_with_the_command_that_mends_it(
    state: StateRoot, place: str, mode: int
) -> None:
    """Run as it stands, the hint makes the same call work."""
    path = state.path / place
    path.chmod(path.stat().st_mode | mode)

    with pytest.raises(index_store.UnsafePath, match="writable by others") as refusal:
        index_store.sync(state.path)
    subprocess.run(str(refusal.value.hint), shell=True, check=True)

    assert () == index_store.sync(state.path).errors


@pytest.mark.parametrize("place", ["index/index.lock", DATABASE])
def test_the_hint_for_an_impostor_can_be_run(state: StateRoot, elsewhere: Path, place: str) -> None:
    """What stands in the way goes, and nothing else does."""
    replace(state.path / place, "FIFO", elsewhere)

    with pytest.raises(index_store.UnsafePath) as refusal:
        index_store.sync(state.path)
    hint = str(refusal.value.hint)
    subprocess.run(hint[hint.index("rm ") :], shell=True, check=True)

    assert () == index_store.sync(state.path).errors


def test_parents_may_be_links(state: StateRoot, tmp_path: Path) -> None:
    """A home on another disk is reached through one."""
    (tmp_path / "home").symlink_to(state.path.parent, target_is_directory=True)
    root = tmp_path / "home" / "state"

    for name, call in CALLS.items():
        call(root)
        assert str(state.database) == index_store.status(root).database, name


# What is swapped in between a check and the opening that follows it.


class Swap:
    """Something that happens once, right before the n-th call that a test waits for."""

    def __init__(self, at: int, action: Callable[[], None]) -> None:
        self.happened = False
        self._left = at
        self._action = action

    def before_call(self) -> None:
        """Count a call."""
        self._left -= 1
        if self._left == 0:
            self.happened = True
            self._action()


def before_opening(monkeypatch: pytest.MonkeyPatch, name: str, swap: Swap) -> None:
    """Let a swap happen before the operating system opens something of that name."""
    genuine = os.open

    def opening(path: Any, *arguments: Any, **keywords: Any) -> int:
        if os.fspath(path).rpartition("/")[2] == name:
            swap.before_call()
        return genuine(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", opening)


def before_connecting(monkeypatch: pytest.MonkeyPatch, swap: Swap) -> None:
    """Let a swap happen before SQLite opens a file."""
    genuine = apsw.Connection

    class Connecting(genuine):  # type: ignore[valid-type,misc] # the type as it was before the patch
        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            swap.before_call()
            super().__init__(*arguments, **keywords)

    monkeypatch.setattr(apsw, "Connection", Connecting)


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("place", ["state", "runs", "archive", "index"])
def test_a_directory_swapped_for_a_link_is_refused(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, place: str, name: str
) -> None:
    """However often it is opened, each opening looks for itself."""
    path = state.path if place == "state" else state.path / place
    before = picture(elsewhere)
    swap = Swap(1, lambda: replace(path, "link to a directory", elsewhere))
    before_opening(monkeypatch, place, swap)

    with pytest.raises(index_store.UnsafePath):
        CALLS[name](state.path)

    assert swap.happened
    assert before == picture(elsewhere)


@pytest.mark.parametrize("made", ["state", "index"])
def test_a_directory_swapped_for_a_link_while_it_is_made_is_refused(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """Neither mode nor content of what the link leads to is touched."""
    before = picture(elsewhere)
    genuine = os.mkdir

    def making(path: Any, *arguments: Any, **keywords: Any) -> None:
        genuine(path, *arguments, **keywords)
        if os.fspath(path).rpartition("/")[2] == made:
            replace(tmp_path / "state" if made == "state" else tmp_path / "state" / made, LINKS[0], elsewhere)

    monkeypatch.setattr(os, "mkdir", making)

    with pytest.raises(index_store.UnsafePath):
        index_store.sync(tmp_path / "state")

    assert before == picture(elsewhere)


def swaps(prepare: Callable[[int], Swap], call: Callable[[], object]) -> list[str]:
    """Repeat a call with the swap before its first, second, … opening; return the name of each outcome."""
    words = []
    for at in range(1, 30):
        swap = prepare(at)
        try:
            call()
            words.append(DONE)
        except index_store.IndexStoreError as error:
            words.append(type(error).__name__)
        if not swap.happened:
            return words[:-1]
    raise AssertionError("there is no end of openings")


@pytest.mark.parametrize("name", list(CALLS))
@pytest.mark.parametrize("place", [DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", f"{DATABASE}-journal"])
def test_a_file_swapped_for_a_link_before_sqlite_opens_it_is_not_followed(
    state: StateRoot, elsewhere: Path, tmp_path: Path, place: str, name: str
) -> None:
    """The call refuses, or answers without the companion; what the link leads to stays as it is."""
    saved = tmp_path / "saved"
    shutil.copytree(state.index, saved)
    before = picture(elsewhere)
    patches = pytest.MonkeyPatch()

    def prepare(at: int) -> Swap:
        patches.undo()
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        swap = Swap(at, lambda: replace(state.path / place, "link to a file", elsewhere))
        before_connecting(patches, swap)
        return swap

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert words
    assert before == picture(elsewhere)
    if place == DATABASE:
        assert set(words) <= {"UnsafePath", *([DONE] if name == "rebuild" else [])}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_foreign_database_swapped_in_before_sqlite_opens_it_is_refused(
    state: StateRoot, tmp_path: Path, name: str
) -> None:
    """At whatever opening it comes, not a byte of it changes."""
    foreign = tmp_path / "foreign.sqlite3"
    make_foreign(foreign)
    content = foreign.read_bytes()
    saved = tmp_path / "saved"
    shutil.copytree(state.index, saved)
    patches = pytest.MonkeyPatch()
    swapped: list[Swap] = []
    changed: list[int] = []

    def swap_in() -> None:
        Path(shutil.copy(foreign, state.index / "copy")).replace(state.database)

    def look() -> None:
        if swapped and swapped[-1].happened and state.database.read_bytes() != content:
            changed.append(len(swapped))

    def prepare(at: int) -> Swap:
        look()
        patches.undo()
        shutil.rmtree(state.index)
        shutil.copytree(saved, state.index)
        swapped.append(Swap(at, swap_in))
        before_connecting(patches, swapped[-1])
        return swapped[-1]

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert words
    assert [] == changed
    assert "ForeignDatabase" in words


@pytest.mark.parametrize("name", list(CALLS))
def test_an_index_directory_swapped_before_sqlite_opens_a_file_is_refused(
    state: StateRoot, tmp_path: Path, name: str
) -> None:
    """SQLite opens by path: another directory with another index in it is not taken for the one that was checked."""
    other = StateRoot(tmp_path / "other")
    other.run("somebody-elses")
    index_store.sync(other.path)
    before = picture(other.path)
    aside = state.path / "index.aside"
    patches = pytest.MonkeyPatch()

    def swap_directories() -> None:
        state.index.rename(aside)
        shutil.copytree(other.index, state.index)
        for path in (state.index, *state.index.iterdir()):
            path.chmod((other.index / path.name).stat().st_mode if path != state.index else 0o700)

    def prepare(at: int) -> Swap:
        patches.undo()
        if aside.exists():
            shutil.rmtree(state.index)
            aside.rename(state.index)
        swap = Swap(at, swap_directories)
        before_connecting(patches, swap)
        return swap

    try:
        words = swaps(prepare, lambda: CALLS[name](state.path))
    finally:
        patches.undo()

    assert {"UnsafePath"} == set(words)
    assert before == picture(other.path)


@pytest.mark.parametrize("impostor", ["link to a file", "link to nothing", "directory", "FIFO", "socket"])
def test_a_source_swapped_while_the_run_is_read_is_not_followed(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, impostor: str
) -> None:
    """The run is in error; no other run is, and nothing of the target enters the index."""
    source = state.path / "runs" / "run" / "status.json"
    before_opening(monkeypatch, "status.json", Swap(2, lambda: replace(source, impostor, elsewhere)))

    report = index_store.rebuild(state.path)

    assert ["run"] == [error.session_id for error in report.errors]
    assert "status.json" in report.errors[0].error
    assert ["old"] == [run.session_id for run in report.indexed]


@pytest.mark.parametrize(("name", "below"), [("run", ""), ("collections", "collections")])
@pytest.mark.parametrize("at", [1, 2])
def test_a_directory_of_a_run_swapped_for_a_link_is_not_followed(
    state: StateRoot, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, name: str, below: str, at: int
) -> None:
    """Neither while it is looked through nor while it is read."""
    directory = state.path / "runs" / "run" / below
    target = elsewhere / "below"
    (target / "note.json").write_text('{"secret": "note"}')
    swap = Swap(at, lambda: replace(directory, "link to a directory", target))
    before_opening(monkeypatch, name, swap)

    report = index_store.rebuild(state.path)

    assert swap.happened
    assert ["run"] == [error.session_id for error in report.errors]
    assert [] == [row for row in dump(state.path)["source_files"] if row[0] == "run"]


# Databases that are not ours, or not ours to read.


def make_foreign(path: Path, *, wal: bool = False, application_id: int = 0, rows: int = 10) -> None:
    """Make somebody else's database; in WAL mode as a clean end leaves it."""
    connection = apsw.Connection(str(path))
    if wal:
        connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA application_id = {application_id}")
    connection.execute("CREATE TABLE notes (text)")
    with connection:
        connection.executemany("INSERT INTO notes VALUES (?)", [(f"note {number}",) for number in range(rows)])
    connection.close()
    path.chmod(0o600)


def make_unfinished_foreign(path: Path) -> None:
    """Make somebody else's database whose whole content is still in its WAL."""
    aside = path.with_name("aside")
    connection = apsw.Connection(str(aside))
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE notes (text)")
    for companion in ("", "-wal"):
        shutil.copy(f"{aside}{companion}", f"{path}{companion}")
        Path(f"{path}{companion}").chmod(0o600)
    connection.close()
    for file in path.parent.glob("aside*"):
        file.unlink()


def make_versioned_foreign(path: Path) -> None:
    """Make a database without a table that somebody has given a version."""
    connection = apsw.Connection(str(path))
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    path.chmod(0o600)


def make_text(path: Path) -> None:
    """Write a text where the database belongs."""
    path.write_text("these are my notes\n" * 100)
    path.chmod(0o600)


FOREIGN: dict[str, Callable[[Path], None]] = {
    "rollback": make_foreign,
    "WAL": lambda path: make_foreign(path, wal=True),
    "of an application": lambda path: make_foreign(path, application_id=0x12345678),
    "of an application, WAL": lambda path: make_foreign(path, wal=True, application_id=0x12345678),
    "large": lambda path: make_foreign(path, rows=20_000),
    "in its WAL": make_unfinished_foreign,
    "with a version": make_versioned_foreign,
    "text": make_text,
}


@pytest.mark.parametrize("kind", list(FOREIGN))
def test_a_foreign_database_is_refused_and_untouched(state: StateRoot, kind: str) -> None:
    """Not a byte of it changes, and nothing is left beside it."""
    for path in state.index.glob("agent-workflow.sqlite3*"):
        path.unlink()
    FOREIGN[kind](state.database)
    lock = state.index / "index.lock"
    before = picture(state.index)

    for name, call in CALLS.items():
        with pytest.raises(index_store.ForeignDatabase) as refusal:
            call(state.path)
        assert refusal.value.hint, name
    after = picture(state.index)

    for known in (before, after):
        known.pop(lock.name)
    assert before == after


def make_newer(state: StateRoot, *, wal_left: bool) -> None:
    """Give the database a version of the future, cleanly closed or with the WAL of a dead process."""
    connection = apsw.Connection(str(state.database))
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    if wal_left:
        connection.execute("DELETE FROM notices")
        connection.execute("INSERT INTO index_metadata VALUES ('of the future', 'x')")
        copies = {path: path.read_bytes() for path in state.index.glob("agent-workflow.sqlite3*")}
        connection.close()
        for path, content in copies.items():
            path.write_bytes(content)
            path.chmod(0o600)
    else:
        connection.close()


@pytest.mark.parametrize("wal_left", [False, True], ids=["cleanly closed", "of a dead writer"])
def test_a_newer_index_is_refused_and_untouched(state: StateRoot, *, wal_left: bool) -> None:
    """A version that knows more wrote it: not a byte of it changes, and nothing is left beside it."""
    make_newer(state, wal_left=wal_left)
    before = picture(state.index)

    for name, call in CALLS.items():
        with pytest.raises(index_store.NewerDatabase) as refusal:
            call(state.path)
        assert refusal.value.hint, name
    after = picture(state.index)

    for known in (before, after):
        known.pop("index.lock")
    assert before == after


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
