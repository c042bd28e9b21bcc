"""Looking at one run: its sources, what may not be read, and the fingerprint that tells whether any of it changed.

Nothing here reads a file's content: names and ``lstat`` only, through directory descriptors, following no link. A sync
of runs that did not change is this and little else, so what is done for every file is kept short.
"""

import errno
import hashlib
import os
from contextlib import suppress
from typing import Literal, NamedTuple

from agent_workflow.index_store.discovery import Candidate, Storage, open_run
from agent_workflow.index_store.errors import printable
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StorageClass

FileKind = Literal["json", "jsonl"]

RECEIPT_NAME = "final-receipt.json"
PROJECTION_REVISION = 2
"""Part of every fingerprint: raise it whenever the same files must give other rows, so that every run is read again."""

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STRUCTURED = (".json", ".jsonl")
_MAXIMUM_DEPTH = 32
_SALT = f"agent-workflow index fingerprint, revision {PROJECTION_REVISION}\0".encode()


class Source(NamedTuple):
    """One regular ``.json`` or ``.jsonl`` file of a run."""

    path: str
    """Path below the run directory."""
    kind: FileKind
    status: os.stat_result


class Fault(NamedTuple):
    """Something in a run directory that may not be read."""

    path: str
    reason: str


class RunScan(NamedTuple):
    """What a run directory looked like at one moment.

    Attributes:
        session_id: the directory's name.
        storage_class: ``active`` or ``archive``.
        structured: its regular ``.json`` and ``.jsonl`` files by path; :attr:`sources` has them in order.
        faults: unsafe entries, in the order of their paths.
        fingerprint: SHA-256 over names and file identities; equal scans read equal bytes, once the clock moved on.
        newest_change_ns: the newest ctime seen, in nanoseconds of the epoch; 0 without sources.
        other_files: paths of the files that are no sources.
    """

    session_id: str
    storage_class: StorageClass
    structured: dict[str, os.stat_result]
    faults: tuple[Fault, ...]
    fingerprint: str
    newest_change_ns: int
    other_files: tuple[str, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Its structured files, in the order of their paths. Only a run that is read needs them."""
        return tuple(
            Source(path, "jsonl" if path.endswith("l") else "json", status)
            for path, status in sorted(self.structured.items())
        )

    @property
    def sealed(self) -> bool:
        """A receipt is there, so every file counts, not only the structured ones."""
        return RECEIPT_NAME in self.structured

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all regular files below the run directory."""
        return (*sorted(self.structured), *self.other_files)

    @property
    def source_dir(self) -> str:
        """Path of the run directory below the state root."""
        return f"{STORAGE_DIRECTORIES[self.storage_class]}/{self.session_id}"


def scan_candidate(candidate: Candidate, storage: Storage) -> RunScan:
    """Look at a run as :func:`scan_run` does; an archived twin is part of its fingerprint.

    Raises:
        FileNotFoundError: the run, or a directory in it, vanished.
    """
    descriptor = storage[candidate.storage_class]
    if descriptor is None:
        raise FileNotFoundError(candidate.session_id)
    scan = scan_run(candidate, descriptor)
    twin = storage["archive"]
    if not candidate.has_archived_twin or twin is None:
        return scan
    other = scan_run(candidate.archived_twin, twin)
    both = hashlib.sha256(f"{scan.fingerprint} {other.fingerprint}".encode()).hexdigest()
    return scan._replace(fingerprint=both, newest_change_ns=max(scan.newest_change_ns, other.newest_change_ns))


def scan_run(candidate: Candidate, storage_descriptor: int, *, every_file: bool = False) -> RunScan:
    """Look at every entry of a run directory once.

    Args:
        candidate: the run.
        storage_descriptor: descriptor of ``runs/`` or ``archive/``.
        every_file: let files that are no sources count in the fingerprint, as in a sealed run.

    Returns:
        The scan. A run that is a link or may not be read gives a scan with that fault and no sources.

    Raises:
        FileNotFoundError: the run, or a directory in it, vanished.
    """
    walk = _Walk()
    try:
        descriptor = open_run(candidate, storage_descriptor)
    except FileNotFoundError:
        raise
    except OSError as error:
        walk.refuse(".", _refusal(error))
        with suppress(PermissionError):
            walk.note(".", os.stat(candidate.session_id, dir_fd=storage_descriptor, follow_symlinks=False))
        return _finish(candidate, walk)
    try:
        _scan_directory(descriptor, "", 0, walk)
        if every_file or RECEIPT_NAME in walk.structured:
            _note_others(descriptor, walk)
    finally:
        os.close(descriptor)
    return _finish(candidate, walk)


class _Walk:
    """The state of one scan."""

    def __init__(self) -> None:
        self.structured: dict[str, os.stat_result] = {}
        self.others: list[str] = []
        self.faults: list[Fault] = []
        self.marks: list[str] = []
        self.newest = 0

    def note(self, path: str, status: os.stat_result, extra: str = "") -> None:
        """Let an entry count in the fingerprint."""
        changed = status.st_ctime_ns
        if changed > self.newest:
            self.newest = changed
        self.marks.append(
            f"{path}\0{status.st_size} {status.st_mtime_ns} {changed} {status.st_dev} {status.st_ino} "
            f"{status.st_mode}\0{extra}"
        )

    def refuse(self, path: str, reason: str) -> None:
        """Let an entry that may not be read be the run's fault, under a name that can be stored and shown."""
        self.faults.append(Fault(printable(path), reason))


def _finish(candidate: Candidate, walk: _Walk) -> RunScan:
    for fault in walk.faults:
        walk.marks.append(f"{fault.path}\0fault\0{fault.reason}")
    walk.marks.sort()
    digest = hashlib.sha256(_SALT + f"{candidate.storage_class}\n".encode())
    digest.update("\n".join(walk.marks).encode("utf-8", "surrogateescape"))
    return RunScan(
        candidate.session_id,
        candidate.storage_class,
        walk.structured,
        tuple(sorted(walk.faults)),
        digest.hexdigest(),
        walk.newest,
        tuple(walk.others),
    )


def _note_others(descriptor: int, walk: _Walk) -> None:
    """Let the files that are no sources count too. A component swapped for a link is refused when it is read."""
    for path in walk.others:
        try:
            walk.note(path, os.stat(path, dir_fd=descriptor, follow_symlinks=False))
        except FileNotFoundError:
            raise
        except OSError as error:
            walk.refuse(path, f"it cannot be looked at: {error.strerror}")


def _scan_directory(descriptor: int, prefix: str, depth: int, walk: _Walk) -> None:
    """Look at every entry. One that cannot be, as where a directory may be listed and not entered, is its fault."""
    try:
        _scan_entries(descriptor, prefix, depth, walk)
    except FileNotFoundError:
        raise
    except OSError as error:
        walk.refuse(prefix.removesuffix("/") or ".", _refusal(error))


def _scan_entries(descriptor: int, prefix: str, depth: int, walk: _Walk) -> None:
    note, structured = walk.note, walk.structured
    with os.scandir(descriptor) as entries:
        for entry in entries:
            path = prefix + entry.name
            if not path.endswith(_STRUCTURED) or not entry.is_file(follow_symlinks=False):
                _scan_other(entry, path, descriptor, depth, walk)
                continue
            status = entry.stat(follow_symlinks=False)
            note(path, status)
            if path.isprintable():
                structured[path] = status
            else:
                walk.refuse(path, "its name cannot be shown; rename it to printable text")


def _scan_other(entry: os.DirEntry[str], path: str, parent: int, depth: int, walk: _Walk) -> None:
    """Look at what is no source: a link, a directory, a special file, or a file of another name."""
    structured = path.endswith(_STRUCTURED)
    if entry.is_symlink():
        _scan_link(entry, path, parent, structured, walk)
    elif entry.is_dir(follow_symlinks=False):
        if structured:
            walk.refuse(path, "a directory stands where a file is expected")
        _scan_below(entry.name, path, parent, depth, walk)
    elif structured:
        walk.note(path, entry.stat(follow_symlinks=False))
        walk.refuse(path, "not a regular file")
    elif entry.is_file(follow_symlinks=False):
        walk.others.append(path)


def _scan_link(entry: os.DirEntry[str], path: str, parent: int, structured: bool, walk: _Walk) -> None:
    """A link is a fault where it could bring in a source: by its name, or because it leads to a directory."""
    target = os.readlink(entry.name, dir_fd=parent)
    walk.note(path, entry.stat(follow_symlinks=False), target)
    if structured:
        walk.refuse(path, "a link, which is never followed")
    elif _leads_to_directory(entry):
        walk.refuse(path, "a link to a directory, which is never followed")


def _leads_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=True)
    except OSError:  # a loop leads nowhere
        return False


def _scan_below(name: str, path: str, parent: int, depth: int, walk: _Walk) -> None:
    if depth + 1 > _MAXIMUM_DEPTH:
        walk.refuse(path, f"directories are nested more than {_MAXIMUM_DEPTH} deep")
        return
    try:
        descriptor = os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        walk.refuse(path, _refusal(error))
        return
    try:
        _scan_directory(descriptor, path + "/", depth + 1, walk)
    finally:
        os.close(descriptor)


def _refusal(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a link or no directory, which is never followed"
    return f"the directory cannot be read: {error.strerror}"
