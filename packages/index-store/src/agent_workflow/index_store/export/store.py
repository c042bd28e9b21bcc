"""Where a dataset lies: a directory, or whatever ``fsspec`` reaches. Every write appears whole or not at all."""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

from agent_workflow.index_store.export.errors import InvalidDestination

TEMPORARY_PREFIX = ".writing-"
"""Of files on the way; readers of hive-partitioned data pass over names that begin with a dot."""

_WHOLE_AT_ONCE = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "memory"})
"""Protocols whose upload of one object appears whole: there a rename would be a copy."""


_PUTS_AT_ONCE = 8


class Store(Protocol):
    """A place with files by path, parts of which are joined by ``/``."""

    url: str
    puts_at_once: int
    """Files that can be put at the same time."""

    def locate(self, path: str) -> str:
        """Return the path or URL by which an engine opens a file."""

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None where there is none."""

    def exists(self, path: str) -> bool:
        """Tell whether there is a file."""

    def put(self, path: str, content: bytes) -> None:
        """Write a file whole, in place of one that is there."""

    def remove(self, path: str) -> None:
        """Remove a file, if it is there, and the directories that it leaves empty."""

    def find(self, *pattern: str) -> dict[str, int]:
        """Return the files whose path has the components of the pattern, each a name or ``prefix*``, with their size.

        In the order of their paths; sizes in bytes.
        """


def open_store(url: str) -> Store:
    """Return the place that a directory or a URL names.

    Raises:
        InvalidDestination: no such protocol, or the package that it needs is missing.
    """
    if not url.removeprefix("file://"):
        raise InvalidDestination("no place is named", hint="a directory, or a URL that fsspec knows")
    if url.startswith("file://"):
        return LocalStore(_directory_of(url))
    if "://" not in url:
        return LocalStore(Path(url).absolute())
    import fsspec

    try:
        file_system, root = fsspec.core.url_to_fs(url)
    except (ValueError, ImportError) as error:
        raise InvalidDestination(
            f"{url} cannot be reached: {error}", path=url, hint="see the documentation of fsspec"
        ) from error
    return RemoteStore(url, file_system, root.rstrip("/"))


def _directory_of(url: str) -> Path:
    """Return the directory of a ``file:`` URL, which names no host or this one; else half of it became a directory."""
    host, slash, path = url.removeprefix("file://").partition("/")
    if host not in ("", "localhost") or not slash:
        raise InvalidDestination(f"{url} names another host", path=url, hint="file:///, then the path from the root")
    return Path("/" + path.lstrip("/"))


class LocalStore:
    """A directory. What was put there is on the disk before it has its name."""

    puts_at_once = _PUTS_AT_ONCE  # a disk takes many small files in hardly more time than one

    def __init__(self, root: Path) -> None:
        self.root = root
        self.url = str(root)

    def locate(self, path: str) -> str:
        """Return the file's path."""
        return str(self.root / path)

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None where there is none."""
        try:
            return (self.root / path).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, path: str) -> bool:
        """Tell whether there is a file."""
        return os.path.isfile(self.root / path)

    def put(self, path: str, content: bytes) -> None:
        """Write beside the place, then rename."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = target.parent / f"{TEMPORARY_PREFIX}{os.getpid()}-{target.name}"
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, target)
        _sync_directory(target.parent)

    def remove(self, path: str) -> None:
        """Remove a file and the directories that it leaves empty, up to that of its host."""
        target = self.root / path
        target.unlink(missing_ok=True)
        for directory in target.parents:
            if directory == self.root:
                return
            try:
                directory.rmdir()
            except OSError:
                return  # something else lies there
            if directory.name.startswith("host="):
                return  # above it other hosts may be about to make their own

    def find(self, *pattern: str) -> dict[str, int]:
        """Walk down by the pattern."""
        return dict(sorted(_walk(self.root, "", pattern)))


def _walk(directory: Path, path: str, pattern: tuple[str, ...]) -> Iterator[tuple[str, int]]:
    try:
        entries = list(os.scandir(directory))
    except (FileNotFoundError, NotADirectoryError):
        return
    for entry in entries:
        if _fits(entry.name, pattern[0]):
            below = f"{path}{entry.name}"
            if len(pattern) > 1:
                yield from _walk(Path(entry.path), f"{below}/", pattern[1:])
            elif entry.is_file(follow_symlinks=False):
                yield below, entry.stat(follow_symlinks=False).st_size


def _fits(name: str, pattern: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class RemoteStore:
    """A place behind ``fsspec``."""

    def __init__(self, url: str, file_system: Any, root: str) -> None:  # noqa: ANN401 -- fsspec has no types
        self.url = url
        self.file_system = file_system
        self.root = root
        protocol = file_system.protocol
        names = {protocol} if isinstance(protocol, str) else set(protocol)
        self._whole_at_once = bool(names & _WHOLE_AT_ONCE)
        self.puts_at_once = _PUTS_AT_ONCE if self._whole_at_once else 1  # other connections are for one thread

    def locate(self, path: str) -> str:
        """Return the file's URL."""
        return str(self.file_system.unstrip_protocol(self._full(path)))

    def _full(self, path: str) -> str:
        return f"{self.root}/{path}"

    def read(self, path: str) -> bytes | None:
        """Return a file's bytes, or None where there is none."""
        try:
            content: bytes = self.file_system.cat_file(self._full(path))
        except FileNotFoundError:
            return None
        return content

    def exists(self, path: str) -> bool:
        """Tell whether there is a file."""
        return bool(self.file_system.isfile(self._full(path)))

    def put(self, path: str, content: bytes) -> None:
        """Upload, where an upload is no single step under another name first."""
        target = self._full(path)
        if self._whole_at_once:
            self.file_system.pipe_file(target, content)
            return
        parent = PurePosixPath(target).parent
        self.file_system.makedirs(str(parent), exist_ok=True)
        beside = str(parent / f"{TEMPORARY_PREFIX}{os.getpid()}-{PurePosixPath(target).name}")
        self.file_system.pipe_file(beside, content)
        self.file_system.mv(beside, target)

    def remove(self, path: str) -> None:
        """Remove a file, if it is there; directories that are only part of a name need no removal."""
        try:
            self.file_system.rm_file(self._full(path))
        except FileNotFoundError:
            return

    def find(self, *pattern: str) -> dict[str, int]:
        """List everything below the part of the pattern that is no pattern, and pick."""
        fixed = []
        for component in pattern:
            if component.endswith("*"):
                break
            fixed.append(component)
        self.file_system.invalidate_cache()
        found = {}
        for full, told in sorted(self.file_system.find("/".join((self.root, *fixed)), detail=True).items()):
            path = self.file_system._strip_protocol(full)[len(self.root) :].lstrip("/")
            names = path.split("/")
            if len(names) == len(pattern) and all(map(_fits, names, pattern)):
                found[path] = -1 if told.get("size") is None else int(told["size"])
        return found
