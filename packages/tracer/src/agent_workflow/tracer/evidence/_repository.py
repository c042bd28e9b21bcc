"""What git says about a checkout, or nothing: never a lock, never a wait of more than two seconds."""

import os
import subprocess
from pathlib import Path
from typing import Final, NamedTuple

_SECONDS: Final = 2.0
# Set where git runs a hook; they would lead to the hook's repository instead of the workflow's.
_MISLEADING: Final = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")


class Checkout(NamedTuple):
    """The state of a checkout; what is not known is ``None``, as is the branch of a detached head."""

    revision: str | None = None
    branch: str | None = None
    is_dirty: bool | None = None


def look_at(folder: Path, seconds: float = _SECONDS) -> Checkout:
    """Ask git about the checkout that a folder lies in.

    Args:
        folder: in the repository.
        seconds: how long git may take.

    Returns:
        What it said; all unknown without git, outside of a repository, or when it took too long.
    """
    command = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v2", "--branch"]
    try:
        done = subprocess.run(  # noqa: S603 - a fixed command
            command,
            cwd=folder,
            env=git_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return Checkout()
    return Checkout() if done.returncode else _read(done.stdout)


def git_environment() -> dict[str, str]:
    """Return the environment in which git tells of the folder that it is started in, and takes no lock for that."""
    environment = {name: value for name, value in os.environ.items() if name not in _MISLEADING}
    return {**environment, "GIT_OPTIONAL_LOCKS": "0"}


def _read(output: bytes) -> Checkout:
    revision = branch = None
    is_dirty = False
    for line in output.decode("utf-8", "replace").split("\n"):
        if line.startswith("# branch.oid ") and not line.endswith("(initial)"):
            revision = line.removeprefix("# branch.oid ")
        elif line.startswith("# branch.head ") and not line.endswith("(detached)"):
            branch = line.removeprefix("# branch.head ")
        elif line and not line.startswith("#"):
            is_dirty = True
    return Checkout(revision, branch, is_dirty)
