"""Finishing the deletion of a session that was killed on its way: all of it comes back, or all of it is gone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer.retention._deleting import STAGED, SessionRemoval, removed
from agent_workflow.tracer.retention._inventory import Step, holds_listed
from agent_workflow.tracer.retention._rows import has_session

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def finish_session(
    intent: Mapping[str, object], listed: Sequence[Mapping[str, object]], *, step: Step = lambda _name: None
) -> SessionRemoval:
    """Finish what ``delete_session`` announced.

    The transaction decides: where the database still holds the session, its directory goes back; where it does not,
    the rest of its files goes.

    Args:
        intent: ``path`` of the directory, ``database``, ``rows``, and for a directory ``staged_path``, ``device`` and
            ``inode``, as they were announced.
        listed: the files as they were announced.
        step: called before each change.
    """
    directory, database = Path(str(intent["path"])), Path(str(intent["database"]))
    if not is_valid_id(directory.name) or not directory.is_absolute():
        return SessionRemoval("left", "its receipt names no session")
    staged_path = intent.get("staged_path")
    for folder in (database.parent, *(() if staged_path is None else (directory.parent.parent,))):
        if not folder.is_dir():
            return SessionRemoval("left", f"{folder} is not there; {_GONE}")
    try:
        had_rows = bool(intent.get("rows"))
        has_rows = has_session(database, directory.name)
    except TracerError as error:
        return SessionRemoval("left", f"{error}")
    if staged_path is None:
        return SessionRemoval("kept", _STOPPED) if has_rows else SessionRemoval("deleted")
    staged = Path(str(staged_path))
    if staged.parent != directory.parent or not staged.name.startswith(STAGED):
        return SessionRemoval("left", "its receipt names no staged directory of that session")
    try:
        sessions = os.open(directory.parent, _FLAGS)
    except FileNotFoundError:
        return SessionRemoval("deleted", "", len(listed), _size(listed))
    except OSError as error:
        return SessionRemoval("left", f"{directory.parent} cannot be opened: {error.strerror}")
    try:
        is_whole = had_rows and has_rows
        return _finish(sessions, directory.name, staged.name, intent.get("inode"), listed, step, is_whole=is_whole)
    finally:
        os.close(sessions)


_STOPPED = "the prune was stopped before it was deleted"
_GONE = "its disk may not be mounted; if it is gone for good, move this receipt out of prune-receipts/"


def _finish(
    sessions: int,
    name: str,
    staged: str,
    inode: object,
    listed: Sequence[Mapping[str, object]],
    step: Step,
    *,
    is_whole: bool,
) -> SessionRemoval:
    found = _inode(sessions, staged)
    if found is None:
        if _inode(sessions, name) == inode and holds_listed(sessions, name, listed):
            return SessionRemoval("kept", _STOPPED)
        return SessionRemoval("deleted", "", len(listed), _size(listed))
    if found != inode:
        return SessionRemoval("left", f"what stands at {staged} is not the directory that was announced")
    if not is_whole:
        return removed(sessions, staged, listed, step)
    if _inode(sessions, name) is not None:
        return SessionRemoval("left", "another session has taken its name, so it cannot be put back")
    step("bring back")
    os.rename(staged, name, src_dir_fd=sessions, dst_dir_fd=sessions)
    os.fsync(sessions)
    return SessionRemoval("kept", _STOPPED)


def _inode(sessions: int, name: str) -> int | None:
    """Return what identifies a directory on its file system; a device has another number after a restart."""
    try:
        return os.stat(name, dir_fd=sessions, follow_symlinks=False).st_ino
    except FileNotFoundError:
        return None


def _size(listed: Sequence[Mapping[str, object]]) -> int:
    return sum(int(str(file["size"])) for file in listed)
