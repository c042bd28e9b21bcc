"""The index database: opened to be read, opened by the one writer, brought to the current schema."""

import os
from datetime import UTC, datetime

import apsw

from agent_workflow.index_schema import (
    APPLICATION_ID,
    DATABASE_NAME,
    SCHEMA_VERSION,
    HeaderVerdict,
    pending_migrations,
)
from agent_workflow.index_store.errors import OutdatedDatabase
from agent_workflow.index_store.header import header_verdict, judge_connection, missing, open_judged
from agent_workflow.index_store.index_files import (
    BUSY_MILLISECONDS,
    IndexLocation,
    connect,
    create_file,
    exists,
    explain,
)
from agent_workflow.index_store.values import AUTHORITY


def open_for_reading(location: IndexLocation) -> apsw.Connection:
    """Open the database read-only.

    Raises:
        MissingDatabase: there is none, or its first transaction never committed.
        OutdatedDatabase: its schema is older; the next sync upgrades it.
        ForeignDatabase, NewerDatabase, DamagedDatabase, UnsafePath: as named.
    """
    if not exists(location):
        raise missing(location)
    connection, verdict = open_judged(location)
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


def open_for_writing(location: IndexLocation) -> apsw.Connection:
    """Open the database for the one writer; the caller holds the lock.

    Creates the file (0600 under any umask) and brings an older schema up to date.

    Raises:
        ForeignDatabase, NewerDatabase, DamagedDatabase, NotWritable, UnsafePath: as named.
    """
    if not create_file(location, DATABASE_NAME):
        header_verdict(location)
    connection = connect_for_writing(location)
    try:
        judge_connection(location, connection)  # again: another file may have taken its place before it was opened
        set_identity(connection)
        set_durability(connection)
        migrate(connection)
    except apsw.Error as error:
        connection.close()
        raise explain(location, error) from error
    except BaseException:
        connection.close()
        raise
    return connection


def connect_for_writing(location: IndexLocation) -> apsw.Connection:
    """Open the existing file to be written, as it is; the caller judges it before anything is changed."""
    connection = connect(location, DATABASE_NAME, "mode=rw", apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    connection.execute("PRAGMA foreign_keys = OFF")  # rows of a run are removed table by table, in the right order
    return connection


def set_durability(connection: apsw.Connection) -> None:
    """Make it a WAL database whose commits survive a killed process; a lost power line costs at most a rebuild."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA journal_size_limit = 4194304")


def set_identity(connection: apsw.Connection) -> None:
    """Write our application id where it is missing."""
    if int(connection.pragma("application_id")) != APPLICATION_ID:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")


def migrate(connection: apsw.Connection, target: int = SCHEMA_VERSION) -> None:
    """Bring a database up to ``target``, each step in one transaction with its record and version.

    The rows of an earlier schema stay to be asked, and the next sync makes them all anew: only then do the tables that
    a step added hold what a rebuild puts there.

    Raises:
        apsw.Error: a statement failed; the database is at the last version that was whole.
    """
    before = int(connection.pragma("user_version"))
    for step in pending_migrations(before):
        if step.version > target:
            return
        with connection:
            connection.execute(step.sql)
            if before:
                connection.execute("DELETE FROM index_metadata WHERE key = 'last_sync_at'")
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
    return os.urandom(8).hex()


def metadata(connection: apsw.Connection) -> dict[str, str]:
    """Return all of ``index_metadata``."""
    return {str(key): str(value) for key, value in connection.execute("SELECT key, value FROM index_metadata")}


def set_metadata(connection: apsw.Connection, values: dict[str, str]) -> None:
    """Set keys of ``index_metadata`` within the caller's transaction."""
    connection.executemany("INSERT OR REPLACE INTO index_metadata VALUES (?, ?)", list(values.items()))


def checkpoint(connection: apsw.Connection) -> bool:
    """Move the WAL into the file and shorten it.

    Returns:
        False where a reader stood in the way; a later writer gets to it.
    """
    connection.set_busy_timeout(0)  # a reader may take hours; the writer is done and keeps nobody waiting for the lock
    busy, _, _ = next(iter(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")))
    connection.set_busy_timeout(BUSY_MILLISECONDS)
    return int(busy) == 0
