"""Claiming a run directory: a name that is free on this host, and a directory that appears complete."""

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._ids import new_adw_id
from agent_workflow.tracer.evidence._errors import EvidenceError
from agent_workflow.tracer.evidence._state_root import ARCHIVE, make_private_directory
from agent_workflow.tracer.evidence._writing import append_lifecycle_locked, write_document_locked

_CLAIMING: Final = ".claiming-"
_LEFT_BEHIND_SECONDS: Final = 3600.0
_LONGEST: Final = 100


def free_names(runs: Path, files: SessionFiles) -> Iterator[str]:
    """Propose names for the run of a session, the plainest first; one may be taken at the next moment.

    Args:
        runs: ``runs/`` of the state root.
        files: the session; its id is proposed first, then the id with a digest of where the repository keeps it.
    """
    base = files.adw_id
    digest = hashlib.sha256(str(files.directory.parent.parent.resolve()).encode("utf-8", "surrogateescape")).hexdigest()
    longer = f"{base[:_LONGEST]}-{digest[:8]}"
    number = 1
    while True:
        name = base if number == 1 else longer if number == 2 else f"{longer}-{number - 1}"
        if not (runs / name).exists() and not (runs.parent / ARCHIVE / name).exists():
            yield name
        number += 1


def claim(directory: Path, fill: Callable[[Path], object]) -> bool:
    """Make a run directory that appears with all that it holds, at once.

    Args:
        directory: below ``runs/``.
        fill: writes into the directory that it is given, which nobody else sees.

    Returns:
        ``False`` when somebody else has taken the name meanwhile.

    Raises:
        EvidenceError: it cannot be written; nothing is left.
    """
    beside = directory.parent / f"{_CLAIMING}{new_adw_id()}{new_adw_id()}"
    try:
        make_private_directory(beside)
        fill(beside)
        make_private_directory(directory)  # the claim: it succeeds for one alone
        try:
            beside.rename(directory)  # over the empty directory, in one step
        except OSError:
            with contextlib.suppress(OSError):
                directory.rmdir()
            raise
    except FileExistsError:
        return False
    except OSError as error:
        raise EvidenceError(f"{directory} cannot be made: {error.strerror}", path=directory) from error
    finally:
        _remove(beside)
    return True


def fill_running(launch: Mapping[str, object], status: Mapping[str, object], directory: Path) -> None:
    """Write what a run has that begins: its launch contract, status and first lifecycle events.

    Args:
        launch: the launch contract.
        status: ``status.json``.
        directory: of the run.
    """
    write_document_locked(directory, "launch-contract.json", launch)
    at = str(status["created_at"])
    moves = ((None, "prepared", "the session was opened"), ("prepared", "running", "the workflow is at work"))
    for prior, new, reason in moves:
        append_lifecycle_locked(
            directory, dimension="execution", prior=prior, new=new, actor="tracer", reason=reason, at=at
        )
    write_document_locked(directory, "status.json", status)


def remove_left_behind(runs: Path) -> None:
    """Remove what was left by those who were killed while they filled a run; nobody else sees it."""
    with os.scandir(runs) as entries:
        for entry in entries:
            if not entry.name.startswith(_CLAIMING):
                continue
            with contextlib.suppress(OSError):  # its writer is at work, and has just given it its name
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _LEFT_BEHIND_SECONDS:
                    _remove(Path(entry.path))


def _remove(directory: Path) -> None:
    """Remove a directory of plain files, if it is there; ``shutil`` would cost more to import than to claim a run."""
    try:
        for path in directory.iterdir():
            path.unlink(missing_ok=True)
        directory.rmdir()
    except OSError:
        return
