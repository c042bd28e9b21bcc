"""Sums over the whole index: money by day, executor and model; outcomes and durations. Unknown stays unknown."""

from typing import Any

from agent_workflow.visualizer._index_reading import Index, Row


def spend(index: Index, since: str | None) -> dict[str, Any]:
    """Sum up what runs cost by day, executor, model and currency; billed and estimated money stay apart."""
    with index.open() as reading:
        return {"freshness": index.freshness(reading), "rows": reading.spend(since)}


def outcomes(index: Index, since: str | None) -> dict[str, Any]:
    """Count how runs ended, by day and by executor and model."""
    with index.open() as reading:
        days: dict[str, Row] = {}
        for row in reading.outcomes_by_day(since):
            day = days.setdefault(row["day"], {"day": row["day"], "run_count": 0, "statuses": {}})
            day["run_count"] += row["run_count"]
            day["statuses"][row["status"]] = row["run_count"]
        groups = reading.outcomes_by_agent(since)
        return {"freshness": index.freshness(reading), "days": list(days.values()), "groups": groups}
