"""Whose a database file is and which schema it has, judged before and after SQLite has it open, and never changed."""

import apsw

from agent_workflow.index_schema import APPLICATION_ID, DATABASE_NAME, SCHEMA_VERSION, HeaderVerdict, judge_header
from agent_workflow.index_store.errors import ForeignDatabase, MissingDatabase, NewerDatabase
from agent_workflow.index_store.index_files import (
    IndexLocation,
    UnfinishedTransaction,
    connect,
    explain,
    open_read_only,
    size_of,
)


def header_verdict(location: IndexLocation) -> HeaderVerdict:
    """Judge the existing database file without changing it or leaving anything beside it.

    Raises:
        ForeignDatabase, NewerDatabase: it may not be used; it is as it was.
        DamagedDatabase: SQLite cannot read it, though its identity is ours.
        UnsafePath: a link stands in its place.
    """
    try:
        connection, verdict = open_judged(location)
    except MissingDatabase:
        return HeaderVerdict.EMPTY
    connection.close()
    return verdict


def open_judged(location: IndexLocation) -> tuple[apsw.Connection, HeaderVerdict]:
    """Open the existing database file read-only, judged before SQLite opens it and again as it was opened.

    Raises:
        MissingDatabase: it holds nothing yet.
        ForeignDatabase, NewerDatabase, DamagedDatabase, NotWritable, UnsafePath: as named.
    """
    if not _begun(location):
        raise missing(location)
    try:
        connection = open_read_only(location)
    except UnfinishedTransaction:
        raise missing(location) from None
    try:
        verdict = judge_connection(location, connection)
        if verdict is HeaderVerdict.EMPTY:
            raise missing(location)
    except BaseException:
        connection.close()
        raise
    return connection, verdict


def judge_connection(location: IndexLocation, connection: apsw.Connection) -> HeaderVerdict:
    """Judge the database that a connection has open, which is not always the file that was looked at before.

    Raises:
        ForeignDatabase, NewerDatabase, DamagedDatabase: as named.
    """
    try:
        application_id = int(connection.pragma("application_id"))
        user_version = int(connection.pragma("user_version"))
        objects = int(connection.execute("SELECT count(*) FROM sqlite_schema").get)
    except apsw.Error as error:
        raise explain(location, error) from error
    verdict = judge_header(application_id, user_version, objects)
    if verdict is HeaderVerdict.FOREIGN:
        raise _foreign(location)
    if verdict is HeaderVerdict.NEWER:
        raise _newer(location, user_version)
    return verdict


def _begun(location: IndexLocation) -> bool:
    """Judge the first bytes of the main file, before SQLite opens it and may put companions beside it.

    They are read as they are, not by a query: while another process moves the WAL into the file, it is for a moment
    shorter than its first page says. Ours has its application id there before it becomes a WAL database, and its
    content comes in one transaction with that id.

    Returns:
        False where the file holds nothing yet.

    Raises:
        ForeignDatabase, NewerDatabase: as named.
    """
    # In this order: pages without the first one are an unfinished transaction, which has a journal till they all are.
    has_pages = size_of(location, "") > 0
    has_journal = size_of(location, "-journal") > 0
    connection = connect(location, DATABASE_NAME, "mode=ro&immutable=1", apsw.SQLITE_OPEN_READONLY)
    try:
        head = connection.read("main", 0, 0, _HEAD_BYTES)[1]
    except apsw.Error as error:
        raise explain(location, error) from error
    finally:
        connection.close()
    if not head.startswith(_MAGIC):
        if has_pages and not has_journal:
            raise _foreign(location)
        return False
    user_version, application_id = (int.from_bytes(head[at : at + 4], "big") for at in (60, 68))
    has_objects = head[100] != _LEAF_OF_TABLE or head[103:105] != bytes(2)
    if application_id == APPLICATION_ID:
        if user_version > SCHEMA_VERSION:
            raise _newer(location, user_version)
        return True
    if application_id or user_version or has_objects or size_of(location, "-wal") > 0:
        raise _foreign(location)
    return False


_MAGIC = b"SQLite format 3\0"
_HEAD_BYTES = 108  # the header of the file, and that of the page with the schema
_LEAF_OF_TABLE = 13


def missing(location: IndexLocation) -> MissingDatabase:
    """Say that there is no index yet, and what makes one."""
    return MissingDatabase(
        f"there is no index at {location.database} yet", path=str(location.database), hint="agent-workflow index sync"
    )


def _newer(location: IndexLocation, user_version: int) -> NewerDatabase:
    return NewerDatabase(
        f"{location.database} has schema {user_version}, newer than this version's {SCHEMA_VERSION}",
        path=str(location.database),
        hint="upgrade agent-workflow, or delete the index directory and rebuild it",
    )


def _foreign(location: IndexLocation) -> ForeignDatabase:
    return ForeignDatabase(
        f"{location.database} is no agent-workflow index",
        path=str(location.database),
        hint="move it away, then: agent-workflow index rebuild",
    )
