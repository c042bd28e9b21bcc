"""Finding runs: the directories of ``runs/`` and ``archive/``, and what else stands there.

Nothing here reads a file's content: names only, through directory descriptors, following no link.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Literal, NamedTuple

from agent_workflow.index_store.errors import printable
from agent_workflow.index_store.state_root import STORAGE_DIRECTORIES, StateRoot, StorageClass

ID_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}", re.ASCII)
_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


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


@contextmanager
def open_storage(root: StateRoot) -> Iterator[Storage]:
    """Hold ``runs/`` and ``archive/`` open.

    Raises:
        UnsafePath: one of them is a link, no directory, somebody else's, or writable by others.
    """
    with ExitStack() as stack:
        yield {name: stack.enter_context(root.directory(directory)) for name, directory in STORAGE_DIRECTORIES.items()}


class Discovery(NamedTuple):
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
