"""Where evidence is kept, and whether it can be kept there safely.

The parents of the state root may be links (a home on another disk). The root itself and its directories may not, must
belong to this user, and must not be writable by others.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from agent_workflow.tracer.evidence._errors import EvidenceError, UnsafeStateRoot

RUNS: Final = "runs"
ARCHIVE: Final = "archive"


def state_root(configured: Path | None = None, environment: Mapping[str, str] = os.environ) -> Path:
    """Name the state root; nothing is created.

    Args:
        configured: ``evidence.state_root`` of the configuration.
        environment: ``AGENT_WORKFLOW_STATE_ROOT`` in it comes first; ``XDG_STATE_HOME`` says where the default lies.

    Returns:
        An absolute path.
    """
    if chosen := environment.get("AGENT_WORKFLOW_STATE_ROOT"):
        return Path(chosen).absolute()
    if configured is not None:
        return configured.absolute()
    state_home = environment.get("XDG_STATE_HOME", "")
    # The XDG specification: a relative path is invalid and to be ignored.
    base = Path(state_home) if state_home.startswith("/") else Path.home() / ".local" / "state"
    return base / "agent-workflow"


def runs_directory(root: Path, *, create: bool = False) -> Path:
    """Name ``runs/`` of a state root after looking at whose both are.

    Args:
        root: from ``state_root``.
        create: make what is missing, owner-only whatever the umask.

    Raises:
        FileNotFoundError: one of them is missing, and ``create`` is off.
        UnsafeStateRoot: one of them is a link, no directory, somebody else's, or writable by others.
        EvidenceError: one of them cannot be made.
    """
    runs = root / RUNS
    if create:
        try:
            root.parent.mkdir(parents=True, exist_ok=True)
            make_private_directory(root, exist_ok=True)
            _check(root)  # before anything is put into it
            make_private_directory(runs, exist_ok=True)
        except OSError as error:
            raise EvidenceError(f"{runs} cannot be made: {error.strerror}", path=runs) from error
    _check(root)
    _check(runs)
    return runs


def make_private_directory(path: Path, *, exist_ok: bool = False) -> None:
    """Make a directory of mode 0700.

    Raises:
        FileExistsError: something is there already, unless ``exist_ok``.
        OSError: it cannot be made.
    """
    try:
        path.mkdir(mode=0o700)  # the umask can only take more away
    except FileExistsError:
        if not exist_ok:
            raise


def _check(path: Path) -> None:
    seen = path.lstat()
    if not stat.S_ISDIR(seen.st_mode):
        raise UnsafeStateRoot(f"{path} is a link or no directory", path=path)
    if seen.st_uid not in (os.geteuid(), 0):
        raise UnsafeStateRoot(f"{path} belongs to user {seen.st_uid}, not to you", path=path)
    if seen.st_mode & 0o022:
        raise UnsafeStateRoot(f"{path} is writable by others", path=path, hint=f"chmod go-w '{path}'")
