"""Everything that lies in a run directory, named and identified before any of it is moved or deleted."""

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from agent_workflow.index_store.errors import UnsafeSource
from agent_workflow.index_store.reading import identity

Kind = Literal["file", "link"]

DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAXIMUM_DEPTH = 32


class Entry(NamedTuple):
    """A file or a link; a link is an entry of its own and is never followed."""

    path: str
    """Path below the run directory."""
    kind: Kind
    size: int
    identity: tuple[int, ...]
    """Size, times in nanoseconds, device, inode and mode."""


@dataclass(frozen=True)
class Inventory:
    """What a directory held at one moment.

    Attributes:
        entries: its files and links, in the order of their paths.
        directories: the directories in it, a parent before what it holds.
        fingerprint: SHA-256 over all of that; equal fingerprints mean that nothing came, went or changed.
        newest_change_ns: newest modification of a file, nanoseconds of the epoch; 0 without files.
    """

    entries: tuple[Entry, ...]
    directories: tuple[str, ...]
    fingerprint: str
    newest_change_ns: int

    @property
    def size_bytes(self) -> int:
        """Sum of the sizes of its files and links."""
        return sum(entry.size for entry in self.entries)


def take_inventory(directory: int) -> Inventory:
    """Look at everything below a directory.

    Args:
        directory: its descriptor.

    Raises:
        UnsafeSource: it holds what is neither file, directory nor link, a name that cannot be shown, or is too deep.
        OSError: a directory cannot be read, or vanished.
    """
    entries: list[Entry] = []
    directories: list[str] = []
    newest = 0
    for path, status in _walk(directory, "", 0):
        if stat.S_ISDIR(status.st_mode):
            directories.append(path)
            continue
        kind: Kind = "link" if stat.S_ISLNK(status.st_mode) else "file"
        entries.append(Entry(path, kind, status.st_size, identity(status)))
        newest = max(newest, status.st_mtime_ns)
    entries.sort()
    directories.sort()
    digest = hashlib.sha256()
    for name in directories:
        digest.update(f"{name}\0directory\n".encode())
    for entry in entries:
        digest.update(f"{entry.path}\0{entry.kind} {entry.identity}\n".encode())
    return Inventory(tuple(entries), tuple(directories), digest.hexdigest(), newest)


def _walk(directory: int, prefix: str, depth: int) -> Iterator[tuple[str, os.stat_result]]:
    if depth > _MAXIMUM_DEPTH:
        raise UnsafeSource(f"directories are nested more than {_MAXIMUM_DEPTH} deep", prefix or ".")
    with os.scandir(directory) as found:
        names = sorted(entry.name for entry in found)
    for name in names:
        path = prefix + name
        if not path.isprintable():
            raise UnsafeSource("its name cannot be shown; rename it to printable text", path)
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        if stat.S_ISDIR(status.st_mode):
            yield path, status
            below = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
            try:
                yield from _walk(below, f"{path}/", depth + 1)
            finally:
                os.close(below)
        elif stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
            yield path, status
        else:
            raise UnsafeSource("is neither a file nor a directory nor a link", path)
