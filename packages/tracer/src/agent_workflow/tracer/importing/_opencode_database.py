"""opencode's sessions in its database (``~/.local/share/opencode/opencode.db``), as the documents that it exports."""

import contextlib
import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from agent_workflow.tracer._json import decode_record

_SUFFIX: Final = ".db"
_NAMED: Final = "opencode"
_HEADER: Final = b"SQLite format 3\0"
_BUSY_SECONDS: Final = 2.0
_SESSIONS: Final = (
    "SELECT session.id, count(part.id), max(coalesce(part.time_updated, 0), session.time_updated)"
    " FROM session LEFT JOIN (SELECT id, session_id, time_updated FROM part UNION ALL"
    " SELECT id, session_id, time_updated FROM message) AS part ON part.session_id = session.id"
    " GROUP BY session.id ORDER BY session.time_created, session.id"
)
_SESSION: Final = "SELECT id, parent_id, directory, version, agent FROM session WHERE id = ?"
_ROOT: Final = (
    "WITH RECURSIVE above (id, parent_id, steps) AS ("
    " SELECT id, parent_id, 0 FROM session WHERE id = ?"
    " UNION ALL SELECT session.id, session.parent_id, steps + 1 FROM above JOIN session ON session.id = above.parent_id"
    " WHERE steps < 100) SELECT coalesce(parent_id, id) FROM above ORDER BY steps DESC LIMIT 1"
)
_MESSAGES: Final = "SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id"
_PARTS: Final = "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY time_created, id"


class StoredSession(NamedTuple):
    """One session of a database.

    Attributes:
        entries: how many messages and parts it has.
        newest: when one of them last changed, in milliseconds since 1970.
    """

    session_id: str
    entries: int
    newest: int


def is_named_as_database(name: str) -> bool:
    """Tell from its name whether a file in a folder may be opencode's database."""
    return name.startswith(_NAMED) and name.endswith(_SUFFIX)


def is_database(path: str) -> bool:
    """Tell whether a file is a database; ``OPENCODE_DB`` may give opencode's any name."""
    if path.endswith(_SUFFIX):
        return True
    if path.endswith((".jsonl", ".json")):
        return False  # no file of thousands is opened to be told that
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False  # whoever reads it tells why it cannot be
    try:
        return stat.S_ISREG(os.fstat(descriptor).st_mode) and os.pread(descriptor, len(_HEADER), 0) == _HEADER
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for reading; opencode may go on writing.

    Raises:
        OSError: it cannot be opened.
    """
    with _as_unreadable():
        uri = f"file:{quote(os.fsencode(path))}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def sessions(connection: sqlite3.Connection) -> list[StoredSession]:
    """List the sessions, oldest first.

    Raises:
        OSError: they cannot be read, or it is no database of opencode's.
    """
    with _as_unreadable():
        return [StoredSession(str(row[0]), int(row[1]), int(row[2])) for row in connection.execute(_SESSIONS)]


def document(connection: sqlite3.Connection, session_id: str, damaged: list[str]) -> dict[str, Any] | None:
    """Put a session together as an export has it, with ``rootID`` beside it: the session that all above it began with.

    Args:
        connection: to the database.
        session_id: of the session.
        damaged: gets a sentence for each message or part that is no JSON object.

    Returns:
        ``None`` when somebody has removed it meanwhile.

    Raises:
        OSError: it cannot be read.
    """
    with _as_unreadable():
        connection.execute("BEGIN")  # all of it as it was at one moment
        try:
            return _document(connection, session_id, damaged)
        finally:
            connection.execute("COMMIT")


def _document(connection: sqlite3.Connection, session_id: str, damaged: list[str]) -> dict[str, Any] | None:
    row = connection.execute(_SESSION, (session_id,)).fetchone()
    if row is None:
        return None
    identity, parent, directory, version, agent = row
    (root,) = connection.execute(_ROOT, (session_id,)).fetchone()
    parts: dict[str, list[dict[str, Any]]] = {}
    for message_id, part_id, data in connection.execute(_PARTS, (session_id,)):
        part = _decoded(data, f"part {part_id}", damaged)
        if part is not None:
            part["id"] = part_id
            parts.setdefault(str(message_id), []).append(part)
    messages: list[dict[str, Any]] = []
    for message_id, data in connection.execute(_MESSAGES, (session_id,)):
        told = _decoded(data, f"message {message_id}", damaged)
        if told is not None:
            told["id"] = message_id
            messages.append({"info": told, "parts": parts.get(str(message_id), [])})
    info = {"id": identity, "parentID": parent, "directory": directory, "version": version, "agent": agent}
    info["rootID"] = root
    return {"info": info, "messages": messages}


@contextlib.contextmanager
def _as_unreadable() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(0, f"not readable as opencode's database: {error}") from error


def _decoded(data: object, what: str, damaged: list[str]) -> dict[str, Any] | None:
    try:
        return decode_record(str(data).encode("utf-8", "replace"))
    except ValueError as error:
        damaged.append(f"{what}: {error}")
        return None
