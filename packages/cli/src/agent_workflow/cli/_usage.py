"""``agent-workflow usage``: tokens and money by day, agent, model or repository."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from agent_workflow.cli._call import AsJson, Call
from agent_workflow.cli._cells import COUNT, Form
from agent_workflow.cli._extras import install_command
from agent_workflow.cli._failure import usage_error
from agent_workflow.cli._output import say, show_trace_document, tell
from agent_workflow.cli._table import Column
from agent_workflow.cli._trace_columns import show_rows

if TYPE_CHECKING:
    from agent_workflow.tracer.pricing import UsageSum

By = Literal["day", "agent", "model", "repo"]

_AGO = re.compile(r"(\d{1,5})([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_TOKENS = {"input": "input", "output": "output", "cached": "cache_read", "written": "cache_write"}
_KEY_COLUMNS = 40
_MONEY = ("billed", "estimated", "subscription")


def usage_command(
    ctx: typer.Context,
    by: Annotated[By, typer.Option("--by", help="What each line is of.")] = "day",
    since: Annotated[
        str | None, typer.Option("--since", metavar="WHEN", help="A day, a time, or how long ago: 12h, 7d, 4w.")
    ] = None,
    tz: Annotated[
        str | None, typer.Option("--tz", metavar="ZONE", help="Whose days, e.g. Europe/Berlin; the machine's own.")
    ] = None,
    db: Annotated[
        list[Path] | None,
        typer.Option("--db", metavar="FILE", help="Trace database; may be repeated. The repository's by default."),
    ] = None,
    subscription: Annotated[
        list[str] | None,
        typer.Option("--subscription", metavar="AGENT", help="This agent is paid by a subscription; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Sum up tokens and money; billed, estimated and subscription money are never added."""
    from agent_workflow.tracer import locate_database
    from agent_workflow.tracer.pricing import load_prices, read_spend, sum_usage

    call = Call.of(ctx, as_json, None)
    zone = _zone(tz)
    start = _since(since, zone)
    paths = list(db) if db else [locate_database()]
    prices = load_prices()
    lines = read_spend(paths, prices)
    sums, whole = sum_usage(lines, by, zone, since=start, subscriptions=subscription or ())
    if call.as_json:
        show_trace_document(
            "usage",
            paths[0],
            databases=[str(path) for path in paths],
            by=by,
            time_zone=tz,
            since=start.isoformat() if start else None,
            price_catalogue=prices.catalogue if prices else None,
            rows=[one.document() for one in sums],
            total=whole.document(),
        )
        return
    say(*_lines(by, sums, whole))
    if prices is None and whole.unpriced:
        tell(f"no cost is estimated; run: {install_command('prices')}")


def _zone(name: str | None) -> tzinfo | None:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise usage_error(f"--tz {name}: there is no such time zone") from None


def _since(text: str | None, zone: tzinfo | None) -> datetime | None:
    """Read a day or a time in the zone, or how long ago; days ago begin at midnight."""
    if text is None:
        return None
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            moment = (datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})).astimezone(zone)
            # Midnight by the clock on the wall: it may be another offset from UTC than now.
            return moment if ago[2] == "h" else _on_the_wall(datetime(moment.year, moment.month, moment.day), zone)  # noqa: DTZ001
        told = datetime.fromisoformat(text)
        return told if told.tzinfo else _on_the_wall(told, zone)
    except (ValueError, OverflowError):
        raise usage_error(f"--since {text}: neither a day (2026-08-16) nor a time nor how long ago (7d)") from None


def _on_the_wall(moment: datetime, zone: tzinfo | None) -> datetime:
    return moment.replace(tzinfo=zone) if zone is not None else moment.astimezone()


def _lines(by: By, sums: "list[UsageSum]", whole: "UsageSum") -> list[str]:
    rows = [_row(by, one, one.key or "unknown") for one in sums]
    if len(rows) > 1:
        rows.append(_row(by, whole, "all"))
    optional = (*_MONEY, "unpriced")
    names = ["calls", *_TOKENS, "tokens", "raw", *optional]
    columns = [Column(name, name, COUNT, 1) for name in names if name not in optional or any(row[name] for row in rows)]
    # A number that is cut is another number, so nothing is.
    return show_rows(rows, [Column(by, by, Form(), 0), *columns], wide=True, none="nothing was spent")


def _row(by: By, one: "UsageSum", key: str) -> Mapping[str, Any]:
    told = one.document()
    return {
        by: key if len(key) <= _KEY_COLUMNS else f"…{key[1 - _KEY_COLUMNS :]}",
        "calls": told["calls"],
        **{name: told[f"{component}_tokens"] for name, component in _TOKENS.items()},
        "tokens": told["total_tokens"],
        "raw": told["raw"]["total_tokens"],
        **{name: None if told[name] is None else f"${told[name]:.4f}" for name in _MONEY},
        "unpriced": told["unpriced_tokens"] or None,
    }
