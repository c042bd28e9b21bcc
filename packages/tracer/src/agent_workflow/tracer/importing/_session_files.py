"""Writing an imported session as the recorder would have: its files first, then the rows of the database from them."""

import json
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._json import bindable, quote
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer._rows import EventRow, apply_state
from agent_workflow.tracer.importing._session_events import ImportedSession
from agent_workflow.tracer.importing._trace_event import Event

_BATCH_BYTES: Final = 1 << 20
_BATCH_ROWS: Final = 500
_COLUMNS: Final = ", ".join(TABLES["events"].columns)
_WAITING_ROOM: Final = f"CREATE TEMP TABLE IF NOT EXISTS imported_events ({_COLUMNS})"
_INSERT: Final = f"INSERT INTO temp.imported_events VALUES ({', '.join('?' * len(TABLES['events'].columns))})"  # noqa: S608 - marks


def write_session(
    connection: sqlite3.Connection, files: SessionFiles, session: ImportedSession, redactor: Redactor
) -> None:
    """Write both journals of a session, each whole or not at all, then its rows, which are what a rebuild would make.

    Raises:
        OSError: the files cannot be written; what was there before is still there.
        sqlite3.Error: the rows cannot; nothing of them was changed.
    """
    files.directory.mkdir(parents=True, exist_ok=True)
    connection.execute(_WAITING_ROOM)
    connection.execute("DELETE FROM temp.imported_events")
    _replace(files.events, _event_lines(connection, files.adw_id, session, redactor))
    state = [_state_record(files.adw_id, table, row) for table, row in session.rows()]
    texts = [redactor.payload(record) for record in state]
    _replace(files.state, (text.encode("ascii") + b"\n" for text in texts))
    _put_in_place(connection, files.adw_id, [json.loads(text) for text in texts])


def _put_in_place(connection: sqlite3.Connection, adw_id: str, state: list[dict[str, Any]]) -> None:
    """Let the new rows take the place of those that are there; others wait for it no longer than they must."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        archived = connection.execute("SELECT archived FROM sessions WHERE adw_id = ?", (adw_id,)).fetchone()
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE adw_id = ?", (adw_id,))  # noqa: S608 - names from TABLES
        for record in state:
            apply_state(connection, record)
        connection.execute(f"INSERT OR IGNORE INTO events ({_COLUMNS}) SELECT {_COLUMNS} FROM temp.imported_events")  # noqa: S608 - names from TABLES
        if archived is not None and archived[0] is not None:
            # The review flag is the reader's.
            connection.execute("UPDATE sessions SET archived = ? WHERE adw_id = ?", (archived[0], adw_id))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _event_lines(
    connection: sqlite3.Connection, adw_id: str, session: ImportedSession, redactor: Redactor
) -> Iterator[bytes]:
    """Yield the lines of the events; the rows go where nobody else waits for them."""
    rows: list[EventRow] = []
    for event in session.events():
        payload, name = redactor.payload(event.payload), redactor.text(event.name)
        yield _event_line(event, adw_id, name, payload)
        rows.append(_event_row(event, adw_id, name, payload))
        if len(rows) >= _BATCH_ROWS:
            _let_wait(connection, rows)
            rows.clear()
    _let_wait(connection, rows)


def _let_wait(connection: sqlite3.Connection, rows: list[EventRow]) -> None:
    connection.execute("BEGIN")  # locks nothing: only the connection's own table is touched
    connection.executemany(_INSERT, rows)
    connection.execute("COMMIT")


def _event_row(event: Event, adw_id: str, name: str, payload: str) -> EventRow:
    started = event.started_at or event.at
    return (
        event.event_id, adw_id, event.phase_id, event.parent_id, event.type, bindable(name), payload, event.tokens,
        bindable(started), event.ended_at,
    )  # fmt: skip


def _event_line(event: Event, adw_id: str, name: str, payload: str) -> bytes:
    ended = "null" if event.ended_at is None else quote(event.ended_at)
    return (
        f'{{"event_id": "{event.event_id}", "ts": {quote(event.at)}, "adw_id": {quote(adw_id)}, '
        f'"phase_id": {quote(event.phase_id)}, "type": {quote(event.type)}, "name": {quote(name)}, '
        f'"payload": {payload}, "parent_id": {quote(event.parent_id)}, '
        f'"tokens": {"null" if event.tokens is None else event.tokens}, '
        f'"started_at": {quote(event.started_at or event.at)}, "ended_at": {ended}}}\n'
    ).encode("ascii")


def _state_record(adw_id: str, table: str, row: dict[str, Any]) -> dict[str, Any]:
    return {"ts": row.get("started_at") or row.get("created_at"), "table": table, "row": {**row, "adw_id": adw_id}}


def _replace(path: Path, lines: Iterator[bytes]) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb", buffering=_BATCH_BYTES) as stream:
            stream.writelines(lines)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
