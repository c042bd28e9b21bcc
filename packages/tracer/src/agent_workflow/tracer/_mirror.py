"""The writing side of ``sssf.db``: takes a row at once, or says that it could not and why."""

import os
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from agent_workflow.trace_schema import INSERT_EVENT, NewerTraceSchema
from agent_workflow.tracer._connect import BUSY_TIMEOUT_MS, open_writer
from agent_workflow.tracer._rows import EventRow

_RETRY_SECONDS: Final = 1.0
_RETRY_BUSY_MS: Final = 100  # an agent's output must not wait behind a lock again and again
_LOOK_SECONDS: Final = 0.25
_LOG_BYTES: Final = 4 * 1024 * 1024


class Mirror:
    """One process's connection to the trace database.

    A database that cannot take a row is left alone for a second, then tried again with a short wait. That one of its
    files was deleted or replaced is noticed; it is opened again, and the caller brings it up to date.
    """

    def __init__(self, path: Path) -> None:
        """Remember where the database is; it is opened by the first write."""
        self.path = path
        self.fault = ""
        self._connection: sqlite3.Connection | None = None
        self._carried: list[object] = []
        self._identity: tuple[tuple[int, int] | None, ...] = ()
        self._insert: Callable[[str, EventRow], object] = _closed
        self._look_at = 0.0
        self._retry_at = 0.0
        self._waits_briefly = False
        self._forbidden = False

    @property
    def is_fresh(self) -> bool:
        """Whether the database behind the path is not the one that was written to so far."""
        now = time.monotonic()
        if self._connection is None or now < self._look_at:
            return self._connection is None
        self._look_at = now + _LOOK_SECONDS
        if _identity(self.path) == self._identity:
            return False
        self.close()
        return True

    def event(self, row: EventRow) -> bool:
        """Insert one event as its own transaction.

        Returns:
            Whether the database has it; if not, ``fault`` says why.
        """
        try:
            self._insert(INSERT_EVENT, row)
        except sqlite3.Error as error:
            self._failed(error)
            return False
        return True

    def write(self, change: Callable[[sqlite3.Connection], None], *, patient: bool = False) -> bool:
        """Run a change as one transaction.

        Args:
            change: executes statements on the connection it is given.
            patient: try now and wait for a lock in full, though it failed a moment ago.

        Returns:
            Whether it was committed; if not, nothing was changed and ``fault`` says why.
        """
        if self._forbidden or (not patient and time.monotonic() < self._retry_at):
            return False
        try:
            connection = self._open()
            if patient and self._waits_briefly:
                connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            connection.execute("BEGIN IMMEDIATE")
            try:
                change(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            self._recovered(connection)
        except (sqlite3.Error, OSError, NewerTraceSchema) as error:
            self._failed(error)
            return False
        return True

    def tidy(self) -> None:
        """Copy a log that has grown back into the database, as far as readers allow; nobody waits for it."""
        log = self.path.with_name(self.path.name + "-wal")
        try:
            if self._connection is not None and log.stat().st_size > _LOG_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except (sqlite3.Error, OSError) as error:
            self._failed(error)

    def close(self) -> None:
        """Close the connection; closing twice is fine."""
        connection, self._connection, self._insert = self._connection, None, _closed
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """Leave a connection that was carried over a fork alone: even closing it could harm the parent's."""
        self._carried.append((self._connection, self._insert))
        self._connection, self._insert = None, _closed

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = open_writer(self.path)
            self._insert = self._connection.cursor().execute
            self._identity = _identity(self.path)
            self._look_at = time.monotonic() + _LOOK_SECONDS
        return self._connection

    def _recovered(self, connection: sqlite3.Connection) -> None:
        if self._waits_briefly:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
            self._waits_briefly = False
        self.fault = ""
        self._retry_at = 0.0

    def _failed(self, error: Exception) -> None:
        self.fault = str(error) or type(error).__name__
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        self._forbidden = isinstance(error, NewerTraceSchema)
        if self._connection is None:
            return
        if isinstance(error, sqlite3.OperationalError):
            self._waits_briefly = True
            try:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute(f"PRAGMA busy_timeout = {_RETRY_BUSY_MS}")
            except sqlite3.Error:
                self.close()
        else:
            self.close()


def _closed(_: str, __: EventRow) -> object:
    raise sqlite3.OperationalError("the database is not open")


def _identity(path: Path) -> tuple[tuple[int, int] | None, ...]:
    """Tell which files a database is: without its log or that log's index, what is written reaches no reader."""
    return tuple(_inode(f"{path}{suffix}") for suffix in ("", "-wal", "-shm"))


def _inode(path: str) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - on the way of events; Path.stat costs three times as much
    except OSError:
        return None
    return found.st_dev, found.st_ino
