"""What was read so far: the sources with their offsets, and what they came down to.

A database of its own beside the sessions. It is a cache: without it everything is read again, with the same result.
"""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from agent_workflow.tracer._errors import TraceReadError
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer.importing._item_rows import TOOL_CALL, item_row
from agent_workflow.tracer.importing._items import Item
from agent_workflow.tracer.importing._owned_items import OwnedItems

NAME: Final = "imported.db"
_VERSION: Final = 3

_AS_JSON: Final = ("state", "facts", "damaged")
_CUT: Final = "cut_json"  # what is left of a value that is too large

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS sources (
    source INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, adw_id TEXT NOT NULL, is_main INTEGER NOT NULL,
    device INTEGER NOT NULL, inode INTEGER NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
    looked_ns INTEGER NOT NULL, offset INTEGER NOT NULL, lines INTEGER NOT NULL, mark TEXT NOT NULL,
    state TEXT NOT NULL, facts TEXT NOT NULL, first_at TEXT NOT NULL, last_at TEXT NOT NULL, damaged TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS sources_by_session ON sources (adw_id);
CREATE TABLE IF NOT EXISTS sessions (
    adw_id TEXT PRIMARY KEY, started_at TEXT NOT NULL, ended_at TEXT NOT NULL, is_dirty INTEGER NOT NULL,
    is_empty INTEGER NOT NULL DEFAULT 0, is_published INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS items (
    source INTEGER NOT NULL, kind INTEGER NOT NULL, key TEXT NOT NULL, turn TEXT NOT NULL, lane TEXT NOT NULL,
    at TEXT NOT NULL, position INTEGER NOT NULL, is_copy INTEGER NOT NULL, weight INTEGER NOT NULL,
    data TEXT NOT NULL, raw_lines INTEGER NOT NULL, raw_input INTEGER NOT NULL, raw_output INTEGER NOT NULL,
    raw_cache_read INTEGER NOT NULL, raw_cache_write INTEGER NOT NULL,
    UNIQUE (kind, key, source));
CREATE INDEX IF NOT EXISTS items_by_source ON items (source, kind);
"""

# A call of a model keeps the time and the turn at which it was first told; a tool call is told at its end.
_UPSERT: Final = f"""\
INSERT INTO items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (kind, key, source) DO UPDATE SET
    at = CASE kind WHEN {TOOL_CALL} THEN excluded.at ELSE at END,
    is_copy = max(is_copy, excluded.is_copy), weight = excluded.weight, data = excluded.data,
    raw_lines = raw_lines + excluded.raw_lines, raw_input = raw_input + excluded.raw_input,
    raw_output = raw_output + excluded.raw_output, raw_cache_read = raw_cache_read + excluded.raw_cache_read,
    raw_cache_write = raw_cache_write + excluded.raw_cache_write
"""  # noqa: S608 - a number of ours


@dataclass(frozen=True, slots=True)
class Source:
    """A file that was read.

    Attributes:
        source: number in the ledger, 0 when it is new.
        is_main: the conversation's own file, not a sub-agent's.
        device, inode, size, mtime_ns: of the file when it was looked at, at ``looked_ns``.
        offset, lines: up to where it was read.
        mark: digest of bytes at its beginning and before the offset, by which a replaced file is noticed.
        state, facts: of its reader.
        damaged: sentences on lines that could not be read.
    """

    source: int
    path: str
    adw_id: str
    is_main: bool
    device: int
    inode: int
    size: int
    mtime_ns: int
    looked_ns: int
    offset: int
    lines: int
    mark: str
    state: dict[str, Any]
    facts: dict[str, Any]
    first_at: str
    last_at: str
    damaged: list[str]


class Ledger:
    """The database; one importer at a time may have it open."""

    def __init__(self, path: Path, redactor: Redactor) -> None:
        """Open or make it.

        Args:
            path: of the database.
            redactor: keeps secrets out of what is written there.

        Raises:
            TraceReadError: it cannot be opened, or another import holds it.
        """
        self.path = path
        self._encode = redactor.payload
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, timeout=1, isolation_level=None, cached_statements=64)
            self._connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA cache_size = -32000")
            self._connection.execute("BEGIN IMMEDIATE")
            self._make()
            self._connection.execute("COMMIT")
        except (sqlite3.Error, OSError) as error:
            is_held = "locked" in str(error)
            hint = (
                "another import is at work; try again later"
                if is_held
                else "remove it: it is made again from the files"
            )
            raise TraceReadError(f"cannot be opened: {error}", path=path, hint=hint) from error

    def _make(self) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _VERSION):
            for table in ("sources", "sessions", "items"):
                self._connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";"):
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    def close(self) -> None:
        """Close it; what is in a transaction is lost."""
        self._connection.close()

    def known(self) -> dict[str, tuple[int, int, int, int, int]]:
        """Return device, inode, size, mtime and the time of the last look by path."""
        rows = self._connection.execute("SELECT path, device, inode, size, mtime_ns, looked_ns FROM sources")
        return {row[0]: tuple(row[1:]) for row in rows}

    def source(self, path: str) -> Source | None:
        """Return what is known of a file."""
        row = self._connection.execute("SELECT * FROM sources WHERE path = ?", (path,)).fetchone()
        source = None if row is None else _source(row)
        if source is None or _CUT in source.state:
            return None  # too much to be remembered: the file is read again
        return source

    def looked(self, path: str, size: int, mtime_ns: int, looked_ns: int) -> None:
        """Note that a file was looked at and had nothing new."""
        self._connection.execute(
            "UPDATE sources SET size = ?, mtime_ns = ?, looked_ns = ? WHERE path = ?", (size, mtime_ns, looked_ns, path)
        )

    def begin(self) -> None:
        """Begin to take in one file; all of it counts, or nothing."""
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep what was taken in."""
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """Forget what was taken in since ``begin``."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def new_source(self, path: str) -> int:
        """Return the number of a file whose content is taken in from its beginning; what it had before is forgotten."""
        row = self._connection.execute("SELECT source FROM sources WHERE path = ?", (path,)).fetchone()
        if row is None:
            empty = (path, "", 1, 0, 0, 0, 0, 0, 0, 0, "", "{}", "{}", "", "", "[]")
            marks = ", ".join("?" * len(empty))
            cursor = self._connection.execute(f"INSERT INTO sources VALUES (NULL, {marks})", empty)  # noqa: S608
            return int(cursor.lastrowid or 0)
        self.make_dirty_around(int(row[0]))
        self._connection.execute("DELETE FROM items WHERE source = ?", (row[0],))
        return int(row[0])

    def add(self, source: int, items: Iterable[tuple[int, Item]]) -> None:
        """Take items in, each with its place in the file."""
        self._connection.executemany(
            _UPSERT, [item_row(source, position, item, self._encode) for position, item in items]
        )

    def settle(self, source: Source) -> None:
        """Keep where the reading of a file stands, and mark every session that it changes."""
        cells = asdict(source)
        for name in _AS_JSON:
            cells[name] = self._encode(cells[name])
        marks = ", ".join("?" * len(cells))
        statement = f"INSERT OR REPLACE INTO sources VALUES ({marks})"  # noqa: S608 - marks alone
        self._connection.execute(statement, tuple(cells.values()))
        if source.adw_id:
            self._bound(source.adw_id)
        self.make_dirty_around(source.source)

    def _bound(self, adw_id: str) -> None:
        self._connection.execute(
            "INSERT INTO sessions (adw_id, started_at, ended_at, is_dirty)"
            " SELECT adw_id, coalesce(min(nullif(first_at, '')), ''), max(last_at), 1 FROM sources"
            " WHERE adw_id = ? GROUP BY adw_id ON CONFLICT (adw_id) DO UPDATE SET"
            " started_at = excluded.started_at, ended_at = excluded.ended_at, is_dirty = 1",
            (adw_id,),
        )

    def make_dirty_around(self, source: int) -> None:
        """Mark the session of a file, and every other that shares something with it: who had it first may change."""
        self._connection.execute(
            "UPDATE sessions SET is_dirty = 1 WHERE adw_id IN ("
            " SELECT its.adw_id FROM items AS mine CROSS JOIN items AS other ON other.kind = mine.kind"
            " AND other.key = mine.key AND other.source IS NOT mine.source"
            " CROSS JOIN sources AS its ON its.source = other.source WHERE mine.source = ?"
            " UNION SELECT adw_id FROM sources WHERE source = ?)",
            (source, source),
        )

    def missing_file(self, device: int, inode: int) -> Source | None:
        """Return the file that was once found under these numbers and is not at its path any more."""
        rows = self._connection.execute("SELECT path FROM sources WHERE device = ? AND inode = ?", (device, inode))
        missing = [path for (path,) in rows if not Path(path).exists()]
        return self.source(missing[0]) if len(missing) == 1 else None

    def rename(self, source: Source, path: str) -> None:
        """Give a file its new path."""
        self._connection.execute("UPDATE sources SET path = ? WHERE source = ?", (path, source.source))

    def make_dirty(self, adw_ids: Iterable[str]) -> None:
        """Mark sessions to be written again."""
        self._connection.executemany("UPDATE sessions SET is_dirty = 1 WHERE adw_id = ?", [(one,) for one in adw_ids])

    def dirty_sessions(self) -> list[str]:
        """Return the sessions that must be written again, oldest first."""
        statement = "SELECT adw_id FROM sessions WHERE is_dirty ORDER BY started_at, adw_id"
        return [row[0] for row in self._connection.execute(statement)]

    def written_sessions(self) -> list[str]:
        """Return the sessions that have files and rows."""
        return [row[0] for row in self._connection.execute("SELECT adw_id FROM sessions WHERE NOT is_empty")]

    def written(self, adw_id: str, *, is_empty: bool) -> None:
        """Note that a session's files and rows are what this ledger holds; an empty one has none."""
        self._connection.execute(
            "UPDATE sessions SET is_dirty = 0, is_empty = ?, is_published = 0 WHERE adw_id = ?",
            (int(is_empty), adw_id),
        )

    def unpublished(self) -> list[tuple[str, str, str, int]]:
        """Return the sessions that were written since they were published, oldest first.

        Returns:
            Of each its id, the times of its first and last records, and when the newest of its files changed, in
            nanoseconds.
        """
        statement = (
            "SELECT session.adw_id, session.started_at, session.ended_at, max(source.mtime_ns) FROM sessions AS session"
            " JOIN sources AS source ON source.adw_id = session.adw_id"
            " WHERE NOT is_published AND NOT is_empty AND NOT is_dirty GROUP BY session.adw_id"
            " ORDER BY session.started_at, session.adw_id"
        )
        return list(self._connection.execute(statement))

    def published(self, adw_id: str) -> None:
        """Note that what was written of a session is published."""
        self._connection.execute("UPDATE sessions SET is_published = 1 WHERE adw_id = ?", (adw_id,))

    def sources_of(self, adw_id: str) -> list[Source]:
        """Return the files of a session, the conversation's own first."""
        statement = "SELECT * FROM sources WHERE adw_id = ? ORDER BY is_main DESC, path"
        return [_source(row) for row in self._connection.execute(statement, (adw_id,))]

    def items_of(self, adw_id: str) -> OwnedItems:
        """Return what is in the files of a session, by what counts for it."""
        return OwnedItems(self._connection, adw_id)


def _source(row: tuple[Any, ...]) -> Source:
    cells = dict(zip((field.name for field in fields(Source)), row, strict=True))
    for name in _AS_JSON:
        cells[name] = json.loads(cells[name])
    return Source(**{**cells, "is_main": bool(cells["is_main"])})
