"""Deleting a staged directory: what was listed, as it was listed, and nothing else."""

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_workflow.index_store.errors import EvidenceError
from agent_workflow.index_store.reading import digest_file
from agent_workflow.index_store.retention.inventory import DIRECTORY_FLAGS, Entry, Inventory


@dataclass(frozen=True)
class Removal:
    """What became of a staged directory.

    Attributes:
        deleted_files: listed files that are gone.
        deleted_bytes: sum of their sizes.
        left: paths that are still there, each with what kept it.
    """

    deleted_files: int
    deleted_bytes: int
    left: tuple[str, ...]


def listing(directory: int, inventory: Inventory) -> list[dict[str, object]]:
    """Describe every file for the receipt, with its digest.

    Raises:
        EvidenceError: a file changed since the inventory, or cannot be read safely.
        FileNotFoundError: it vanished.
    """
    return [_listed(directory, entry) for entry in inventory.entries]


def _listed(directory: int, entry: Entry) -> dict[str, object]:
    _, mtime_ns, _, _, inode, _ = entry.identity
    sha256 = digest_file(directory, entry.path).sha256 if entry.kind == "file" else None
    return {
        "path": entry.path,
        "kind": entry.kind,
        "size": entry.size,
        "sha256": sha256,
        "mtime_ns": mtime_ns,
        "inode": inode,
    }


def remove_staged(
    parent: int, name: str, files: Sequence[Mapping[str, object]], step: Callable[[str], None]
) -> Removal:
    """Delete the listed files of a staged directory, then the directories that are empty.

    What is already gone counts as deleted: an earlier call was killed. What is not listed, or not what was listed,
    stays, and so do the directories above it.

    Args:
        parent: descriptor of the directory that the staged one lies in.
        name: of the staged directory.
        files: as :func:`listing` gave them.
        step: called before each change.
    """
    root = os.open(name, DIRECTORY_FLAGS, dir_fd=parent)
    left: dict[str, str] = {}
    deleted = size = 0
    try:
        for file in files:
            path = str(file["path"])
            fault = _unlink(root, path, file, step)
            if fault is None:
                deleted += 1
                size += int(str(file["size"]))
            else:
                left[path] = fault
        _remove_empty(root, step)
        for path in _remaining(root, ""):
            left.setdefault(path, "it is not in the plan")
    finally:
        os.close(root)
    if not left:
        step("rmdir")
        os.rmdir(name, dir_fd=parent)
        os.fsync(parent)
    return Removal(deleted, size, tuple(f"{path}: {fault}" for path, fault in sorted(left.items())))


def holds_listed(parent: int, name: str, files: Sequence[Mapping[str, object]]) -> bool:
    """Tell whether a directory holds any of the listed files as listed: one that was made anew holds none.

    Args:
        parent: descriptor of the directory that it lies in.
        name: of the directory.
        files: as :func:`listing` gave them; without any, every directory fits.
    """
    for file in files:
        try:
            status = os.stat(f"{name}/{file['path']}", dir_fd=parent, follow_symlinks=False)
        except OSError:
            continue
        if _is_listed(status, file):
            return True
    return not files


def refuse_read_only(directory: int, inventory: Inventory) -> None:
    """Refuse a directory out of which nothing can be deleted: half of a run must never be left.

    Raises:
        EvidenceError: it, or one below it, takes no changes from this user.
    """
    for path in (".", *inventory.directories):
        if not os.access(path, os.W_OK | os.X_OK, dir_fd=directory, effective_ids=True):
            raise EvidenceError("is read-only, so that nothing in it can be deleted", path)


def _unlink(root: int, path: str, file: Mapping[str, object], step: Callable[[str], None]) -> str | None:
    """Delete one file; the word says why it stays."""
    *folders, name = path.split("/")
    opened: list[int] = []
    parent = root
    try:
        for folder in folders:
            parent = os.open(folder, DIRECTORY_FLAGS, dir_fd=parent)
            opened.append(parent)
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if not _is_listed(status, file):
            return "it is not what was listed"
        step(f"unlink {path}")
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be deleted: {error.strerror}"
    finally:
        for descriptor in reversed(opened):
            os.close(descriptor)
    return None


def _is_listed(status: os.stat_result, file: Mapping[str, object]) -> bool:
    kind = "link" if stat.S_ISLNK(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "other"
    found = (kind, status.st_size, status.st_mtime_ns, status.st_ino)
    return found == (file["kind"], file["size"], file["mtime_ns"], file["inode"])


def _remove_empty(directory: int, step: Callable[[str], None]) -> None:
    """Remove the empty directories below one, the deepest first; one that is not empty stays."""
    for name in _directories(directory):
        below = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
        try:
            _remove_empty(below, step)
            is_empty = not os.listdir(below)
        finally:
            os.close(below)
        if is_empty:
            step(f"rmdir {name}")
            try:
                os.rmdir(name, dir_fd=directory)
            except OSError:
                continue  # told among what is left


def _directories(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))


def _remaining(directory: int, prefix: str) -> Iterator[str]:
    with os.scandir(directory) as entries:
        found = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries)
    for name, is_directory in found:
        yield prefix + name
        if is_directory:
            below = os.open(name, DIRECTORY_FLAGS, dir_fd=directory)
            try:
                yield from _remaining(below, f"{prefix}{name}/")
            finally:
                os.close(below)
