"""Deleting one session: announced, staged by a rename, its rows in one transaction, then its files."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_workflow.tracer._errors import TracerError
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer.retention._holding import SessionIsHeld, held
from agent_workflow.tracer.retention._inventory import (
    SessionFile,
    Step,
    UnsafeFile,
    fingerprint,
    inventory,
    listing,
    refuse_read_only,
    remove_staged,
)
from agent_workflow.tracer.retention._planning import KeepSession, SessionFacts, judge_session, refuse_linked
from agent_workflow.tracer.retention._rows import RowsChanged, count_rows, delete_rows

STAGED: Final = ".pruned-"
_FLAGS: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC

Announce = Callable[[Sequence[Mapping[str, object]], Mapping[str, object]], None]
"""Writes down what is about to be deleted: the files, then the fields of the intent. Returns when it is on the disk."""


@dataclass(frozen=True, slots=True)
class SessionRemoval:
    """What became of a session.

    Attributes:
        outcome: ``deleted``; ``kept``: rows and files are all there; ``left``: the rows are gone, files are not.
        reason: why it was not deleted.
        files: files that were deleted.
        size_bytes: what they took.
        left: what is still there, each with what keeps it.
    """

    outcome: str
    reason: str = ""
    files: int = 0
    size_bytes: int = 0
    left: tuple[str, ...] = ()


def delete_session(
    planned: SessionFacts, announce: Announce, *, tag: str, step: Step = lambda _name: None
) -> SessionRemoval:
    """Delete a session that is still what the plan says.

    A call that is killed leaves rows and files together, or an announced deletion that ``finish_session`` finishes.

    Args:
        planned: from ``survey_sessions``.
        announce: called once, before anything is changed.
        tag: of the plan, part of the staged directory's name.
        step: called with a word before and after each change; a seam for the tests that stop there.
    """
    try:
        with TraceReader(planned.database) as reader:
            return _delete(planned, reader, announce, tag, step)
    except KeepSession as keep:
        return SessionRemoval("kept", f"{keep.reason}: {keep.detail}")
    except SessionIsHeld as error:
        return SessionRemoval("kept", f"busy: {error}")
    except TracerError as error:
        return SessionRemoval("kept", f"error: {error}")


def _delete(planned: SessionFacts, reader: TraceReader, announce: Announce, tag: str, step: Step) -> SessionRemoval:
    files = SessionFiles(Path(planned.directory))
    refuse_linked(files.directory.parent.parent)
    with contextlib.ExitStack() as stack:
        try:
            directory: int | None = stack.enter_context(held(files))
        except FileNotFoundError:
            directory = None
        facts, found = judge_session(reader, files, directory)
        if facts != planned:
            raise KeepSession("changed", "it is not what the plan lists any more")
        if directory is not None:
            _refuse_read_only(directory)
        listed = _listed(directory, found)
        rows = count_rows(Path(planned.database), planned.adw_id)
        staged = f"{STAGED}{tag}-{planned.adw_id}"
        intent: dict[str, object] = {"database": planned.database, "rows": rows, "size_bytes": planned.size_bytes}
        if directory is not None:
            staged_path = str(files.directory.with_name(staged))
            intent |= {"staged_path": staged_path, "device": planned.device, "inode": planned.inode}
        announce(listed, intent)
        if directory is None:
            return _delete_rows_alone(planned, rows, step)
        with _opened(files.directory.parent) as sessions:
            return _delete_staged(planned, _Staging(sessions, staged, directory), listed, rows, step)


@dataclass(frozen=True, slots=True)
class _Staging:
    """Where a directory is staged: descriptor of ``sessions``, the name there, and its own descriptor."""

    sessions: int
    name: str
    directory: int

    def bring_back(self, adw_id: str, reason: str) -> SessionRemoval:
        """Undo the rename."""
        try:
            os.rename(self.name, adw_id, src_dir_fd=self.sessions, dst_dir_fd=self.sessions)
            os.fsync(self.sessions)
        except OSError as error:
            return SessionRemoval("left", f"{reason}; its directory cannot be put back: {error.strerror}")
        return SessionRemoval("kept", f"changed: {reason}")


def _listed(directory: int | None, found: list[SessionFile]) -> list[dict[str, object]]:
    try:
        return [] if directory is None else listing(directory, found)
    except (OSError, UnsafeFile) as error:
        raise KeepSession("changed", str(error)) from error


def _refuse_read_only(directory: int) -> None:
    try:
        refuse_read_only(directory)
    except (OSError, UnsafeFile) as error:
        raise KeepSession("failed", str(error)) from error


def _delete_rows_alone(planned: SessionFacts, rows: dict[str, int], step: Step) -> SessionRemoval:
    try:
        delete_rows(Path(planned.database), planned.adw_id, rows, step)
    except RowsChanged as error:
        raise KeepSession("changed", str(error)) from error
    return SessionRemoval("deleted")


def _delete_staged(
    planned: SessionFacts,
    staging: _Staging,
    listed: list[dict[str, object]],
    rows: dict[str, int],
    step: Step,
) -> SessionRemoval:
    status = os.stat(planned.adw_id, dir_fd=staging.sessions, follow_symlinks=False)
    if (status.st_dev, status.st_ino) != (planned.device, planned.inode):
        raise KeepSession("changed", "another directory stands in its place now")
    step("stage")
    try:
        os.rename(planned.adw_id, staging.name, src_dir_fd=staging.sessions, dst_dir_fd=staging.sessions)
    except OSError as error:
        raise KeepSession("failed", f"it cannot be staged: {error.strerror}") from error
    os.fsync(staging.sessions)
    step("staged")
    try:
        if fingerprint(inventory(staging.directory)) != planned.fingerprint:
            raise RowsChanged("its files changed while it was staged")
        if rows:
            delete_rows(Path(planned.database), planned.adw_id, rows, step)
    except (RowsChanged, UnsafeFile, TracerError, OSError) as error:
        return staging.bring_back(planned.adw_id, str(error))
    return removed(staging.sessions, staging.name, listed, step)


def removed(sessions: int, name: str, listed: Sequence[Mapping[str, object]], step: Step) -> SessionRemoval:
    """Delete the listed files of a staged directory, and say what became of it."""
    try:
        left = remove_staged(sessions, name, listed, step)
    except OSError as error:
        return SessionRemoval("left", f"its files cannot be deleted: {error.strerror}")
    if left:
        return SessionRemoval("left", "its rows are gone, something of its files is not", left=left)
    return SessionRemoval("deleted", "", len(listed), sum(int(str(file["size"])) for file in listed))


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, _FLAGS)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
