"""Writing an imported session as the recorder would have: its files first, then the rows of the database from them."""

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from agent_workflow.trace_schema import TABLES
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._journal import records
from agent_workflow.tracer._json import quote
from agent_workflow.tracer._redaction import Redactor
from agent_workflow.tracer._rows import apply_state, event_row, insert_event
from agent_workflow.tracer.importing._session_events import ImportedSession
from agent_workflow.tracer.importing._trace_event import Event

_BATCH_BYTES: Final = 1 << 20


def write_files(files: SessionFiles, session: ImportedSession, redactor: Redactor) -> None:
    """Write both journals of a session, each whole or not at all.

    Raises:
        OSError: they cannot be written; what was there before is still there.
    """
    files.directory.mkdir(parents=True, exist_ok=True)
    _replace(files.events, (_event_line(event, files.adw_id, redactor) for event in session.events()))
    _replace(files.state, _state_lines(session, files.adw_id, redactor))


def write_rows(connection: sqlite3.Connection, files: SessionFiles) -> None:
    """Put the session's rows in place of those that are there, as a rebuild does, in one transaction.

    Raises:
        sqlite3.Error: nothing was changed.
    """
    adw_id = files.adw_id
    connection.execute("BEGIN IMMEDIATE")
    try:
        archived = connection.execute("SELECT archived FROM sessions WHERE adw_id = ?", (adw_id,)).fetchone()
        for table in TABLES:
            connection.execute(f"DELETE FROM {table} WHERE adw_id = ?", (adw_id,))  # noqa: S608 - names from TABLES
        for record in records(files.state):
            if record.value is not None:
                apply_state(connection, record.value)
        for record in records(files.events):
            row = event_row(record.value) if record.value is not None else None
            if row is not None:
                insert_event(connection, row)
        if archived is not None and archived[0] is not None:
            # The review flag is the reader's.
            connection.execute("UPDATE sessions SET archived = ? WHERE adw_id = ?", (archived[0], adw_id))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _event_line(event: Event, adw_id: str, redactor: Redactor) -> bytes:
    ended = "null" if event.ended_at is None else quote(event.ended_at)
    return (
        f'{{"event_id": "{event.event_id}", "ts": {quote(event.at)}, "adw_id": {quote(adw_id)}, '
        f'"phase_id": {quote(event.phase_id)}, "type": {quote(event.type)}, '
        f'"name": {quote(redactor.text(event.name))}, "payload": {redactor.payload(event.payload)}, '
        f'"parent_id": {quote(event.parent_id)}, "tokens": {"null" if event.tokens is None else event.tokens}, '
        f'"started_at": {quote(event.started_at or event.at)}, "ended_at": {ended}}}\n'
    ).encode("ascii")


def _state_lines(session: ImportedSession, adw_id: str, redactor: Redactor) -> Iterator[bytes]:
    moment = ""
    for table, row in session.rows():
        moment = moment or str(row["started_at"])
        text = redactor.payload({"ts": moment, "table": table, "row": {**row, "adw_id": adw_id}})
        yield text.encode("ascii") + b"\n"


def _replace(path: Path, lines: Iterator[bytes]) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with beside.open("wb", buffering=_BATCH_BYTES) as stream:
            stream.writelines(lines)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
