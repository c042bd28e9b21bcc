"""Which database files are ours, and which of ours this version may use."""

from enum import StrEnum

from agent_workflow.index_schema._migrations import SCHEMA_VERSION

APPLICATION_ID = 0x41574631
"""``PRAGMA application_id`` of every index database: the ASCII text ``AWF1``."""

DATABASE_NAME = "agent-workflow.sqlite3"
"""File name of the index database inside the state root's ``index/`` directory."""


class HeaderVerdict(StrEnum):
    """What a database header says about the file."""

    CURRENT = "current"
    """Ours, at the version of this package."""
    OLDER = "older"
    """Ours, to be upgraded by the pending migrations before it is used."""
    NEWER = "newer"
    """Ours, written by a newer version: refused, never touched."""
    EMPTY = "empty"
    """No table and no identity yet, as SQLite leaves a file whose first transaction never committed."""
    FOREIGN = "foreign"
    """Somebody else's database: refused, never touched."""


def judge_header(application_id: int, user_version: int, object_count: int) -> HeaderVerdict:
    """Judge a database by its identity and version.

    Args:
        application_id: ``PRAGMA application_id`` of the file.
        user_version: ``PRAGMA user_version`` of the file.
        object_count: number of rows in its ``sqlite_schema``; only told apart from zero.

    Returns:
        The verdict. A file with our application id and an impossible version (below 1 with objects) is foreign.
    """
    if application_id == 0 and user_version == 0 and object_count == 0:
        return HeaderVerdict.EMPTY
    if application_id != APPLICATION_ID:
        return HeaderVerdict.FOREIGN
    if user_version == 0 and object_count == 0:
        return HeaderVerdict.EMPTY
    if user_version < 1:
        return HeaderVerdict.FOREIGN
    if user_version > SCHEMA_VERSION:
        return HeaderVerdict.NEWER
    return HeaderVerdict.CURRENT if user_version == SCHEMA_VERSION else HeaderVerdict.OLDER
