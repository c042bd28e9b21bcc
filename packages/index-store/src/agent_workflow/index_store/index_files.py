"""The files of ``index/``: which may be opened, how they are opened without following a link, and what SQLite says.

Opened through ``apsw``, which brings its own current SQLite and can refuse links in every component of the path. No
other code of the process opens a database file: closing any descriptor of it would drop SQLite's locks.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from agent_workflow.index_schema import DATABASE_NAME
from agent_workflow.index_store.errors import DamagedDatabase, NotWritable, UnsafePath, WriterBusy
from agent_workflow.index_store.fifo_release import let_out_of_fifos
from agent_workflow.index_store.state_root import INDEX_DIRECTORY, StateRoot, check_owner, not_writable, quoted

SCRATCH_NAME = "rebuild.sqlite3"
COMPANIONS = ("", "-wal", "-shm", "-journal")
BUSY_MILLISECONDS = 5000


class IndexLocation(NamedTuple):
    """The open ``index/`` directory of a state root.

    Attributes:
        directory: its descriptor.
        path: its path, for SQLite and for messages; holds no link.
    """

    directory: int
    path: Path

    @property
    def database(self) -> Path:
        """Path of the database file."""
        return self.path / DATABASE_NAME


@contextmanager
def locate_index(root: StateRoot, *, create: bool) -> Iterator[IndexLocation | None]:
    """Open ``index/`` below a state root and check every file in it that SQLite would open.

    Yields:
        The location, or None where the directory does not exist and ``create`` is off.

    Raises:
        UnsafePath: a link, a special file or somebody else's file stands in place of one of ours.
    """
    with root.index_directory(create=create) as descriptor:
        if descriptor is None:
            yield None
            return
        location = IndexLocation(descriptor, root.path / INDEX_DIRECTORY)
        for companion in COMPANIONS:
            check_file(location, DATABASE_NAME + companion)
        with let_out_of_fifos([location.path / (DATABASE_NAME + companion) for companion in COMPANIONS]):
            yield location


def check_file(location: IndexLocation, name: str) -> bool:
    """Refuse anything but a regular file of ours; tell whether it exists."""
    path = location.path / name
    try:
        status = os.stat(name, dir_fd=location.directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePath(
            f"{path} is a link or no regular file", path=str(path), hint=f"look at it, then: rm -r {quoted(path)}"
        )
    check_owner(status, path)
    return True


def exists(location: IndexLocation) -> bool:
    """Tell whether there is a database file."""
    return check_file(location, DATABASE_NAME)


def size_of(location: IndexLocation, companion: str) -> int:
    """Return the size of the database file or a companion in bytes; 0 where there is none."""
    try:
        return os.stat(DATABASE_NAME + companion, dir_fd=location.directory, follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def create_file(location: IndexLocation, name: str) -> bool:
    """Create an empty file of mode 0600 whatever the umask; tell whether it was missing."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, 0o600, dir_fd=location.directory)
    except FileExistsError:
        return False
    except OSError as error:
        raise not_writable(location.path / name, error) from error
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)
    return True


def connect(location: IndexLocation, name: str, parameters: str, flags: int) -> apsw.Connection:
    """Open a file of the index directory, following no link, and see that the directory is the one checked."""
    path = location.path / name
    uri = f"file:{_quote(path)}?{parameters}"
    try:
        connection = apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW)
    except apsw.Error as error:
        raise explain(location, error) from error
    connection.transaction_mode = "IMMEDIATE"  # of `with connection`; nested, it is a savepoint
    for setting, on in _DISTRUST:
        connection.config(setting, on)
    held, found = os.fstat(location.directory), os.stat(location.path, follow_symlinks=False)
    if (held.st_dev, held.st_ino) != (found.st_dev, found.st_ino):
        connection.close()
        raise UnsafePath(
            f"{location.path} was replaced while it was opened",
            path=str(location.path),
            hint="see who moves the state root's directories, then call again",
        )
    return connection


# What stands in the file may be of anybody's making. Ours has no trigger, and its views need no function of a program.
_DISTRUST = (
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
)


