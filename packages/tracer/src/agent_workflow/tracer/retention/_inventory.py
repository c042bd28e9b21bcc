"""What lies in a session's directory, file by file, and deleting exactly that."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_MAX_DEPTH = 32
_CHUNK = 1024 * 1024

Step = Callable[[str], None]


class UnsafeFile(Exception):
    """Something in the directory is neither file, directory nor link, has a name that cannot be shown, or moves."""


class SessionFile(NamedTuple):
    """One file or link below the session's directory; a link is never followed.

    Attributes:
        path: below the directory.
        kind: ``file`` or ``link``.
        size: in bytes.
        mtime_ns: nanoseconds of the epoch.
        ctime_ns: likewise.
        inode: number of the file.
    """

    path: str
    kind: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


def inventory(directory: int) -> list[SessionFile]:
    """List every file, by path.

    Raises:
        UnsafeFile: see there.
        OSError: a directory cannot be read.
    """
    return sorted(_walk(directory, "", 0))


def fingerprint(files: Sequence[SessionFile]) -> str:
    """Return the SHA-256 that tells one state of a directory from another."""
    return hashlib.sha256("\n".join(f"{file.path}\0{file[1:]}" for file in files).encode()).hexdigest()


def listing(directory: int, files: Sequence[SessionFile]) -> list[dict[str, object]]:
    """Describe every file for a receipt, with its SHA-256.

    Raises:
        UnsafeFile: a file changed meanwhile.
        OSError: it cannot be read.
    """
    return [
        {
            "path": file.path,
            "kind": file.kind,
            "size": file.size,
            "sha256": _digest(directory, file) if file.kind == "file" else None,
            "mtime_ns": file.mtime_ns,
            "inode": file.inode,
        }
        for file in files
    ]


def remove_staged(parent: int, name: str, files: Sequence[Mapping[str, object]], step: Step) -> tuple[str, ...]:
    """Delete the listed files of a staged directory and the directories that are empty then.

    What is gone already was deleted by a call that was killed. What is not listed, or not as listed, stays.

    Returns:
        What is still there, each with what keeps it.
    """
    root = os.open(name, _FLAGS, dir_fd=parent)
    left: dict[str, str] = {}
    try:
        for file in files:
            fault = _unlink(root, str(file["path"]), file, step)
            if fault is not None:
                left[str(file["path"])] = fault
        _remove_empty(root, step)
        with os.scandir(root) as entries:
            for entry in sorted(entries, key=lambda found: found.name):
                left.setdefault(entry.name, "something in it is not in the plan")
    finally:
        os.close(root)
    if not left:
        step("rmdir")
        os.rmdir(name, dir_fd=parent)
        os.fsync(parent)
    return tuple(f"{path}: {fault}" for path, fault in sorted(left.items()))


def holds_listed(parent: int, name: str, files: Sequence[Mapping[str, object]]) -> bool:
    """Tell whether a directory holds any of the listed files as listed; without files every directory fits."""
    for file in files:
        try:
            status = os.stat(f"{name}/{file['path']}", dir_fd=parent, follow_symlinks=False)
        except OSError:
            continue
        if _is_listed(status, file):
            return True
    return not files


def refuse_read_only(directory: int) -> None:
    """Refuse a directory out of which nothing can be deleted: half of a session must never be left.

    Raises:
        UnsafeFile: it, or one below it, takes no changes from this user.
    """
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=directory, effective_ids=True):
        raise UnsafeFile("its directory, or one in it, is read-only, so that nothing in it can be deleted")
    with os.scandir(directory) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        below = os.open(name, _FLAGS, dir_fd=directory)
        try:
            refuse_read_only(below)
        finally:
            os.close(below)


def _is_listed(status: os.stat_result, file: Mapping[str, object]) -> bool:
    kind = "link" if stat.S_ISLNK(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "other"
    found = (kind, status.st_size, status.st_mtime_ns, status.st_ino)
    return found == (file["kind"], file["size"], file["mtime_ns"], file["inode"])


def _walk(directory: int, prefix: str, depth: int) -> Iterator[SessionFile]:
    if depth > _MAX_DEPTH:
        raise UnsafeFile(f"{prefix}: directories are nested more than {_MAX_DEPTH} deep")
    for name in sorted(os.listdir(directory)):
        path = prefix + name
        if not path.isprintable():
            raise UnsafeFile(f"{path!a}: its name cannot be shown")
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            below = os.open(name, _FLAGS, dir_fd=directory)
            try:
                yield from _walk(below, f"{path}/", depth + 1)
            finally:
                os.close(below)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            kind = "link" if stat.S_ISLNK(status.st_mode) else "file"
            yield SessionFile(path, kind, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        else:
            raise UnsafeFile(f"{path}: is neither a file nor a directory nor a link")


def _digest(directory: int, file: SessionFile) -> str:
    with _parent_of(directory, file.path) as (parent, name):
        descriptor = os.open(name, _FILE_FLAGS, dir_fd=parent)
    digest, size = hashlib.sha256(), 0
    try:
        while chunk := os.read(descriptor, _CHUNK):
            digest.update(chunk)
            size += len(chunk)
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if (size, status.st_mtime_ns, status.st_ino) != (file.size, file.mtime_ns, file.inode):
        raise UnsafeFile(f"{file.path}: changed while it was read")
    return digest.hexdigest()


class _parent_of:  # noqa: N801 - reads as a verb where it is used
    """The directory that a path's last component lies in, opened without following a link."""

    def __init__(self, root: int, path: str) -> None:
        *self._folders, self._name = path.split("/")
        self._root = root
        self._opened: list[int] = []

    def __enter__(self) -> tuple[int, str]:
        parent = self._root
        try:
            for folder in self._folders:
                parent = os.open(folder, _FLAGS, dir_fd=parent)
                self._opened.append(parent)
        except OSError:
            self.__exit__()
            raise
        return parent, self._name

    def __exit__(self, *_: object) -> None:
        while self._opened:
            os.close(self._opened.pop())


def _unlink(root: int, path: str, file: Mapping[str, object], step: Step) -> str | None:
    try:
        with _parent_of(root, path) as (parent, name):
            if not _is_listed(os.stat(name, dir_fd=parent, follow_symlinks=False), file):
                return "it is not what was listed"
            step(f"unlink {path}")
            os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be deleted: {error.strerror}"
    return None


def _remove_empty(directory: int, step: Step) -> None:
    with os.scandir(directory) as entries:
        names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    for name in names:
        below = os.open(name, _FLAGS, dir_fd=directory)
        try:
            _remove_empty(below, step)
        finally:
            os.close(below)
        step(f"rmdir {name}")
        with contextlib.suppress(OSError):  # one that is not empty is told among what is left
            os.rmdir(name, dir_fd=directory)
