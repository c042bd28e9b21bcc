"""Turning records of the files into rows of the database; used live, when catching up and by rebuild."""

import functools
import sqlite3
from collections.abc import Mapping
from typing import Any, Final

from agent_workflow.trace_schema import INSERT_EVENT, TABLES
from agent_workflow.tracer._json import as_float, as_int, bindable, encode

_NUMBERED: Final = frozenset({"gate_results", "processes"})

EventRow = tuple[str, str, str, str, str, str, str, int | None, str | None, str | None]


def event_row(record: Mapping[str, Any]) -> EventRow | None:
    """Read one line of ``events.jsonl``, of ours or of the original tracer.

    Returns:
        The columns in table order, or ``None`` when the line has no event id.
    """
    event_id = record.get("event_id")
    if not isinstance(event_id, str) or not event_id:
        return None
    moment = record.get("started_at") or record.get("ts")
    ended = record.get("ended_at")
    return (
        bindable(event_id),
        _text(record.get("adw_id")),
        _text(record.get("phase_id")),
        _text(record.get("parent_id")),
        _text(record.get("type")),
        _text(record.get("name")),
        encode(record.get("payload", {})),
        as_int(record.get("tokens")),
        bindable(moment) if isinstance(moment, str) else None,
        bindable(ended) if isinstance(ended, str) else None,
    )


def insert_event(connection: sqlite3.Connection, row: EventRow) -> None:
    """Add an event; one that is there already stays as it is."""
    connection.execute(INSERT_EVENT, row)


def apply_state(connection: sqlite3.Connection, record: Mapping[str, Any]) -> bool:
    """Apply one line of ``state.jsonl``.

    Returns:
        ``False`` when a numbered row's id already belongs to another session; nothing was changed then.
    """
    table = record.get("table")
    if not isinstance(table, str) or table not in TABLES or table == "events":
        return True  # a newer writer's table: not ours to mirror
    void = record.get("void")
    if isinstance(void, dict):
        connection.execute(_void_statement(table), (as_int(void.get("id")), void.get("adw_id")))
        return True
    row = known_columns(table, record.get("row"))
    if any(row.get(column) is None for column in TABLES[table].key):
        return True
    cursor = connection.execute(_upsert_statement(table, tuple(row)), tuple(row.values()))
    return cursor.rowcount != 0


def known_columns(table: str, row: object) -> dict[str, Any]:
    """Keep the columns that the table has, with values that SQLite can hold."""
    columns = TABLES[table].columns
    if not isinstance(row, dict):
        return {}
    return {name: _cell(columns[name], value) for name, value in row.items() if name in columns}


def _cell(declaration: str, value: object) -> object:
    if value is None:
        return None
    if declaration.startswith("INTEGER"):
        return int(value) if isinstance(value, bool) else as_int(value)
    if declaration.startswith("REAL"):
        return as_float(value)
    return _text(value)


def _text(value: object) -> str:
    if isinstance(value, str):
        return bindable(value)
    return "" if value is None else encode(value)


@functools.lru_cache(maxsize=256)
def _upsert_statement(table: str, columns: tuple[str, ...]) -> str:
    key = TABLES[table].key
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    action = f"DO UPDATE SET {changes}" if changes else "DO NOTHING"
    if table in _NUMBERED and changes:
        action += f" WHERE {table}.adw_id IS excluded.adw_id"
    marks = ", ".join("?" * len(columns))
    # Names come from TABLES alone; values are always bound.
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks}) ON CONFLICT ({', '.join(key)}) {action}"  # noqa: S608


@functools.lru_cache(maxsize=8)
def _void_statement(table: str) -> str:
    return f"DELETE FROM {table} WHERE id = ? AND adw_id = ?"  # noqa: S608 - the name comes from TABLES
