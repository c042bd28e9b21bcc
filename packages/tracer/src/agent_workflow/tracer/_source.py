"""A read-only connection to anybody's trace database that knows what the database really has.

Everything that lists, searches and pages a trace for a viewer stands on it. Tables and columns that are missing read as
empty and ``None``; columns that other writers added are passed on.
"""

import math
import os
import sqlite3
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._errors import NotATrace, NoTrace, TraceReadError
from agent_workflow.tracer._open_reader import HOW_TO_GET_ONE, open_reader

Row = dict[str, Any]
Parameters = Sequence[object] | Mapping[str, object]

_WAIT_MS: Final = 750
_MAX_EXTRA_COLUMNS: Final = 64
_PLAIN: Final = frozenset({str, int, type(None)})


class NoSuchRecord(TraceReadError):
    """The session holds no event, envelope or gate result of this id."""


class FileIdentity(NamedTuple):
    """Which file a path names; another one means that everything read before is void.

    Attributes:
        device, inode: of the file.
        state: size and mtime where no write-ahead log stands beside it: such a file may be open as it was then.
    """

    device: int
    inode: int
    state: tuple[int, int] | None

    @classmethod
    def of(cls, path: Path) -> "FileIdentity":
        """Look at a path.

        Raises:
            NoTrace: there is nothing.
            TraceReadError: it cannot be looked at.
        """
        try:
            status = os.stat(path)  # noqa: PTH116 - for every poll, and half as dear
        except FileNotFoundError:
            raise NoTrace("no trace database", path=path, hint=HOW_TO_GET_ONE) from None
        except OSError as error:
            raise TraceReadError(f"cannot be looked at: {error.strerror}", path=path) from error
        has_log = os.path.exists(f"{path}-wal")  # noqa: PTH110 - likewise
        return cls(status.st_dev, status.st_ino, None if has_log else (status.st_size, status.st_mtime_ns))


