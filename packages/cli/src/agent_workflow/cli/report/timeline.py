"""Putting counts by day into the buckets of a chart: days, weeks or months, those without anything included."""

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Literal

from agent_workflow.cli.report.facts import Bucket

Size = Literal["day", "week", "month"]

_MOST_DAYS = 62
_MOST_WEEKS_DAYS = 430
_MOST_YEARS_DAYS = 7305


def bucket_size(first: date, last: date) -> Size:
    """Choose the size in which a period is readable."""
    days = (last - first).days
    return "day" if days <= _MOST_DAYS else "week" if days <= _MOST_WEEKS_DAYS else "month"


def span(days: Iterable[str], since: date, today: date) -> tuple[date, date]:
    """Return the first and the last day to show: from the question, or from the first day with anything if later.

    A day that is months ahead or more than twenty years back comes from a clock that was wrong: it is on no chart.

    Args:
        days: ISO 8601 days with anything.
        since: of the question.
        today: the last day, unless a clock ran ahead.
    """
    found = sorted(day for text in days if (day := _parsed(text)) is not None)
    first = max(since, found[0]) if found and (found[0] - since).days > _MOST_DAYS else since
    last = max([today, *(day for day in found if (day - today).days <= _MOST_DAYS)])
    first = max(first, today - timedelta(days=_MOST_YEARS_DAYS))
    return min(first, last), last


def _parsed(text: str) -> date | None:
    """Read a day; a clock that was far off may have written one that no calendar of ours has."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def buckets(by_day: Mapping[str, Mapping[str, float]], first: date, last: date, size: Size) -> tuple[Bucket, ...]:
    """Sum up counts by day.

    Args:
        by_day: series and counts by ISO 8601 day.
        first: day that the chart shows.
        last: day that it shows.
        size: of a bucket.
    """
    sums: dict[str, dict[str, float]] = {}
    day = _begin(first, size)
    while day <= last:
        sums[_label(day, size)] = {}
        day = _next(day, size)
    for text, counts in by_day.items():
        day_of_counts = _parsed(text)
        label = "" if day_of_counts is None else _label(_begin(day_of_counts, size), size)
        if label in sums:
            for name, count in counts.items():
                sums[label][name] = sums[label].get(name, 0) + count
    return tuple(Bucket(label, counts) for label, counts in sums.items())


def _begin(day: date, size: Size) -> date:
    if size == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if size == "month" else day


def _next(day: date, size: Size) -> date:
    if size == "month":
        return (day.replace(day=1) + timedelta(days=32)).replace(day=1)
    return day + timedelta(days=7 if size == "week" else 1)


def _label(day: date, size: Size) -> str:
    return day.isoformat()[:7] if size == "month" else day.isoformat()
