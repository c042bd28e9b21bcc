"""The state root: its place, its permissions, the file system it lies on, and the index in it."""

import errno
import os
import re
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from shlex import quote

from agent_workflow import index_store
from agent_workflow.cli._cells import counted, size
from agent_workflow.cli._check import Check
from agent_workflow.cli._failure import failure_of_store, with_state_root
from agent_workflow.cli._retention_words import interrupted_prunes

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")
"""How the kernel writes a space, a tab, a line break and a backslash in a path."""
_UNSAFE_KINDS = ("nfs", "nfs4", "virtiofs", "9p", "cifs", "smb3", "smbfs", "afs", "vboxsf", "fuse")
_BAD_FREE_BYTES = 100 * 1024**2
_LOW_FREE_BYTES = 1024**3


def check_state_root(state_root: Path, named_root: str | None) -> Iterable[Check]:
    """Look at a state root without changing it.

    Args:
        state_root: the root that is meant.
        named_root: ``--state-root`` as given, for the commands that are shown.
    """
    absolute = Path(os.path.abspath(state_root))  # noqa: PTH100 -- Path.resolve would follow a link at the root itself
    yield check_directory("state root", absolute, missing="not there yet; the first sync makes it")
    for name in ("runs", "archive", "index") if _is_directory(absolute) else ():
        yield check_directory(name, absolute / name, missing="not there yet")
    there = _nearest_existing(absolute)
    yield check_file_system(there, _MOUNTS.read_text("utf-8", "replace") if _MOUNTS.exists() else "")
    yield check_free_space(there, shutil.disk_usage(there).free)
    yield check_index(state_root, named_root)
    if (interrupted := interrupted_prunes(state_root, named_root)) is not None:
        yield Check("prune", "warn", *interrupted)


def check_directory(name: str, path: Path, *, missing: str) -> Check:
    """Judge one directory: real, ours, and for nobody else.

    Args:
        name: what it is called.
        path: where it is.
        missing: what to say where it is not there.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return Check(name, "ok", f"{path}: {missing}")
    except OSError as error:
        may_not = error.errno == errno.EACCES
        fix = f"chmod u+rwx {quote(str(path.parent))}" if may_not else "name another one with --state-root"
        return Check(name, "bad", f"{path}: {error.strerror}", fix)
    if not stat.S_ISDIR(status.st_mode):
        return Check(name, "bad", f"{path} is a link or no directory", "put a real directory of your own in its place")
    place = quote(str(path))
    mode = f"{path} ({stat.S_IMODE(status.st_mode):04o})"
    if status.st_uid not in (os.geteuid(), 0):
        return Check(name, "bad", f"{mode} belongs to user {status.st_uid}", f"chown -R {os.geteuid()} {place}")
    if status.st_mode & 0o022:
        return Check(name, "bad", f"{mode} is writable by others", f"chmod go-w {place}")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Check(name, "warn", f"{mode} takes no writes from you", f"chmod u+rwx {place}")
    if status.st_mode & 0o077:
        return Check(name, "warn", f"{mode} is readable by others", f"chmod 700 {place}")
    return Check(name, "ok", mode)


def _nearest_existing(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if _is_directory(parent))


def _is_directory(path: Path) -> bool:
    """Tell whether there is one; Path.is_dir raises for what may not be looked at."""
    return os.path.isdir(path)  # noqa: PTH112


def check_file_system(path: Path, mountinfo: str) -> Check:
    """Judge the kind of file system: SQLite's write-ahead log needs one of this host's own.

    Args:
        path: an existing directory.
        mountinfo: content of ``/proc/self/mountinfo``; empty where the system has none.
    """
    kind = file_system_kind(path.resolve(), mountinfo)
    if kind is None:
        return Check("file system", "ok", "its kind cannot be told here; keep the state root on a local disk")
    if kind in _UNSAFE_KINDS or kind.startswith("fuse."):
        detail = f"{kind}: a shared or network file system may damage SQLite databases"
        return Check(
            "file system", "bad", detail, "name a local directory with --state-root or AGENT_WORKFLOW_STATE_ROOT"
        )
    return Check("file system", "ok", kind)


def file_system_kind(path: Path, mountinfo: str) -> str | None:
    """Return the kind of file system that a path lies on; of mounts on one place the last counts."""
    best: tuple[int, str] | None = None
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        parts = fields.split()
        if len(parts) < 5 or not rest:
            continue
        point = Path(_OCTAL.sub(lambda found: chr(int(found[1], 8)), parts[4]))
        if path.is_relative_to(point) and (best is None or len(point.parts) >= best[0]):
            best = (len(point.parts), rest.split()[0])
    return None if best is None else best[1]


def check_free_space(path: Path, free: int) -> Check:
    """Judge how much room the disk has; ``free`` is in bytes."""
    detail = f"{size(free)} free at {path}"
    if free < _LOW_FREE_BYTES:
        return Check(
            "disk", "bad" if free < _BAD_FREE_BYTES else "warn", detail, "make room: a full disk loses evidence"
        )
    return Check("disk", "ok", detail)


def check_index(state_root: Path, named_root: str | None) -> Check:
    """Judge the index: there, ours, and fresh."""
    try:
        report = index_store.status(state_root)
    except index_store.IndexStoreError as error:
        failure = failure_of_store(error, named_root)
        return Check("index database", "bad", failure.message, failure.hint)
    freshness = report.freshness
    detail = f"{freshness.word}: {freshness.current_runs} of {counted(freshness.source_runs, 'run')} current"
    if freshness.word in ("missing", "stale"):
        sync = with_state_root("agent-workflow index sync", named_root)
        return Check("index database", "ok" if freshness.source_runs == 0 else "warn", detail, sync)
    if freshness.word == "incomplete":
        detail += f", {freshness.error_runs} in error"
        return Check("index database", "warn", detail, with_state_root("agent-workflow index query errors", named_root))
    return Check("index database", "ok", detail)
