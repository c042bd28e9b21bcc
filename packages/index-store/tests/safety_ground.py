"""What the safety tests share: every call, a state root to attack, and what may stand in place of our files."""

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from sample_state import StateRoot

from agent_workflow import index_store

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

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")


def root_to_attack(tmp_path: Path) -> StateRoot:
    """Make an indexed state root in a folder whose name a shell would split."""
    folder = tmp_path / "it's a folder"
    folder.mkdir()
    state = StateRoot(folder / "state")
    state.run("run").document("collections/note.json", {"note": "kept"})
    state.run("old", archived=True)
    (state.path / "evidence-repairs").mkdir(mode=0o700)
    index_store.sync(state.path)
    return state


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
