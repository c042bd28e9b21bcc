"""The index database file: opening it safely, upgrading it, and putting a rebuilt one in its place.

Opened through ``apsw``, which brings its own current SQLite and can refuse links in every component of the path. No
other code of the process opens the file: closing any descriptor of it would drop SQLite's locks.
"""

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import apsw

from agent_workflow.index_schema import (
    APPLICATION_ID,
    DATABASE_NAME,
    SCHEMA_VERSION,
    HeaderVerdict,
    judge_header,
    pending_migrations,
)
from agent_workflow.index_store.errors import (
    DamagedDatabase,
    ForeignDatabase,
    MissingDatabase,
    NewerDatabase,
    NotWritable,
    OutdatedDatabase,
    UnsafePath,
)
from agent_workflow.index_store.reports import AUTHORITY
from agent_workflow.index_store.state_root import INDEX_DIRECTORY, StateRoot, check_owner, not_writable

SCRATCH_NAME = "rebuild.sqlite3"
_COMPANIONS = ("", "-wal", "-shm", "-journal")
_BUSY_MILLISECONDS = 5000


@dataclass(frozen=True)
class IndexLocation:
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
        for companion in _COMPANIONS:
            _check_file(location, DATABASE_NAME + companion)
        yield location


def _check_file(location: IndexLocation, name: str) -> bool:
    """Refuse anything but a regular file of ours; tell whether it exists."""
    path = location.path / name
    try:
        status = os.stat(name, dir_fd=location.directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(status.st_mode):
        raise UnsafePath(f"{path} is a link or no regular file", path=str(path), hint=f"look at it, then: rm -r {path}")
    check_owner(status, path)
    return True


def exists(location: IndexLocation) -> bool:
    """Tell whether there is a database file."""
    return _check_file(location, DATABASE_NAME)


def open_for_reading(location: IndexLocation) -> apsw.Connection:
    """Open the database read-only.

    Raises:
        MissingDatabase: there is none, or its first transaction never committed.
        OutdatedDatabase: its schema is older; the next sync upgrades it.
        ForeignDatabase, NewerDatabase, DamagedDatabase, UnsafePath: as named.
    """
    if not exists(location):
        raise missing(location)
    verdict = header_verdict(location)
    if verdict is HeaderVerdict.EMPTY:
        raise missing(location)
    connection = _open_read_only(location)
    if verdict is HeaderVerdict.OLDER:
        version = int(connection.pragma("user_version"))
        connection.close()
        raise OutdatedDatabase(
            f"{location.database} has schema {version}, older than this version's {SCHEMA_VERSION}",
            version,
            path=str(location.database),
            hint="agent-workflow index sync",
        )
    return connection


def missing(location: IndexLocation) -> MissingDatabase:
    """Say that there is no index yet, and what makes one."""
    return MissingDatabase(
        f"there is no index at {location.database} yet", path=str(location.database), hint="agent-workflow index sync"
    )


def header_verdict(location: IndexLocation) -> HeaderVerdict:
    """Judge the existing database file without changing it or leaving anything beside it.

    Raises:
        ForeignDatabase, NewerDatabase: it may not be used; it is as it was.
        DamagedDatabase: SQLite cannot read it, though its identity is ours.
        UnsafePath: a link stands in its place.
    """
    identity = _identity_in_file(location)
    if identity not in (0, APPLICATION_ID):
        raise _foreign(location)
    connection = _open_read_only(location)
    try:
        application_id = int(connection.pragma("application_id"))
        user_version = int(connection.pragma("user_version"))
        objects = int(connection.execute("SELECT count(*) FROM sqlite_schema").get)
    except apsw.Error as error:
        raise explain(location, error) from error
    finally:
        connection.close()
    verdict = judge_header(application_id, user_version, objects)
    if verdict is HeaderVerdict.FOREIGN:
        raise _foreign(location)
    if verdict is HeaderVerdict.NEWER:
        raise NewerDatabase(
            f"{location.database} has schema {user_version}, newer than this version's {SCHEMA_VERSION}",
            path=str(location.database),
            hint="upgrade agent-workflow, or delete the index directory and rebuild it",
        )
    return verdict


def _identity_in_file(location: IndexLocation) -> int:
    """Read the application id from the main file alone, so that a foreign file gets no companion from us.

    Ours is written before the file is switched to WAL, so it never stands in the WAL only.
    """
    connection = _connect(location, DATABASE_NAME, "mode=ro&immutable=1", apsw.SQLITE_OPEN_READONLY)
    try:
        return int(connection.pragma("application_id"))
    except apsw.NotADBError as error:
        raise _foreign(location) from error
    except apsw.Error as error:
        raise explain(location, error) from error
    finally:
        connection.close()


def _foreign(location: IndexLocation) -> ForeignDatabase:
    return ForeignDatabase(
        f"{location.database} is no agent-workflow index",
        path=str(location.database),
        hint="move it away, then: agent-workflow index rebuild",
    )


def explain(location: IndexLocation, error: apsw.Error) -> Exception:
    """Turn SQLite's error into ours; an error of ours in a statement stays what it is."""
    path = str(location.database)
    if isinstance(error, apsw.CantOpenError):
        hint = "see that no link stands in its path, and that you may read it"
        return UnsafePath(f"{path} cannot be opened: {error}", path=path, hint=hint)
    if isinstance(error, (apsw.ReadOnlyError, apsw.FullError, apsw.BusyError, apsw.PermissionsError)):
        hint = "make the state root writable, leave room on its disk, and close other programs that hold the index"
        return NotWritable(f"{path} cannot be written: {error}", path=path, hint=hint)
    if isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.IOError)):
        return DamagedDatabase(f"{path} cannot be read: {error}", path=path, hint="agent-workflow index rebuild")
    return error


