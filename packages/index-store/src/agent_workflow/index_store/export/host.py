"""Which host a dataset has its rows from: an id that is derived once and then kept beside the index."""

import hashlib
import os
import re
import socket
from pathlib import Path

from agent_workflow.index_store.errors import UnsafePath
from agent_workflow.index_store.export.errors import InvalidDestination
from agent_workflow.index_store.export.snapshot import IndexSnapshot
from agent_workflow.index_store.index_files import check_file, create_file
from agent_workflow.index_store.state_root import not_writable, quoted

HOST_ID_NAME = "host-id"
_SHAPE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}", re.ASCII)
_OWN_SHAPE = re.compile(r"[0-9a-f]{16}", re.ASCII)
_MACHINE_IDS = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def check_host(name: str) -> str:
    """Return a host's name as given, where it can be part of a path.

    Raises:
        InvalidDestination: it cannot.
    """
    if not _SHAPE.fullmatch(name):
        raise InvalidDestination(
            f"{name!r} is no name of a host",
            hint="at most 63 lower-case letters, digits, dots and dashes, such as build-7",
        )
    return name


def own_host_id(snapshot: IndexSnapshot) -> str:
    """Return the id of this state root on this machine, 16 hexadecimal digits, from ``index/host-id``.

    Where the file is missing it is made: from the machine's id, its name, the user and the path, so that an index that
    was thrown away gets the id that it had. Two state roots of one machine are two hosts.

    Raises:
        UnsafePath: a link, or somebody else's file, stands there.
        NotWritable: it cannot be made.
        InvalidDestination: the file holds something else.
    """
    location = snapshot.location
    path = location.path / HOST_ID_NAME
    if not check_file(location, HOST_ID_NAME):
        _keep(snapshot, _derived(snapshot.root.path), path)
    try:
        descriptor = os.open(HOST_ID_NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=location.directory)
    except OSError as error:
        raise UnsafePath(f"{path} cannot be opened: {error.strerror}", path=str(path)) from error
    try:
        kept = os.read(descriptor, 64).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    if not _OWN_SHAPE.fullmatch(kept):
        raise InvalidDestination(f"{path} holds no id of a host", path=str(path), hint=f"rm {quoted(path)}")
    return kept


def _keep(snapshot: IndexSnapshot, host_id: str, path: Path) -> None:
    """Write the id beside its place and put it there whole; of two at once, both write the same."""
    location = snapshot.location
    scratch = f".{HOST_ID_NAME}.{os.getpid()}"
    try:
        create_file(location, scratch)
        descriptor = os.open(
            scratch, os.O_WRONLY | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=location.directory
        )
        try:
            os.write(descriptor, f"{host_id}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(scratch, HOST_ID_NAME, src_dir_fd=location.directory, dst_dir_fd=location.directory)
    except OSError as error:
        raise not_writable(path, error) from error


def _derived(state_root: Path) -> str:
    parts = (_machine_id(), socket.gethostname(), str(os.geteuid()), os.fspath(state_root))
    named = "\0".join(("agent-workflow host", *parts)).encode("utf-8", "surrogateescape")
    return hashlib.sha256(named).hexdigest()[:16]


def _machine_id() -> str:
    """Return what the operating system calls this machine, or nothing where it has no such file."""
    for name in _MACHINE_IDS:
        try:
            return Path(name).read_text(encoding="ascii").strip()
        except (OSError, ValueError):
            continue
    return ""
