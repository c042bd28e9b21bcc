"""The seven tables of a trace, as data: what a writer creates and what a reader may hope for."""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the trace.

    Attributes:
        columns: names in order, with their SQLite declaration.
        key: the columns that identify a row.
    """

    columns: MappingProxyType[str, str]
    key: tuple[str, ...]


def _table(key: tuple[str, ...], **columns: str) -> Table:
    return Table(MappingProxyType(columns), key)


TABLES: Final[MappingProxyType[str, Table]] = MappingProxyType(
    {
        "sessions": _table(
            ("adw_id",),
            adw_id="TEXT PRIMARY KEY",
            adw_name="TEXT",
            request="TEXT",
            status="TEXT",
            engineer="TEXT",
            started_at="TEXT",
            ended_at="TEXT",
            total_tokens="INTEGER",
            total_cost="REAL",
            archived="INTEGER DEFAULT 0",
            estimated_cost="REAL",
            price_catalogue="TEXT",
            cost_basis="TEXT",
        ),
        "phases": _table(
            ("phase_id",),
            phase_id="TEXT PRIMARY KEY",
            adw_id="TEXT REFERENCES sessions",
            seq="INTEGER",
            name="TEXT",
            kind="TEXT",
            owner="TEXT",
            description="TEXT",
            status="TEXT DEFAULT 'fail'",
            attempt="INTEGER DEFAULT 0",
            retries="INTEGER DEFAULT 0",
            error="TEXT",
            started_at="TEXT",
            ended_at="TEXT",
        ),
        "events": _table(
            ("event_id",),
            event_id="TEXT PRIMARY KEY",
            adw_id="TEXT REFERENCES sessions",
            phase_id="TEXT REFERENCES phases",
            parent_id="TEXT",
            type="TEXT",
            name="TEXT",
            payload_json="TEXT",
            tokens="INTEGER",
            started_at="TEXT",
            ended_at="TEXT",
        ),
        "envelopes": _table(
            ("envelope_id",),
            envelope_id="TEXT PRIMARY KEY",
            adw_id="TEXT REFERENCES sessions",
            phase_id="TEXT REFERENCES phases",
            agent="TEXT",
            output_type="TEXT",
            payload_json="TEXT",
            valid="INTEGER",
            attempt="INTEGER",
            created_at="TEXT",
        ),
        "gate_results": _table(
            ("id",),
            id="INTEGER PRIMARY KEY",
            adw_id="TEXT REFERENCES sessions",
            phase_id="TEXT REFERENCES phases",
            attempt="INTEGER",
            gate="TEXT",
            passed="INTEGER",
            violations_json="TEXT",
            checks_json="TEXT",
            created_at="TEXT",
        ),
        "processes": _table(
            ("id",),
            id="INTEGER PRIMARY KEY AUTOINCREMENT",
            adw_id="TEXT REFERENCES sessions",
            kind="TEXT",
            name="TEXT",
            pid="INTEGER",
            command="TEXT",
            started_at="TEXT",
            ended_at="TEXT",
            start_marker="TEXT",
        ),
        "agent_sessions": _table(
            ("adw_id", "agent"),
            adw_id="TEXT REFERENCES sessions",
            agent="TEXT",
            coding_agent="TEXT",
            model="TEXT",
            color="TEXT",
            session_id="TEXT",
            context_tokens="INTEGER",
            context_window="INTEGER",
            created_at="TEXT",
            last_used_at="TEXT",
        ),
    }
)

LATE_COLUMNS: Final[MappingProxyType[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sessions": ("adw_name", "archived", "estimated_cost", "price_catalogue", "cost_basis"),
        "gate_results": ("checks_json",),
        "agent_sessions": ("color", "context_tokens", "context_window"),
        "processes": ("start_marker",),
    }
)
"""Columns that databases of older writers may lack; ``start_marker`` and what tells of estimated money are ours alone.

``total_cost`` is what agents reported. ``estimated_cost`` is what tokens without a reported cost would have cost by the
list that ``price_catalogue`` names, null unless all of them have a price; the two are never added. ``cost_basis`` is
``billed``, ``estimated``, ``subscription`` or ``unknown``, null where a session has more than one.
"""

INSERT_EVENT: Final = (
    "INSERT OR IGNORE INTO events"
    "(event_id, adw_id, phase_id, parent_id, type, name, payload_json, tokens, started_at, ended_at)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
"""Repeating an event changes nothing: catching up from the file may meet a row that is there already."""
