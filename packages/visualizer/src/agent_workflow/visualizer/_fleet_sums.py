"""Sums over the index: money by day, executor and model; outcomes and durations. Unknown stays unknown."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, Final

from agent_workflow.index_store import MAXIMUM_LIMIT
from agent_workflow.tracer import parse_time
from agent_workflow.visualizer._index_reading import Index, Row

_WHOLE: Final = "total"
_SUMMED: Final = ("input_tokens", "output_tokens")
_MONEY: Final = ("provider_billed", "local_estimated")
_ENDED: Final = frozenset({"completed", "failed", "interrupted", "killed", "lost"})


def spend(index: Index, since: str | None) -> dict[str, Any]:
    """Sum up what runs cost by day, executor, model and currency; billed and estimated money stay apart."""
    with index.open() as reading:
        rows = reading.rows("metrics", {"since": since})
        return {"freshness": index.freshness(reading), "rows": sum_spend(rows), "complete": len(rows) < MAXIMUM_LIMIT}


def sum_spend(metrics: Iterable[Row]) -> list[Row]:
    """Sum up metrics rows, newest day first.

    A run's ``total`` stage is what it cost; the other stages are parts of it and count only where there is no total.
    """
    by_run: dict[str, list[Row]] = {}
    for row in metrics:
        by_run.setdefault(str(row["session_id"]), []).append(row)
    groups: dict[tuple[Any, ...], Row] = {}
    for rows in by_run.values():
        whole = [row for row in rows if row["stage"] == _WHOLE] or rows
        for number, row in enumerate(whole):
            key = (str(row["run_at"] or "")[:10] or None, row["executor"], row["model"], row["currency"])
            group = groups.setdefault(key, _empty(key))
            group["run_count"] += number == 0
            _add(group, row)
    return sorted(groups.values(), key=lambda group: str(group["day"] or ""), reverse=True)


def _empty(key: tuple[Any, ...]) -> Row:
    group: Row = dict(zip(("day", "executor", "model", "currency"), key, strict=True)) | {"run_count": 0}
    group |= dict.fromkeys(_SUMMED)
    for kind in _MONEY:
        group |= {f"{kind}_cost": None, f"{kind}_sample_count": 0}
    return group


def _add(group: Row, row: Row) -> None:
    for name in _SUMMED:
        if row[name] is not None:
            group[name] = (group[name] or 0) + row[name]
    for kind in _MONEY:
        amount = row[f"{kind}_cost"]
        if amount is not None:
            # To a trillionth: sums of binary fractions would show digits that nobody was billed.
            group[f"{kind}_cost"] = round((group[f"{kind}_cost"] or 0) + amount, 12)
            group[f"{kind}_sample_count"] += 1


def outcomes(index: Index, since: str | None) -> dict[str, Any]:
    """Count how runs ended, by day and by executor and model."""
    with index.open() as reading:
        rows = reading.rows("runs", {"since": since})
        complete = len(rows) < MAXIMUM_LIMIT
        rows = [row for row in rows if row["index_state"] == "current"]
        summed = {"days": by_day(rows), "groups": by_group(rows), "complete": complete}
        return {"freshness": index.freshness(reading), **summed}


def by_day(runs: Iterable[Row]) -> list[Row]:
    """Count statuses of runs by day, newest first; a run without a time is in none."""
    days: dict[str, Counter[str]] = {}
    for run in runs:
        day = str(run["started_at"] or run["created_at"] or "")[:10]
        if day:
            days.setdefault(day, Counter())[str(run["durable_status"] or "unknown")] += 1
    return [
        {"day": day, "run_count": sum(counted.values()), "statuses": dict(counted)}
        for day, counted in sorted(days.items(), reverse=True)
    ]


def by_group(runs: Iterable[Row]) -> list[Row]:
    """Count outcomes and measure durations by executor and model, most runs first."""
    groups: dict[tuple[Any, Any], list[Row]] = {}
    for run in runs:
        groups.setdefault((run["executor"], run["model"]), []).append(run)
    counted = [_outcome(executor, model, rows) for (executor, model), rows in groups.items()]
    return sorted(counted, key=lambda row: (-row["run_count"], str(row["executor"]), str(row["model"])))


def _outcome(executor: str | None, model: str | None, runs: Sequence[Row]) -> Row:
    ended = [run for run in runs if run["durable_status"] in _ENDED]
    completed = [run for run in ended if run["durable_status"] == "completed"]
    seconds = sorted(took for run in completed if (took := _seconds(run)) is not None)
    return {
        "executor": executor,
        "model": model,
        "run_count": len(runs),
        "ended_count": len(ended),
        "completed_count": len(completed),
        "accepted_count": sum(run["acceptance_eligible"] == 1 for run in runs),
        "success_rate": len(completed) / len(ended) if ended else None,
        "median_seconds": _quantile(seconds, 0.5),
        "p90_seconds": _quantile(seconds, 0.9),
    }


def _seconds(run: Row) -> float | None:
    began, ended = parse_time(run["started_at"]), parse_time(run["finished_at"])
    return None if began is None or ended is None or ended < began else (ended - began).total_seconds()


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else None
