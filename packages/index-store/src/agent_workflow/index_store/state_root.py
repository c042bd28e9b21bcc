"""The state root: where evidence lies, and where trust starts.

The parents of the root may be links (a home on another disk). The root itself and everything below it may not, must
belong to this user, and must not be writable by others. Everything below is reached through directory descriptors.
"""

import errno
import os
import shlex
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

from agent_workflow.index_store.errors import NotWritable, UnsafePath

StorageClass = Literal["active", "archive"]

STORAGE_DIRECTORIES: Mapping[StorageClass, str] = {"active": "runs", "archive": "archive"}
"""Directory of each storage class below the root; of two runs with one id, the first class wins."""

REPAIRS_DIRECTORY = "evidence-repairs"
INDEX_DIRECTORY = "index"

_DIRECTORY_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class StateRoot(NamedTuple):
    """An open, trusted state root.

    Attributes:
        path: absolute path whose parents hold no link any more.
        descriptor: directory descriptor of the root, open while the context of :func:`open_state_root` lasts.
    """

    path: Path
    descriptor: int

    @contextmanager
    def directory(self, name: str) -> Iterator[int | None]:
        """Open a directory right below the root, or give None where it does not exist.

        Raises:
            UnsafePath: it is a link, no directory, somebody else's, or writable by others.
        """
        try:
            descriptor = open_directory(name, self.descriptor, shown_as=self.path / name)
        except FileNotFoundError:
            yield None
            return
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @contextmanager
    def index_directory(self, *, create: bool) -> Iterator[int | None]:
        """Open ``index/``; with ``create`` make it, 0700 whatever the umask, and close it to others where it was open.

        Raises:
            UnsafePath: as for :meth:`directory`.
            NotWritable: it cannot be made, or not be closed.
        """
        if create:
            try:
                _make_directory(INDEX_DIRECTORY, self.descriptor)
            except FileExistsError:
                pass
            except OSError as error:
                raise not_writable(self.path / INDEX_DIRECTORY, error) from error
        with self.directory(INDEX_DIRECTORY) as descriptor:
            if create and descriptor is not None:
                _close_to_others(descriptor, self.path / INDEX_DIRECTORY)
            yield descriptor


def default_state_root(environment: Mapping[str, str]) -> Path:
    """Return ``AGENT_WORKFLOW_STATE_ROOT``, else ``$XDG_STATE_HOME/agent-workflow``, else below ``~/.local/state``."""
    if chosen := environment.get("AGENT_WORKFLOW_STATE_ROOT"):
        return Path(chosen)
    state_home = environment.get("XDG_STATE_HOME", "")
    # The XDG specification: a relative path is invalid and to be ignored.
    base = Path(state_home) if state_home.startswith("/") else Path.home() / ".local" / "state"
    return base / "agent-workflow"


@contextmanager
def open_state_root(path: Path, *, create: bool = False) -> Iterator[StateRoot | None]:
    """Open the state root without following a link at its last component.

    Args:
        path: the root as the user gave it.
        create: make it, owner-only, where it is missing.

    Yields:
        The open root, or None where it does not exist and ``create`` is off.

    Raises:
        UnsafePath: it is a link, no directory, somebody else's, or writable by others.
        NotWritable: it cannot be made.
    """
    absolute = Path(os.path.abspath(path))
    if absolute.name == "":
        raise UnsafePath(
            "the file system's root is no state root", path=str(absolute), hint="name a directory below it"
        )
    real = absolute.parent.resolve() / absolute.name
    if create:
        _make_root(real)
    try:
        descriptor = open_directory(str(real), None, shown_as=real)
    except FileNotFoundError:
        yield None
        return
    try:
        yield StateRoot(real, descriptor)
    finally:
        os.close(descriptor)


def _make_root(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _make_directory(str(path), None)
    except FileExistsError:
        return
    except OSError as error:
        raise not_writable(path, error) from error


def _make_directory(name: str, parent: int | None) -> None:
    """Make a directory of mode 0700 whatever the umask.

    The umask is ours for this moment, rather than the mode mended afterwards: by then a link could stand there, and a
    directory that not even we may open cannot be mended through a descriptor.
    """
    before = os.umask(0o077)
    try:
        os.mkdir(name, 0o700, dir_fd=parent)
    finally:
        os.umask(before)


def _close_to_others(descriptor: int, path: Path) -> None:
    """Take away what a directory's mode gives to others. Its owner is given no more: read-only stays read-only."""
    mode = stat.S_IMODE(os.fstat(descriptor).st_mode)
    if mode & ~0o700:
        try:
            os.fchmod(descriptor, mode & 0o700)
        except OSError as error:
            raise not_writable(path, error) from error


def open_directory(name: str, parent: int | None, *, shown_as: Path) -> int:
    """Open one directory of ours without following a link, and check whose it is.

    Args:
        name: a single component below ``parent``, or a path where ``parent`` is None.
        parent: directory descriptor to start from.
        shown_as: the full path for messages.

    Returns:
        A descriptor that the caller closes.

    Raises:
        FileNotFoundError: nothing is there.
        UnsafePath: a link, no directory, somebody else's, or writable by others.
    """
    try:
        descriptor = os.open(name, _DIRECTORY_FLAGS, dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _refusal(shown_as, error) from error
    try:
        check_owner(os.fstat(descriptor), shown_as)
    except UnsafePath:
        os.close(descriptor)
        raise
    return descriptor


def _refusal(path: Path, error: OSError) -> UnsafePath:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        # With O_NOFOLLOW and O_DIRECTORY, Linux says ENOTDIR for a link and for a file alike.
        return UnsafePath(
            f"{path} is a link or no directory", path=str(path), hint="put a real directory of your own in its place"
        )
    return UnsafePath(
        f"{path} cannot be opened: {error.strerror}",
        path=str(path),
        hint=f"give yourself access: chmod u+rwx {quoted(path)}",
    )


def check_owner(status: os.stat_result, path: Path) -> None:
    """Refuse what another user owns or others may write.

    Raises:
        UnsafePath: with the command that mends it.
    """
    if status.st_uid not in (os.geteuid(), 0):
        raise UnsafePath(
            f"{path} belongs to user {status.st_uid}, not to you",
            path=str(path),
            hint=f"chown it to yourself, or choose your own with --state-root: chown -R {os.geteuid()} {quoted(path)}",
        )
    if status.st_mode & 0o022:
        raise UnsafePath(f"{path} is writable by others", path=str(path), hint=f"chmod go-w {quoted(path)}")


def quoted(path: Path) -> str:
    """Return a path as a shell takes it, for hints that are commands."""
    return shlex.quote(str(path))


def not_writable(path: Path, error: OSError) -> NotWritable:
    """Turn an operating system's refusal to write into words."""
    return NotWritable(
        f"cannot write {path}: {error.strerror}",
        path=str(path),
        hint="make the state root writable and leave room on its disk, or name another with --state-root",
    )
