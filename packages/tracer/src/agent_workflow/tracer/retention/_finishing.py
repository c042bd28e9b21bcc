"""Finishing the deletion of a session that was killed on its way: all of it comes back, or all of it is gone."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._ids import is_valid_id
from agent_workflow.tracer.retention._deleting import STAGED, SessionRemoval, removed
from agent_workflow.tracer.retention._inventory import Step
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
    try:
        had_rows = bool(intent.get("rows"))
        has_rows = has_session(database, directory.name)
    except TracerError as error:
        return SessionRemoval("left", f"{error}")
    if intent.get("staged_path") is None:
        return SessionRemoval("kept", _STOPPED) if has_rows else SessionRemoval("deleted")
    staged = Path(str(intent["staged_path"]))
    if staged.parent != directory.parent or not staged.name.startswith(STAGED):
        return SessionRemoval("left", "its receipt names no staged directory of that session")
    try:
        sessions = os.open(directory.parent, _FLAGS)
    except FileNotFoundError:
        return SessionRemoval("deleted", "", len(listed), _size(listed))
    except OSError as error:
        return SessionRemoval("left", f"{directory.parent} cannot be opened: {error.strerror}")
    try:
        mark = (intent.get("device"), intent.get("inode"))
        return _finish(sessions, directory.name, staged.name, mark, listed, step, is_whole=had_rows and has_rows)
    finally:
        os.close(sessions)


_STOPPED = "the prune was stopped before it was deleted"


def _finish(
    sessions: int,
    name: str,
    staged: str,
    mark: tuple[object, object],
    listed: Sequence[Mapping[str, object]],
    step: Step,
    *,
    is_whole: bool,
) -> SessionRemoval:
    if _mark(sessions, staged) != mark:
        if _mark(sessions, name) == mark:
            return SessionRemoval("kept", _STOPPED)
        return SessionRemoval("deleted", "", len(listed), _size(listed))
    if not is_whole:
        return removed(sessions, staged, listed, step)
    if _mark(sessions, name) is not None:
        return SessionRemoval("left", "another session has taken its name, so it cannot be put back")
    step("bring back")
    os.rename(staged, name, src_dir_fd=sessions, dst_dir_fd=sessions)
    os.fsync(sessions)
    return SessionRemoval("kept", _STOPPED)


def _mark(sessions: int, name: str) -> tuple[object, object] | None:
    try:
        status = os.stat(name, dir_fd=sessions, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _size(listed: Sequence[Mapping[str, object]]) -> int:
    return sum(int(str(file["size"])) for file in listed)
