"""What changed in a repository between two moments, without asking git: agents also write outside of it."""

import fnmatch
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Literal

Change = Literal["created", "modified", "deleted"]
Stamp = tuple[int, int, int, int, int]

_SKIPPED: Final = frozenset({".git"})


def snapshot(root: Path, excluded: Iterable[Path] = ()) -> dict[str, Stamp]:
    """Note every file below a folder, links not followed.

    Args:
        root: the repository.
        excluded: folders and files that are left out, with what is in them.

    Returns:
        Relative path to size, mtime and ctime in nanoseconds, inode and mode. What cannot be read is left out.
    """
    left_out = {str(path) for path in excluded}
    found: dict[str, Stamp] = {}
    folders = [str(root)]
    start = len(os.path.join(root, ""))  # noqa: PTH118 - with its slash, which the root of all has already
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name in _SKIPPED or entry.path in left_out:
                continue
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            found[entry.path[start:]] = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino, seen.st_mode)
    return found


def compare(before: Mapping[str, Stamp], after: Mapping[str, Stamp]) -> dict[str, Change]:
    """Return what became of each path that is not as it was."""
    changes: dict[str, Change] = dict.fromkeys(before.keys() - after.keys(), "deleted")
    for path, stamp in after.items():
        if path not in before:
            changes[path] = "created"
        elif before[path] != stamp:
            changes[path] = "modified"
    return dict(sorted(changes.items()))


def matches(path: str, patterns: Iterable[str]) -> bool:
    """Tell whether a relative path is meant by one of the patterns.

    A pattern is a path, a folder (``specs`` or ``specs/`` mean all that is in it), or a glob whose ``*`` also
    crosses folders.
    """
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/")
        if not plain or plain == ".":
            return True
        if path == plain or path.startswith(plain + "/") or fnmatch.fnmatchcase(path, plain):
            return True
        if plain.endswith("/**") and path.startswith(plain[:-2]):
            return True
    return False


def forbidden(changes: Iterable[str], writes: tuple[str, ...] | None, protected: tuple[str, ...]) -> list[str]:
    """Return the changed paths that an agent had no right to change.

    Args:
        changes: relative paths.
        writes: patterns that may be written, ``None`` for all, empty for none.
        protected: patterns that may never be written.
    """
    return [path for path in changes if matches(path, protected) or (writes is not None and not matches(path, writes))]