class TraceSource:
    """One connection, for one thread at a time.

    Attributes:
        path: of the database.
        identity: of the file that is open.
    """

    def __init__(self, path: Path, *, wait_ms: int = _WAIT_MS) -> None:
        """Open the database.

        Args:
            path: of the database.
            wait_ms: how long opening and each read wait for somebody's lock.

        Raises:
            NoTrace, NotATrace, TraceReadError: it is missing, is none, or cannot be read.
        """
        self.path = path
        self._connection, self.identity = _opened(path, wait_ms)
        self._columns: dict[str, tuple[str, ...]] = {}
        self._schema = -1
        self._connection.row_factory = None
        self._connection.create_function("folded", 1, folded, deterministic=True)
        try:
            self.notice_schema()
        except TraceReadError:
            self.close()
            raise

    def __enter__(self) -> "TraceSource":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Let everything read inside see one state of the database, whatever is written meanwhile.

        Raises:
            TraceReadError: the database cannot be read.
        """
        self.tuples("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self._connection.rollback()

    def notice_schema(self) -> None:
        """Forget the columns when somebody has changed the tables."""
        schema = int(self.value("PRAGMA schema_version") or 0)
        if schema != self._schema:
            self._schema = schema
            self._columns.clear()

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns that a table has, none for a missing one."""
        if table not in self._columns:
            found = self.rows("SELECT name FROM pragma_table_info(?)", (table,))
            self._columns[table] = tuple(str(row["name"]) for row in found)
        return self._columns[table]

    def has_index(self, table: str, column: str) -> bool:
        """Tell whether rows of a table can be found by a column without reading all of it."""
        key = f"{table}.{column}"
        if key not in self._columns:
            statement = (
                "SELECT 1 AS found FROM pragma_index_list(?) AS list JOIN pragma_index_info(list.name) AS info"
                " WHERE info.seqno = 0 AND info.name = ? AND list.partial = 0 LIMIT 1"
            )
            self._columns[key] = ("yes",) if self.rows(statement, (table, column)) else ()
        return bool(self._columns[key])

    def listed(self, table: str, *, without: Sequence[str] = ()) -> str:
        """Write the select list of a table: the contract's columns, NULL for those it lacks, then what it has more."""
        present = self.columns(table)
        known = TABLES[table].columns
        parts = [quoted(name) if name in present else f"NULL AS {name}" for name in known if name not in without]
        extra = [name for name in present if name not in known and name not in ("rowid", *without)]
        return ", ".join([*parts, *(quoted(name) for name in extra[:_MAX_EXTRA_COLUMNS])])

    def expression(self, table: str, column: str, absent: str = "NULL") -> str:
        """Write a column, or what stands for it where the table lacks it."""
        return f"{table}.{quoted(column)}" if column in self.columns(table) else absent

    def generation(self) -> str:
        """Name this filling of the database: ours says it itself, that of another writer is known by its file."""
        if self.columns("trace_meta"):
            found = self.value("SELECT value FROM trace_meta WHERE key = 'generation'")
            if found:
                return str(found)
        return f"file-{self.identity.device:x}-{self.identity.inode:x}"

    def data_version(self) -> int:
        """Return a number that changes when another connection has committed."""
        return int(self.tuples("PRAGMA data_version")[0][0])

    def rows(self, statement: str, parameters: Parameters = ()) -> list[Row]:
        """Read rows as dictionaries, with values that JSON can hold.

        Raises:
            TraceReadError: the database cannot be read.
        """
        cursor, found = self._run(statement, parameters)
        names = [column[0] for column in cursor.description or ()]
        return [
            {name: cell if type(cell) in _PLAIN else plain(cell) for name, cell in zip(names, row, strict=True)}
            for row in found
        ]

    def tuples(self, statement: str, parameters: Parameters = ()) -> list[tuple[Any, ...]]:
        """Read rows as they come.

        Raises:
            TraceReadError: the database cannot be read.
        """
        return self._run(statement, parameters)[1]

    def _run(self, statement: str, parameters: Parameters) -> tuple[sqlite3.Cursor, list[tuple[Any, ...]]]:
        try:
            cursor = self._connection.execute(statement, parameters)
            return cursor, cursor.fetchall()
        except sqlite3.Error as error:
            if "decode to UTF-8" in str(error) and self._connection.text_factory is str:
                # Another writer has stored bytes that are no UTF-8; one of them must not hide the rest.
                self._connection.text_factory = _text
                return self._run(statement, parameters)
            raise TraceReadError(f"cannot be read: {error}", path=self.path) from error

    def value(self, statement: str, parameters: Parameters = ()) -> Any:  # noqa: ANN401 - whatever a cell holds
        """Read one cell, ``None`` when there is no row."""
        found = self.tuples(statement, parameters)
        return found[0][0] if found else None


def _opened(path: Path, wait_ms: int) -> tuple[sqlite3.Connection, FileIdentity]:
    """Open a database and name the file that is open, even while others put another one in its place."""
    for _ in range(3):
        before = FileIdentity.of(path)
        connection = _reader(path, wait_ms)
        try:
            after = FileIdentity.of(path)  # opening may have made the log
        except TraceReadError:
            connection.close()
            raise
        if before[:2] == after[:2]:
            return connection, after
        connection.close()
    raise TraceReadError("is being replaced again and again", path=path)


def _reader(path: Path, wait_ms: int) -> sqlite3.Connection:
    try:
        return open_reader(path, wait_ms=wait_ms)
    except NotATrace as error:
        code = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise TraceReadError("is locked by another program", path=path) from error.__cause__
        raise


def quoted(name: str) -> str:
    """Write a column's name so that it is one whatever it is called."""
    return '"' + name.replace('"', '""') + '"'


def folded(value: object) -> str:
    """Write a cell so that search finds it in any case and composition."""
    return "" if value is None else unicodedata.normalize("NFKC", str(value)).casefold()


def plain(value: object) -> object:
    """Return a cell as JSON can hold it: bytes as what they are called, infinity as unknown."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
