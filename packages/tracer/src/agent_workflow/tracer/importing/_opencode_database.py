"""opencode's sessions in its database (``~/.local/share/opencode/opencode.db``), as the documents that it exports."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from agent_workflow.tracer._json import decode_record

SUFFIX: Final = ".db"
NAMED: Final = "opencode"
_BUSY_SECONDS: Final = 2.0
_SESSIONS: Final = (
    "SELECT session.id, count(part.id), max(coalesce(part.time_updated, 0), session.time_updated)"
    " FROM session LEFT JOIN (SELECT id, session_id, time_updated FROM part UNION ALL"
    " SELECT id, session_id, time_updated FROM message) AS part ON part.session_id = session.id"
    " GROUP BY session.id ORDER BY session.time_created, session.id"
)
_SESSION: Final = "SELECT id, parent_id, directory, version, agent FROM session WHERE id = ?"
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


def is_database(path: str | Path) -> bool:
    """Tell from its name whether a file may be opencode's database."""
    name = Path(path).name
    return name.startswith(NAMED) and name.endswith(SUFFIX)


@contextlib.contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open the database for reading; opencode may go on writing.

    Raises:
        OSError: it cannot be read, or is none of opencode's.
    """
    try:
        connection = sqlite3.connect(f"file:{quote(os.fsencode(path))}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
        try:
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise OSError(0, f"not readable as opencode's database: {error}") from error


def sessions(connection: sqlite3.Connection) -> list[StoredSession]:
    """List the sessions, oldest first."""
    return [StoredSession(str(row[0]), int(row[1]), int(row[2])) for row in connection.execute(_SESSIONS)]


def document(connection: sqlite3.Connection, session_id: str, damaged: list[str]) -> dict[str, Any]:
    """Put a session together as an export has it.

    Args:
        connection: to the database.
        session_id: of the session.
        damaged: gets a sentence for each message or part that is no JSON object.
    """
    identity, parent, directory, version, agent = connection.execute(_SESSION, (session_id,)).fetchone()
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
    return {"info": info, "messages": messages}


def _decoded(data: object, what: str, damaged: list[str]) -> dict[str, Any] | None:
    try:
        return decode_record(str(data).encode("utf-8", "replace"))
    except ValueError as error:
        damaged.append(f"{what}: {error}")
        return None
