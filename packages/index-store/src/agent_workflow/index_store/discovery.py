"""Finding runs and their sources, and the fingerprint that tells whether any of them changed.

Nothing here reads a file's content: names and ``lstat`` only, through directory descriptors, following no link.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple

from agent_workflow.index_store.errors import printable
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot, StorageClass

FileKind = Literal["json", "jsonl"]

ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
RECEIPT_NAME = "final-receipt.json"
PROJECTION_REVISION = 2
"""Part of every fingerprint: raise it whenever the same files must give other rows, so that every run is read again."""

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
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


@dataclass(frozen=True, slots=True)
class RunScan:
    """What a run directory looked like at one moment.

    Attributes:
        session_id: the directory's name.
        storage_class: ``active`` or ``archive``.
        sources: its structured files, in the order of their paths.
        faults: unsafe entries, in the order of their paths.
        fingerprint: SHA-256 over names and file identities; equal scans read equal bytes, once the clock moved on.
        newest_change_ns: the newest ctime seen, in nanoseconds of the epoch; 0 without sources.
        sealed: a receipt is there, so every file counts, not only the structured ones.
        other_files: paths of the files that are no sources.
    """

    session_id: str
    storage_class: StorageClass
    sources: tuple[Source, ...]
    faults: tuple[Fault, ...]
    fingerprint: str
    newest_change_ns: int
    sealed: bool
    other_files: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """Paths of all regular files below the run directory."""
        return tuple(source.path for source in self.sources) + self.other_files

    @property
    def source_dir(self) -> str:
        """Path of the run directory below the state root."""
        return f"{STORAGE_DIRECTORIES[self.storage_class]}/{self.session_id}"


class OddEntry(NamedTuple):
    """An entry beside the runs that is no run."""

    path: str
    """Path below the state root, printable."""
    kind: Literal["invalid_run_name", "not_a_directory", "shadowed_archive"]
    detail: str


class Candidate(NamedTuple):
    """A run directory by name, not yet opened."""

    session_id: str
    storage_class: StorageClass
    has_archived_twin: bool = False
    """An archived run has the same id. It counts only where the active one is of a retired format, hence excluded."""

    @property
    def archived_twin(self) -> "Candidate":
        """The archived run of the same id."""
        return Candidate(self.session_id, "archive")


Storage = Mapping[StorageClass, int | None]
"""Descriptors of ``runs/`` and ``archive/``; None where there is no such directory."""


@dataclass(frozen=True)
class Discovery:
    """The runs of a state root in the order of their ids, and what stood beside them."""

    runs: tuple[Candidate, ...]
    odd_entries: tuple[OddEntry, ...]


def discover(root: StateRoot, *, active_only: bool = False) -> Discovery:
    """List the run directories. An active run wins over an archived one of the same id.

    Raises:
        UnsafePath: ``runs/`` or ``archive/`` itself is a link, no directory, somebody else's, or writable by others.
    """
    runs: dict[str, Candidate] = {}
    odd: list[OddEntry] = []
    for storage_class, directory in STORAGE_DIRECTORIES.items():
        with root.directory(directory) as descriptor:
            if descriptor is None:
                continue
            for name, is_candidate in _entries(descriptor):
                if name.startswith("."):
                    continue
                path = printable(f"{directory}/{name}")
                if not ID_PATTERN.fullmatch(name):
                    odd.append(OddEntry(path, "invalid_run_name", "its name is no session id; rename or remove it"))
                elif not is_candidate:
                    odd.append(OddEntry(path, "not_a_directory", "a run is a directory; remove what stands here"))
                elif name not in runs:
                    if not (active_only and storage_class == "archive"):
                        runs[name] = Candidate(name, storage_class)
                else:
                    runs[name] = Candidate(name, "active", has_archived_twin=not active_only)
                    odd.append(OddEntry(path, "shadowed_archive", "an active run has the same id; one of them counts"))
    return Discovery(tuple(runs[name] for name in sorted(runs)), tuple(sorted(odd)))


def _entries(descriptor: int) -> Iterator[tuple[str, bool]]:
    with os.scandir(descriptor) as entries:
        for entry in entries:
            # A link counts as a candidate: it is then refused by name, as that run's error.
            yield entry.name, entry.is_dir(follow_symlinks=False) or entry.is_symlink()


def open_run(candidate: Candidate, storage_descriptor: int) -> int:
    """Open a run directory without following a link.

    Returns:
        A directory descriptor that the caller closes.

    Raises:
        OSError: ENOENT where it vanished, ELOOP or ENOTDIR where it is no directory, EACCES where it may not be read.
    """
    return os.open(candidate.session_id, _DIRECTORY_FLAGS, dir_fd=storage_descriptor)


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
    return replace(scan, fingerprint=both, newest_change_ns=max(scan.newest_change_ns, other.newest_change_ns))


@dataclass
class _Walk:
    """The state of one scan."""

    sources: list[Source] = field(default_factory=list)
    others: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    marks: list[str] = field(default_factory=list)
    newest: int = 0

    def note(self, path: str, status: os.stat_result, extra: str = "") -> None:
        self.newest = max(self.newest, status.st_ctime_ns)
        self.marks.append(
            f"{path}\0{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_dev} {status.st_ino} "
            f"{status.st_mode}\0{extra}"
        )


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
        walk.faults.append(Fault(".", _refusal(error)))
        status = os.stat(candidate.session_id, dir_fd=storage_descriptor, follow_symlinks=False)
        walk.note(".", status)
        return _finish(candidate, walk, sealed=False)
    try:
        _scan_directory(descriptor, "", 0, walk)
        sealed = any(source.path == RECEIPT_NAME for source in walk.sources)
        if every_file or sealed:
            for path in walk.others:
                walk.note(path, _status_below(descriptor, path))
    finally:
        os.close(descriptor)
    return _finish(candidate, walk, sealed=sealed)


def _status_below(run_directory: int, path: str) -> os.stat_result:
    """Look at a file that is no source; a component that was swapped for a link is refused when it is read."""
    return os.stat(path, dir_fd=run_directory, follow_symlinks=False)


def _finish(candidate: Candidate, walk: _Walk, *, sealed: bool) -> RunScan:
    for fault in walk.faults:
        walk.marks.append(f"{fault.path}\0fault\0{fault.reason}")
    walk.marks.sort()
    digest = hashlib.sha256(_SALT)
    digest.update(f"{candidate.storage_class}\n".encode())
    digest.update("\n".join(walk.marks).encode("utf-8", "surrogateescape"))
    return RunScan(
        candidate.session_id,
        candidate.storage_class,
        tuple(sorted(walk.sources)) if len(walk.sources) > 1 else tuple(walk.sources),
        tuple(sorted(walk.faults)),
        digest.hexdigest(),
        walk.newest,
        sealed,
        tuple(walk.others),
    )


def _scan_directory(descriptor: int, prefix: str, depth: int, walk: _Walk) -> None:
    with os.scandir(descriptor) as entries:
        for entry in entries:
            name = entry.name
            structured = name.endswith((".json", ".jsonl"))
            if entry.is_symlink():
                _scan_link(entry, prefix + name, descriptor, structured, walk)
            elif entry.is_dir(follow_symlinks=False):
                if structured:
                    walk.faults.append(Fault(prefix + name, "a directory stands where a file is expected"))
                _scan_below(name, prefix + name, descriptor, depth, walk)
            elif not structured:
                if entry.is_file(follow_symlinks=False):
                    walk.others.append(prefix + name)
            elif not entry.is_file(follow_symlinks=False):
                walk.note(prefix + name, entry.stat(follow_symlinks=False))
                walk.faults.append(Fault(prefix + name, "not a regular file"))
            else:
                _scan_source(entry, prefix + name, walk)


def _scan_source(entry: os.DirEntry[str], path: str, walk: _Walk) -> None:
    status = entry.stat(follow_symlinks=False)
    walk.note(path, status)
    if not path.isprintable():
        walk.faults.append(Fault(printable(path), "its name cannot be shown; rename it to printable text"))
        return
    walk.sources.append(Source(path, "jsonl" if path.endswith("l") else "json", status))


def _scan_link(entry: os.DirEntry[str], path: str, parent: int, structured: bool, walk: _Walk) -> None:
    """A link is a fault where it could bring in a source: by its name, or because it leads to a directory."""
    target = os.readlink(entry.name, dir_fd=parent)
    walk.note(path, entry.stat(follow_symlinks=False), target)
    if structured:
        walk.faults.append(Fault(printable(path), "a link, which is never followed"))
    elif _leads_to_directory(entry):
        walk.faults.append(Fault(printable(path), "a link to a directory, which is never followed"))


def _leads_to_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=True)
    except OSError:  # a loop leads nowhere
        return False


def _scan_below(name: str, path: str, parent: int, depth: int, walk: _Walk) -> None:
    if depth + 1 > _MAXIMUM_DEPTH:
        walk.faults.append(Fault(printable(path), f"directories are nested more than {_MAXIMUM_DEPTH} deep"))
        return
    try:
        descriptor = os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        walk.faults.append(Fault(printable(path), _refusal(error)))
        return
    try:
        _scan_directory(descriptor, path + "/", depth + 1, walk)
    finally:
        os.close(descriptor)


def _refusal(error: OSError) -> str:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return "a link or no directory, which is never followed"
    return f"the directory cannot be read: {error.strerror}"


def is_unsafe_kind(mode: int) -> bool:
    """Tell whether a file mode is anything but a regular file."""
    return not stat.S_ISREG(mode)
