"""Asking the index for what a report says; everything from one and the same content."""

import socket
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from agent_workflow import index_store
from agent_workflow.cli.report.facts import (
    Money,
    ReportFacts,
    Row,
    count_causes,
    failure_of,
    status_word,
    unpriced,
)
from agent_workflow.cli.report.timeline import Size, bucket_size, buckets, span

_MOST_LISTED = 200
_MOST_ROWS = index_store.MAXIMUM_LIMIT
_DAY_SIZE: Size = "day"


def gather(state_root: Path, since: str, now: datetime | None = None) -> ReportFacts:
    """Gather what happened since a moment, and what is open now.

    Args:
        state_root: the root; without an index the report says so.
        since: a date, a time, or an age such as ``7d``.
        now: the present by default.

    Raises:
        InvalidQuestion: ``since`` is no time.
        IndexStoreError: the index or the state root is at fault.
    """
    moment = now or datetime.now(UTC)
    since_at = datetime.fromtimestamp(index_store.parse_moment(since, "since", moment), UTC)
    status = index_store.status(state_root)
    freshness = status.freshness
    facts = ReportFacts(
        made_at=moment.isoformat(timespec="seconds"),
        since=since,
        since_at=since_at.isoformat(timespec="seconds"),
        state_root=status.state_root,
        host=socket.gethostname(),
        freshness=freshness.word,
        last_sync_at=status.last_sync_at,
        source_runs=freshness.source_runs,
        current_runs=freshness.current_runs,
        stale_runs=freshness.stale_runs,
        error_runs=freshness.error_runs,
    )
    try:
        with index_store.open_index(state_root) as index:
            return _fill(facts, index, since_at, moment)
    except index_store.MissingDatabase:
        return facts


def _fill(facts: ReportFacts, index: "index_store.IndexReader", since: datetime, now: datetime) -> ReportFacts:
    from dataclasses import replace

    from_then = index_store.Filters(since=since.isoformat())
    listed = index.select("runs", from_then, _MOST_ROWS).rows
    is_cut = len(listed) == _MOST_ROWS
    runs = _not_superseded(listed)
    failures = [failure for run in runs if (failure := failure_of(run)) is not None]
    outcomes = index.outcomes_by_day(since.isoformat()).rows
    spend = index.spend(since.isoformat()).rows
    days = {str(row["day"]) for row in (*outcomes, *spend) if row["day"] is not None}
    first, last = span(days, since.date(), now.date())
    size = bucket_size(first, last)
    metrics = index.select("metrics", from_then, _MOST_ROWS).rows
    freshness = index.freshness()
    in_error = sum(run["index_state"] == "error" for run in runs)
    counted = sum(int(row["run_count"] or 0) for row in outcomes)
    incidents = index.open_incidents(_MOST_ROWS).rows
    permissions = index.pending_permissions(_MOST_ROWS).rows
    errors = _errors(index)
    run_count = counted + in_error if is_cut else len(runs)
    return replace(
        facts,
        freshness=freshness.word,
        source_runs=freshness.source_runs,
        current_runs=freshness.current_runs,
        stale_runs=freshness.stale_runs,
        error_runs=freshness.error_runs,
        run_count=run_count,
        truncated=is_cut,
        statuses=_statuses(outcomes),
        runs_over_time=buckets(_by_day(outcomes), first, last, size),
        bucket=size,
        failures=tuple(failures[:_MOST_LISTED]),
        failure_count=len(failures),
        causes=count_causes(failures),
        money=_money(spend, first, last, size),
        unpriced_runs=None if len(metrics) == _MOST_ROWS else unpriced(_not_superseded(metrics), run_count),
        agents=index.outcomes_by_agent(since.isoformat()).rows,
        incidents=tuple(incidents[:_MOST_LISTED]),
        incident_count=len(incidents),
        incident_counts=_incident_counts(index.select("incidents", from_then, _MOST_ROWS).rows),
        permissions=tuple(permissions[:_MOST_LISTED]),
        permission_count=len(permissions),
        errors=errors[:_MOST_LISTED],
        error_count=len(errors),
    )


def _not_superseded(rows: Sequence[Row]) -> list[Row]:
    """Leave out what the index counts in no sum."""
    return [row for row in rows if not row["superseded"]]


def _statuses(outcomes: Sequence[Row]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for row in outcomes:
        counts[status_word(row["status"])] += int(row["run_count"] or 0)
    return dict(counts)


def _by_day(outcomes: Sequence[Row]) -> dict[str, dict[str, float]]:
    by_day: dict[str, dict[str, float]] = {}
    for row in outcomes:
        counts = by_day.setdefault(str(row["day"]), {})
        word = status_word(row["status"])
        counts[word] = counts.get(word, 0) + float(row["run_count"] or 0)
    return by_day


def _money(spend: Sequence[Row], first: date, last: date, size: Size) -> tuple[Money, ...]:
    """Sum up by currency; a day without a date is in the sums and on no chart."""
    found = []
    for currency in sorted({row["currency"] for row in spend}, key=lambda code: (code is None, str(code))):
        rows = [row for row in spend if row["currency"] == currency]
        billed, billed_samples = _sum(rows, "provider_billed")
        estimated, estimated_samples = _sum(rows, "local_estimated")
        if not billed_samples and not estimated_samples:
            continue
        by_day: dict[str, dict[str, float]] = {}
        for row in rows:
            for series, kind in (("billed", "provider_billed"), ("estimated", "local_estimated")):
                if row["day"] is not None and row[f"{kind}_cost"] is not None:
                    counts = by_day.setdefault(str(row["day"]), {})
                    counts[series] = counts.get(series, 0) + float(row[f"{kind}_cost"] or 0)
        over_time = buckets(by_day, first, last, size)
        code = None if currency is None else str(currency)
        found.append(Money(code, billed, billed_samples, estimated, estimated_samples, over_time))
    return tuple(found)


def _sum(rows: Sequence[Row], kind: str) -> tuple[float | None, int]:
    amounts = [float(row[f"{kind}_cost"] or 0) for row in rows if row[f"{kind}_cost"] is not None]
    samples = sum(int(row[f"{kind}_sample_count"] or 0) for row in rows)
    return (round(sum(amounts), 12) if amounts else None), samples


def _incident_counts(rows: Sequence[Row]) -> tuple[tuple[str, str, int], ...]:
    """Count incidents once each, whatever states they went through."""
    incidents = {(row["session_id"], row["incident_id"]): (str(row["category"]), str(row["severity"])) for row in rows}
    counts = Counter(incidents.values())
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple((category, severity, count) for (category, severity), count in ordered)


def _errors(index: "index_store.IndexReader") -> tuple[Row, ...]:
    rows = index.select("errors", None, _MOST_ROWS).rows
    return tuple(row for row in rows if row["category"] != "historical_artifact")
