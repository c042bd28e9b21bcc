"""The views of ``index-tables.md``, worked out in Python from the rows of the tables."""

from collections import defaultdict
from collections.abc import Callable, Iterable

from .index_reading import Cell, Row

Group = tuple[Cell, ...]


def run_overview(runs: Iterable[Row], health: list[Row], incidents: list[Row], permissions: list[Row]) -> list[Row]:
    """Return runs with their last health, open incidents and pending permissions."""
    found = []
    for run in runs:
        mine = [_of_run(rows, run["session_id"]) for rows in (health, incidents, permissions)]
        opened = [event for event in _latest(mine[1], "incident_id") if event["state"] == "open"]
        pending = [
            event for event in _latest(mine[2], "operation", "resource_class", "target") if event["state"] == "pending"
        ]
        found.append(
            run
            | {
                "last_health_at": max((str(sample["recorded_at"]) for sample in mine[0]), default=None),
                "last_open_incident_at": max((str(event["recorded_at"]) for event in opened), default=None),
                "open_incident_count": len(opened),
                "pending_permission_count": len(pending),
            }
        )
    return found


def state_summary(events: Iterable[Row], *names: str) -> list[Row]:
    """Return ``incident_summary`` or ``permission_summary``: how often, in how many runs, first and last."""
    return [
        dict(zip(names, group, strict=True))
        | {
            "event_count": len(rows),
            "run_count": len({row["session_id"] for row in rows}),
            "first_seen_at": min(str(row["recorded_at"]) for row in rows),
            "last_seen_at": max(str(row["recorded_at"]) for row in rows),
        }
        for group, rows in _grouped(events, *names).items()
    ]


def performance_summary(runs: Iterable[Row], metrics: Iterable[Row]) -> list[Row]:
    """Return averages by executor, model and stage; the two kinds of money never meet."""
    by_id = {run["session_id"]: run for run in runs}
    samples = [row | {name: by_id[row["session_id"]][name] for name in ("executor", "model")} for row in metrics]
    return [
        dict(zip(("executor", "model", "stage"), group, strict=True))
        | {"sample_count": len(rows)}
        | {f"avg_{name}": _average(row[name] for row in rows) for name in _AVERAGED}
        | _money(rows, "provider_billed")
        | _money(rows, "local_estimated")
        for group, rows in _grouped(samples, "executor", "model", "stage").items()
    ]


def attempt_summary(runs: Iterable[Row]) -> list[Row]:
    """Return how many current runs had which outcome."""
    names = ("attempt_classification", "executor_result", "completion_result", "policy_result")
    columns = (*names, "score_verdict", "evaluation_state")
    current = (run for run in runs if run["index_state"] == "current")
    return [
        dict(zip(columns, group, strict=True))
        | {"run_count": len(rows), "acceptance_eligible_count": sum(row["acceptance_eligible"] == 1 for row in rows)}
        for group, rows in _grouped(current, *columns).items()
    ]


_AVERAGED = ("elapsed_seconds", "first_output_latency_seconds", "input_tokens", "output_tokens")


def _money(rows: list[Row], kind: str) -> Row:
    """Average one kind of money where every sample names the same currency; else neither average nor currency."""
    samples = [row for row in rows if row[f"{kind}_cost"] is not None]
    currencies = {row["currency"] for row in samples}
    one = len(currencies) == 1 and None not in currencies
    return {
        f"{kind}_sample_count": len(samples),
        f"avg_{kind}_cost": _average(row[f"{kind}_cost"] for row in samples) if one else None,
        f"{kind}_currency": currencies.pop() if one else None,
    }


def _average(values: Iterable[Cell]) -> float | None:
    numbers = [float(value) for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def _latest(events: Iterable[Row], *names: str) -> list[Row]:
    """Return the latest event of each subject, in the order of the journal."""
    order: Callable[[Row], int] = lambda event: int(event["source_sequence"] or 0)  # noqa: E731 -- a typed key
    return [max(rows, key=order) for rows in _grouped(events, *names).values()]


def _of_run(rows: list[Row], session_id: Cell) -> list[Row]:
    return [row for row in rows if row["session_id"] == session_id]


def _grouped(rows: Iterable[Row], *names: str) -> dict[Group, list[Row]]:
    groups: dict[Group, list[Row]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return groups