def _quote(path: Path) -> str:
    """Write a path for a URI: byte by byte, because a folder's name need not be text."""
    return "".join(chr(byte) if byte in _PLAIN_BYTES else f"%{byte:02x}" for byte in os.fsencode(path))


_PLAIN_BYTES = frozenset(b"/._-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")


def explain(location: IndexLocation, error: apsw.Error) -> Exception:
    """Turn SQLite's error into ours; an error of ours in a statement stays what it is."""
    path = str(location.database)
    if isinstance(error, apsw.CantOpenError):
        hint = "see that no link stands in its path, and that you may read it"
        return UnsafePath(f"{path} cannot be opened: {error}", path=path, hint=hint)
    try:
        for companion in COMPANIONS:
            check_file(location, DATABASE_NAME + companion)
    except UnsafePath as unsafe:  # it was put there after the check at the beginning
        return unsafe
    if isinstance(error, apsw.BusyError):
        hint = "wait for it to end, or close it, then call again"
        return WriterBusy(f"{path} is held by another program: {error}", path=path, hint=hint)
    if isinstance(error, _WRITE_ERRORS) or _extended_code(error) in _WRITE_FAILURES:
        hint = "make the state root writable, and leave room on its disk"
        return NotWritable(f"{path} cannot be written: {error}", path=path, hint=hint)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.IOError)):
        return DamagedDatabase(f"{path} cannot be read: {error}", path=path, hint="agent-workflow index rebuild")
    if isinstance(error, apsw.SQLError):  # our statements are right, so its tables are not
        return DamagedDatabase(f"{path} was altered: {error}", path=path, hint="agent-workflow index rebuild")
    return error


_WRITE_ERRORS = (apsw.ReadOnlyError, apsw.FullError, apsw.PermissionsError)
_SHARED_MEMORY_FAILURES = frozenset(
    {apsw.SQLITE_IOERR_SHMOPEN, apsw.SQLITE_IOERR_SHMSIZE, apsw.SQLITE_IOERR_SHMMAP, apsw.SQLITE_IOERR_SHMLOCK}
)
_WRITE_FAILURES = _SHARED_MEMORY_FAILURES | {
    apsw.SQLITE_IOERR_WRITE,
    apsw.SQLITE_IOERR_FSYNC,
    apsw.SQLITE_IOERR_DIR_FSYNC,
    apsw.SQLITE_IOERR_TRUNCATE,
    apsw.SQLITE_IOERR_DELETE,
}


def _extended_code(error: apsw.Error) -> int:
    return int(getattr(error, "extendedresult", 0))  # the type stubs of apsw do not have it


class UnfinishedTransaction(Exception):
    """A first transaction was cut off; the next writer undoes it, a reader cannot."""


def open_read_only(location: IndexLocation) -> apsw.Connection:
    """Open with ``mode=ro``; where the directory takes no ``-shm``, read a cleanly closed file as immutable.

    Raises:
        UnfinishedTransaction: as named.
        DamagedDatabase, NotWritable, UnsafePath: as named.
    """
    connection = connect(location, DATABASE_NAME, "mode=ro", apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(BUSY_MILLISECONDS)
        connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 -- the first read opens the WAL
    except apsw.Error as error:
        connection.close()
        if _extended_code(error) == apsw.SQLITE_READONLY_ROLLBACK:
            raise UnfinishedTransaction from error
        cannot_share = isinstance(error, (apsw.CantOpenError, apsw.ReadOnlyError))
        if not (cannot_share or _extended_code(error) in _SHARED_MEMORY_FAILURES):
            raise explain(location, error) from error
        if size_of(location, "-wal") > 0:
            raise _needs_recovery(location) from error
        connection = connect(location, DATABASE_NAME, "mode=ro&immutable=1", apsw.SQLITE_OPEN_READONLY)
    return connection


def _needs_recovery(location: IndexLocation) -> NotWritable:
    for companion in COMPANIONS:
        check_file(location, DATABASE_NAME + companion)  # a link is refused as such
    path = str(location.database)
    return NotWritable(
        f"{path} was left open by a writer, and reading it takes the right to write beside it",
        path=path,
        hint="as its owner: agent-workflow index sync",
    )
