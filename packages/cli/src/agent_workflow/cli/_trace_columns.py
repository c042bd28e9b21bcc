"""How rows of a trace are shown: which columns there are, and which of them are kept where there is little room."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from agent_workflow.cli._cells import COUNT, DURATION, ID, NAME, NUMBER, PROSE, STATE, Form, Value
from agent_workflow.cli._output import Palette, terminal_width
from agent_workflow.cli._table import Column, Row, table
from agent_workflow.cli._terminal_text import ellipsis

_MONEY: Final = Form(right=True)
_WORD: Final = Form()
_ROWID: Final = Form(right=True)
_UNLIMITED: Final = 1_000_000


def show_rows(rows: Sequence[Row], columns: Sequence[Column], *, wide: bool, none: str) -> list[str]:
    """Lay rows out for the terminal there is.

    Args:
        rows: what to show.
        columns: of them, in the order of display.
        wide: all of every value, however long the lines get.
        none: said where there is no row.
    """
    if not rows:
        return [none]
    return table(rows, columns, _UNLIMITED if wide else terminal_width(), Palette(), ellipsis())


def dollars(amount: float | None, estimated: float | None = None) -> str:
    """Write money for a person; an estimate is marked as one, and what is not known is said to be unknown."""
    if amount is None:
        return "unknown" if estimated is None else f"~{dollars(estimated)}"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}"


def _tokens(row: Row) -> Value:
    """Return the tokens; a session starts with 0 of them, which says nothing where no cost became known either."""
    return None if not row["total_tokens"] and row["total_cost"] is None else row["total_tokens"]


def _cost(row: Row) -> Value:
    return dollars(row["total_cost"], row.get("estimated_cost"))  # type: ignore[arg-type] # REAL columns


def _age(row: Row) -> Value:
    from agent_workflow.tracer import age_seconds

    return age_seconds(_text(row["started_at"]))


def _took(row: Row) -> Value:
    began, ended = _moment(row["started_at"]), _moment(row["ended_at"])
    return None if began is None or ended is None else max(0.0, (ended - began).total_seconds())


def _moment(value: Value) -> datetime | None:
    from agent_workflow.tracer import parse_time

    return parse_time(_text(value))


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _tries(row: Row) -> Value:
    return None if row["attempt"] is None else f"{row['attempt']}/{'-' if row['retries'] is None else row['retries']}"


def _clock(row: Row) -> Value:
    """Return the time of day, UTC; a run is seldom longer than one."""
    return str(row["started_at"] or "")[11:23]


SESSIONS: Final = (
    Column("id", "adw_id", ID, 0),
    Column("status", "shown_status", STATE, 1),
    Column("workflow", "adw_name", NAME, 6),
    Column("request", "request", PROSE, 3),
    Column("phases", "phase_count", NUMBER, 7),
    Column("tokens", _tokens, COUNT, 5),
    Column("cost", _cost, _MONEY, 4),
    Column("age", _age, DURATION, 2),
)
PHASES: Final = (
    Column("seq", "seq", NUMBER, 7),
    Column("name", "name", NAME, 0),
    Column("kind", "kind", _WORD, 6),
    Column("owner", "owner", NAME, 5),
    Column("status", "status", STATE, 1),
    Column("retry", _tries, _WORD, 4),
    Column("took", _took, DURATION, 3),
    Column("error", "error", PROSE, 2),
)
EVENTS: Final = (
    Column("rowid", "rowid", _ROWID, 4),
    Column("time", _clock, _WORD, 2),
    Column("type", "type", _WORD, 1),
    Column("name", "name", PROSE, 0),
    Column("tokens", "tokens", COUNT, 5),
    Column("took", _took, DURATION, 3),
)
PROCESSES: Final = (
    Column("session", "adw_id", ID, 2),
    Column("kind", "kind", _WORD, 5),
    Column("name", "name", NAME, 4),
    Column("pid", "pid", _ROWID, 0),
    Column("state", "state", STATE, 1),
    Column("age", _age, DURATION, 3),
    Column("command", "command", PROSE, 6),
)
OUTCOMES: Final = (
    Column("pid", "pid", _ROWID, 0),
    Column("outcome", "outcome", STATE, 1),
    Column("command", "command", PROSE, 2),
)


def event_line(event: Mapping[str, Any]) -> str:
    """Return an event as one line, for ``trace tail``."""
    from agent_workflow.cli._terminal_text import printable

    return f"{event['rowid']:>6}  {_clock(event)}  {event['type'] or '':<11}  {printable(str(event['name'] or ''))}"
