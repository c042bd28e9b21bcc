"""Rebuilding: a scratch database beside the live one, and its content put in place in one transaction."""

import os

import apsw

from agent_workflow.index_schema import DATABASE_NAME, HeaderVerdict
from agent_workflow.index_store.database import (
    checkpoint,
    connect_for_writing,
    migrate,
    set_durability,
    set_identity,
)
from agent_workflow.index_store.errors import DamagedDatabase, UnsafePath
from agent_workflow.index_store.header import header_verdict, judge_connection
from agent_workflow.index_store.index_files import (
    COMPANIONS,
    SCRATCH_NAME,
    IndexLocation,
    connect,
    create_file,
    explain,
)
from agent_workflow.index_store.state_root import not_writable, quoted


def create_scratch(location: IndexLocation) -> apsw.Connection:
    """Create an empty database beside the live one, to be filled and thrown away.

    Nothing of it survives a crash, so it is written without syncing; the journal only serves to undo a bad run.
    """
    remove_scratch(location)
    create_file(location, SCRATCH_NAME)
    connection = connect(location, SCRATCH_NAME, "mode=rw", apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -16384")
        connection.execute("PRAGMA foreign_keys = OFF")
        set_identity(connection)
        migrate(connection)
    except apsw.Error as error:
        connection.close()
        raise explain(location, error) from error
    return connection


def remove_scratch(location: IndexLocation) -> None:
    """Remove what a rebuild left, now or when it was killed."""
    for companion in COMPANIONS:
        try:
            os.unlink(SCRATCH_NAME + companion, dir_fd=location.directory)
        except FileNotFoundError:
            continue
        except IsADirectoryError as error:
            path = location.path / (SCRATCH_NAME + companion)
            raise UnsafePath(f"{path} is a directory", path=str(path), hint=f"rm -r {quoted(path)}") from error
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
        verdict = HeaderVerdict.EMPTY if create_file(location, DATABASE_NAME) else header_verdict(location)
        _fill(scratch, location, empty=verdict is HeaderVerdict.EMPTY)
    except DamagedDatabase:
        _replace_damaged(location)
        create_file(location, DATABASE_NAME)
        _fill(scratch, location, empty=True)


def _fill(scratch: apsw.Connection, location: IndexLocation, *, empty: bool) -> None:
    live = connect_for_writing(location)
    try:
        judge_connection(location, live)  # again: another file may have taken its place before it was opened
        if not empty:
            set_durability(live)
        with live.backup("main", scratch, "main") as backup:
            while not backup.done:
                backup.step(-1)
        set_durability(live)
        checkpoint(live)
    except apsw.Error as error:
        raise explain(location, error) from error
    finally:
        live.close()


def _replace_damaged(location: IndexLocation) -> None:
    """Remove a database of ours that SQLite cannot read. Whoever has it open reads nothing good any more."""
    for companion in COMPANIONS:
        try:
            os.unlink(DATABASE_NAME + companion, dir_fd=location.directory)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise not_writable(location.database, error) from error