def _open_read_only(location: IndexLocation) -> apsw.Connection:
    """Open with ``mode=ro``; where the directory takes no ``-shm``, read a cleanly closed file as immutable."""
    connection = _connect(location, DATABASE_NAME, "mode=ro", apsw.SQLITE_OPEN_READONLY)
    try:
        connection.set_busy_timeout(_BUSY_MILLISECONDS)
        connection.execute("SELECT count(*) FROM sqlite_schema").get  # noqa: B018 -- the first read opens the WAL
    except (apsw.CantOpenError, apsw.ReadOnlyError):
        connection.close()
        if _has_wal(location):
            raise
        connection = _connect(location, DATABASE_NAME, "mode=ro&immutable=1", apsw.SQLITE_OPEN_READONLY)
    except apsw.Error as error:
        connection.close()
        raise explain(location, error) from error
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _has_wal(location: IndexLocation) -> bool:
    try:
        return os.stat(DATABASE_NAME + "-wal", dir_fd=location.directory, follow_symlinks=False).st_size > 0
    except FileNotFoundError:
        return False


def open_for_writing(location: IndexLocation) -> apsw.Connection:
    """Open the database for the one writer; the caller holds the lock.

    Creates the file (0600 under any umask) and brings an older schema up to date.

    Raises:
        ForeignDatabase, NewerDatabase, DamagedDatabase, NotWritable, UnsafePath: as named.
    """
    if not _create_file(location, DATABASE_NAME):
        header_verdict(location)
    connection = _connect_for_writing(location)
    try:
        _set_identity(connection)
        _set_durability(connection)
        migrate(connection)
    except apsw.Error as error:
        connection.close()
        raise explain(location, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_for_writing(location: IndexLocation) -> apsw.Connection:
    connection = _connect(location, DATABASE_NAME, "mode=rw", apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(_BUSY_MILLISECONDS)
    connection.execute("PRAGMA foreign_keys = OFF")  # rows of a run are removed table by table, in the right order
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _set_durability(connection: apsw.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA journal_size_limit = 4194304")


def _set_identity(connection: apsw.Connection) -> None:
    if int(connection.pragma("application_id")) != APPLICATION_ID:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def migrate(connection: apsw.Connection, target: int = SCHEMA_VERSION) -> None:
    """Bring a database up to ``target``, each step in one transaction with its record and version.

    Raises:
        apsw.Error: a statement failed; the database is at the last version that was whole.
    """
    for step in pending_migrations(int(connection.pragma("user_version"))):
        if step.version > target:
            return
        with connection:
            connection.execute(step.sql)
            connection.execute(
                "INSERT INTO schema_migrations VALUES (?, ?, ?)", (step.version, utc_now(), step.description)
            )
            set_metadata(connection, {"authority": AUTHORITY, "schema_version": str(step.version)})
            if "generation" not in metadata(connection):
                set_metadata(connection, {"generation": new_generation()})
            connection.execute(f"PRAGMA user_version = {step.version}")


def utc_now() -> str:
    """Return the present time as UTC ISO 8601 with an offset, in microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def new_generation() -> str:
    """Return a name that no earlier content of the file had, so that a reader's cursor notices a rebuild."""
    return secrets.token_hex(8)


def metadata(connection: apsw.Connection) -> dict[str, str]:
    """Return all of ``index_metadata``."""
    return {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM index_metadata")}


def set_metadata(connection: apsw.Connection, values: dict[str, str]) -> None:
    """Set keys of ``index_metadata`` within the caller's transaction."""
    connection.executemany("INSERT OR REPLACE INTO index_metadata VALUES (?, ?)", list(values.items()))


def create_scratch(location: IndexLocation) -> apsw.Connection:
    """Create an empty database beside the live one, to be filled and thrown away.

    Nothing of it survives a crash, so it is written without syncing; the journal only serves to undo a bad run.
    """
    remove_scratch(location)
    _create_file(location, SCRATCH_NAME)
    connection = _connect(location, SCRATCH_NAME, "mode=rw", apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute("PRAGMA foreign_keys = OFF")
        _set_identity(connection)
        migrate(connection)
    except apsw.Error as error:
        connection.close()
        raise explain(location, error) from error
    return connection


def remove_scratch(location: IndexLocation) -> None:
    """Remove what a rebuild left, now or when it was killed."""
    for companion in _COMPANIONS:
        try:
            os.unlink(SCRATCH_NAME + companion, dir_fd=location.directory)
        except FileNotFoundError:
            continue
        except IsADirectoryError as error:
            path = location.path / (SCRATCH_NAME + companion)
            raise UnsafePath(f"{path} is a directory", path=str(path), hint=f"rm -r {path}") from error
        except OSError as error:
            raise not_writable(location.path / SCRATCH_NAME, error) from error


def put_in_place(scratch: apsw.Connection, location: IndexLocation) -> None:
    """Replace the content of the live database by the scratch one, in one transaction of the live file.

    A file without content is filled before it becomes a WAL database, which writes every page once instead of twice.
    A file of ours that SQLite cannot read is replaced; the caller holds the lock.

    Raises:
        ForeignDatabase, NewerDatabase, NotWritable, UnsafePath: as named; readers still have the old content.
    """
    try:
        verdict = HeaderVerdict.EMPTY if _create_file(location, DATABASE_NAME) else header_verdict(location)
        _fill(scratch, location, empty=verdict is HeaderVerdict.EMPTY)
    except DamagedDatabase:
        _replace_damaged(location)
        _create_file(location, DATABASE_NAME)
        _fill(scratch, location, empty=True)


def _fill(scratch: apsw.Connection, location: IndexLocation, *, empty: bool) -> None:
    live = _connect_for_writing(location)
    try:
        if not empty:
            _set_durability(live)
        with live.backup("main", scratch, "main") as backup:
            while not backup.done:
                backup.step(-1)
        _set_durability(live)
        checkpoint(live)
    except apsw.Error as error:
        raise explain(location, error) from error
    finally:
        live.close()


def _replace_damaged(location: IndexLocation) -> None:
    """Remove a database of ours that SQLite cannot read. Whoever has it open reads nothing good any more."""
    for companion in _COMPANIONS:
        try:
            os.unlink(DATABASE_NAME + companion, dir_fd=location.directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise not_writable(location.database, error) from error


def checkpoint(connection: apsw.Connection) -> bool:
    """Move the WAL into the file and shorten it.

    Returns:
        False where a reader stood in the way; a later writer gets to it.
    """
    busy, _, _ = next(iter(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
    return int(busy) == 0


def _create_file(location: IndexLocation, name: str) -> bool:
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


def _connect(location: IndexLocation, name: str, parameters: str, flags: int) -> apsw.Connection:
    """Open a file of the index directory, following no link, and see that the directory is the one checked."""
    path = location.path / name
    uri = f"file:{_quote(str(path))}?{parameters}"
    try:
        connection = apsw.Connection(uri, flags=flags | apsw.SQLITE_OPEN_URI | apsw.SQLITE_OPEN_NOFOLLOW)
    except apsw.Error as error:
        raise explain(location, error) from error
    connection.transaction_mode = "IMMEDIATE"  # of `with connection`; nested, it is a savepoint
    held, found = os.fstat(location.directory), os.stat(location.path, follow_symlinks=False)
    if (held.st_dev, held.st_ino) != (found.st_dev, found.st_ino):
        connection.close()
        raise UnsafePath(
            f"{location.path} was replaced while it was opened",
            path=str(location.path),
            hint="see who moves the state root's directories, then call again",
        )
    return connection


def _quote(path: str) -> str:
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
