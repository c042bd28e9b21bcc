"""Deleting the rows of one session from a trace database, whoever wrote it, in one transaction."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from agent_workflow.trace_schema import renew_generation
from agent_workflow.tracer._connect import BUSY_TIMEOUT_MS
from agent_workflow.tracer._errors import TraceReadError
from agent_workflow.tracer.retention._inventory import Step

_TABLES: Final = """
SELECT name FROM sqlite_master
WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'
  AND EXISTS (SELECT 1 FROM pragma_table_info(sqlite_master.name) AS info WHERE info.name = 'adw_id')
ORDER BY name = 'sessions', name = 'phases', name
"""
"""Every table with rows of sessions, those of other writers included; what is referred to comes last."""


_HAS_GENERATION: Final = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'trace_meta'"


class RowsChanged(Exception):
    """The session's row is not what the plan was made from."""


@contextlib.contextmanager
def _connected(database: Path) -> Iterator[sqlite3.Connection]:
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(database))}?mode=rw",
            uri=True,
            timeout=BUSY_TIMEOUT_MS / 1000,
            isolation_level=None,
        )
    except sqlite3.Error as error:
        raise TraceReadError(f"cannot be opened for writing: {error}", path=database) from error
    try:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        # The rows must be gone from the disk before the files are: a machine that goes down loses neither or both.
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
    except sqlite3.Error as error:
        raise TraceReadError(f"cannot be written: {error}", path=database) from error
    finally:
        connection.close()


def count_rows(database: Path, adw_id: str) -> dict[str, int]:
    """Count the rows of a session by table; tables without any are left out.

    Raises:
        TraceReadError: the database cannot be read.
    """
    with _connected(database) as connection:
        counts = {}
        for (table,) in connection.execute(_TABLES).fetchall():
            statement = f"SELECT count(*) FROM {_quoted(table)} WHERE adw_id = ?"  # noqa: S608 - a name of the schema
            counts[str(table)] = int(connection.execute(statement, (adw_id,)).fetchone()[0])
    return {table: count for table, count in counts.items() if count}


def has_session(database: Path, adw_id: str) -> bool:
    """Tell whether a database holds a session; one that is gone holds none.

    Raises:
        TraceReadError: it cannot be read.
    """
    if not database.is_file():
        return False
    return bool(count_rows(database, adw_id))


def delete_rows(database: Path, adw_id: str, expected: dict[str, int], step: Step) -> None:
    """Delete every row of a session, or none.

    Args:
        database: the trace database.
        adw_id: the session.
        expected: rows by table as they were announced.
        step: called before and after the transaction, and within it.

    Raises:
        RowsChanged: there are other rows by now, or the session runs again.
        TraceReadError: the database refused.
    """
    with _connected(database) as connection:
        step("begin")
        connection.execute("BEGIN IMMEDIATE")
        try:
            deleted: dict[str, int] = {}
            statement = "SELECT count(*) FROM sessions WHERE adw_id = ? AND status = 'running'"
            if connection.execute(statement, (adw_id,)).fetchone()[0]:
                raise RowsChanged("it is running again")
            for (table,) in connection.execute(_TABLES).fetchall():
                statement = f"DELETE FROM {_quoted(table)} WHERE adw_id = ?"  # noqa: S608 - a name of the schema
                count = connection.execute(statement, (adw_id,)).rowcount
                if count:
                    deleted[str(table)] = count
                step(f"rows {table}")
            if deleted != expected:
                raise RowsChanged("rows came or went since they were counted")
            if connection.execute(_HAS_GENERATION).fetchone()[0]:
                # Rowids of what was deleted may be used again: a reader's cursor would pass over new events.
                renew_generation(connection)
            step("commit")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        step("committed")


def _quoted(name: object) -> str:
    return '"' + str(name).replace('"', '""') + '"'
