"""Which runs of a state root are live. A run that has ended costs one look, and none while no run comes or goes.

The directory ``runs/`` changes its time whenever a run comes or goes. While it does not, only the runs that had not
ended at the last look are looked at; a run that has ended never becomes live again.
"""

import os
import re
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agent_workflow.cli.supervisor.documents import BadEvidence, Document, whole_number
from agent_workflow.cli.supervisor.runs import LIVE, RECEIPT, Run, read_run

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\Z")
_SETTLED_NS = 2_000_000_000


@dataclass(slots=True)
class Found:
    """What a look at ``runs/`` found.

    Attributes:
        live: runs to supervise.
        unsealed: traced runs that have ended and wait for their seal.
        ended: how many have ended.
        faults: runs of which nothing can be said, each with its reason.
    """

    live: list[Run] = field(default_factory=list)
    unsealed: list[Run] = field(default_factory=list)
    ended: int = 0
    faults: list[BadEvidence] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Listing:
    """What is known of ``runs/`` as it was at one moment.

    Attributes:
        changed_ns: the directory's own time then.
        unended: names of the runs that had not ended.
        ended: how many had.
    """

    changed_ns: int
    unended: tuple[str, ...]
    ended: int

    @classmethod
    def from_document(cls, document: object) -> "Listing | None":
        """Read what :meth:`to_document` wrote; anything else is no listing."""
        if not isinstance(document, dict):
            return None
        changed, ended = whole_number(document.get("changed_ns")), whole_number(document.get("ended"))
        names = document.get("unended")
        if changed is None or ended is None or not isinstance(names, list):
            return None
        return cls(changed, tuple(name for name in names if isinstance(name, str) and _ID.match(name)), ended)

    def to_document(self) -> Document:
        """Return the listing as it is kept between cycles."""
        return {"changed_ns": self.changed_ns, "unended": list(self.unended), "ended": self.ended}


class Discovery:
    """Finds live runs, and remembers those that have ended."""

    def __init__(self) -> None:
        self._ended: dict[str, int] = {}

    def look(self, runs: Path, only: frozenset[str], known: Listing | None) -> tuple[Found, Listing | None]:
        """Look at every run directory that may be live.

        Args:
            runs: ``runs/`` of a state root.
            only: the ids to look at; all where it is empty.
            known: the listing of an earlier cycle.

        Returns:
            What was found, and the listing for the next cycle, None where it would not hold.

        Raises:
            OSError: the directory cannot be listed.
        """
        changed = os.lstat(runs).st_mtime_ns
        found = Found()
        if only:
            named = sorted(name for name in only if _ID.match(name) and os.path.isdir(f"{runs}/{name}"))  # noqa: PTH112 - as above
            found.faults.extend(BadEvidence(runs / name, "does not exist") for name in sorted(only.difference(named)))
            self._read(runs, named, found)
            return found, None
        if known is not None and known.changed_ns == changed:
            found.ended = known.ended
            names = list(known.unended)
        else:
            names = self._unended(runs, found)
        unended = self._read(runs, names, found)
        # A run that came within the clock's grain of our look would not show in the directory's time.
        is_settled = time.time_ns() - changed > _SETTLED_NS
        return found, Listing(changed, tuple(unended), found.ended) if is_settled else None

    def _unended(self, runs: Path, found: Found) -> list[str]:
        """List the runs that have no receipt and were not seen to have ended."""
        with os.scandir(runs) as entries:
            inodes = {entry.name: entry.inode() for entry in entries if _ID.match(entry.name)}
        # A run that came in the place of one that ended has its name and another inode.
        self._ended = {name: inode for name, inode in self._ended.items() if inodes.get(name) == inode}
        unended = []
        descriptor = os.open(runs, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            for name, inode in inodes.items():
                if name in self._ended:
                    continue
                if os.access(f"{name}/{RECEIPT}", os.F_OK, dir_fd=descriptor):
                    self._ended[name] = inode
                elif _is_directory(name, descriptor):
                    unended.append(name)
        finally:
            os.close(descriptor)
        found.ended = len(self._ended)
        return unended

    def _read(self, runs: Path, names: Iterable[str], found: Found) -> list[str]:
        """Sort runs by what they say; return the names of those that have not ended."""
        unended = []
        for name in names:
            try:
                run = None if os.path.lexists(f"{runs}/{name}/{RECEIPT}") else read_run(runs / name)
            except BadEvidence as fault:
                found.faults.append(fault)
                unended.append(name)
                continue
            if run is None or (run.status is not None and run.status not in LIVE and run.trace is None):
                found.ended += 1
                if (seen := _inode(runs / name)) is not None:
                    self._ended[name] = seen
                continue
            unended.append(name)
            (found.live if run.status is None or run.status in LIVE else found.unsealed).append(run)
        return unended


def _is_directory(name: str, descriptor: int) -> bool:
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=descriptor, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _inode(directory: Path) -> int | None:
    try:
        return directory.lstat().st_ino
    except OSError:
        return None
