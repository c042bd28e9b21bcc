"""The seal of a run: a list of everything in it, which appears last and after which nothing changes.

Order: every file is made read-only, hashed and brought to the disk; the receipt is written under a dot-name, brought to
the disk and renamed; then the directory is. Killed anywhere before the rename, the run is unsealed. The directory
itself stays writable for its owner, because a run may be moved to the archive and may be reviewed, which adds receipts.
"""

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from agent_workflow.tracer import _clock
from agent_workflow.tracer.evidence._errors import EvidenceError
from agent_workflow.tracer.evidence._lock import run_lock
from agent_workflow.tracer.evidence._writing import RECEIPT, encode_document, is_sealed, write_beside

_READ_ONLY: Final = 0o444
_CHUNK: Final = 1024 * 1024
_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class Artifact(NamedTuple):
    """A sealed file: its path below the run, and what it was when it was hashed."""

    path: str
    size: int
    sha256: str
    looks: tuple[int, ...]


def seal_run(directory: Path) -> bool:
    """Seal a run under its lock.

    Returns:
        ``False`` when it was sealed already, and is left alone.

    Raises:
        FileNotFoundError: there is no such run.
        RunIsBusy: somebody else kept it locked.
        EvidenceError: it cannot be sealed; it stays unsealed.
    """
    with run_lock(directory):
        return seal_run_locked(directory)


def seal_run_locked(directory: Path, session_id: str = "") -> bool:
    """Seal a run as ``seal_run`` does, for a caller that holds its lock.

    Args:
        directory: of the run.
        session_id: its name, where the directory has not got that yet.
    """
    if is_sealed(directory):
        return False
    try:
        _remove_leftovers(directory)
        artifacts = [_take_in(directory, path) for path in sorted(_files_below(directory))]
        if not artifacts:
            raise EvidenceError(f"{directory} is empty: there is nothing to seal", path=directory)
        receipt = {
            "schema": "agent-workflow/final-receipt/v1",
            "session_id": session_id or directory.name,
            "sealed_at": _clock.now(),
            "artifacts": [{"path": item.path, "size": item.size, "sha256": item.sha256} for item in artifacts],
        }
        beside = write_beside(directory / RECEIPT, encode_document(receipt), _READ_ONLY, durable=True)
        _sync(directory)  # the names of the artifacts, before the name of the receipt
        _refuse_changes(directory, artifacts)
        beside.rename(directory / RECEIPT)
        _sync(directory)
    except OSError as error:
        raise EvidenceError(f"{directory} cannot be sealed: {error.strerror}", path=directory) from error
    return True


def _remove_leftovers(directory: Path) -> None:
    """Remove what a writer or sealer that was killed had not renamed yet."""
    for entry in os.scandir(directory):
        if entry.name.startswith(".") and entry.name.endswith(".new"):
            Path(entry.path).unlink()


def _files_below(directory: Path, prefix: str = "") -> Iterator[str]:
    with os.scandir(directory) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(Path(entry.path), f"{prefix}{entry.name}/")
            elif entry.is_file(follow_symlinks=False):
                yield prefix + entry.name


def _take_in(directory: Path, path: str) -> Artifact:
    descriptor = os.open(directory / path, _FLAGS)
    try:
        seen = os.fstat(descriptor)
        if not stat.S_ISREG(seen.st_mode):
            raise EvidenceError(f"{directory / path} was replaced while it was sealed", path=directory / path)
        if stat.S_IMODE(seen.st_mode) & 0o222:
            os.fchmod(descriptor, _READ_ONLY)
        os.fsync(descriptor)
        looks = _looks(os.fstat(descriptor))
        digest = hashlib.sha256()
        size = 0
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            size += len(chunk)
    finally:
        os.close(descriptor)
    return Artifact(path, size, digest.hexdigest(), looks)


def _refuse_changes(directory: Path, artifacts: list[Artifact]) -> None:
    """Whoever writes without the run's lock must not make a seal that does not hold."""
    for item in artifacts:
        path = directory / item.path
        if _looks(path.lstat()) != item.looks or item.size != item.looks[0]:
            raise EvidenceError(f"{path} changed while the run was sealed", path=path)


def _looks(seen: os.stat_result) -> tuple[int, ...]:
    return (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_mode)


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
