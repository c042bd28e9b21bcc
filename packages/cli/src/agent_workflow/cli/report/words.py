"""The words and tables that both forms of a report share."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agent_workflow.cli._cells import counted, minute, number, plural
from agent_workflow.cli.report.facts import Failure, Money, ReportFacts, Row, Value

UNKNOWN = "unknown"


class Cell(NamedTuple):
    """One cell: its text, and how it is set (``n`` figures, ``time``, ``code``, ``free`` text of any length)."""

    text: str
    kind: str = ""


class Table(NamedTuple):
    """A table with its headings; figures are set to the right."""

    headings: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


def freshness_words(facts: ReportFacts) -> str:
    """Say how far the report can be trusted to be complete, and what to do about it."""
    if facts.freshness == "missing":
        runs = f"{counted(facts.source_runs, 'run')} on disk"
        return f"There is no index yet, so nothing is known of {runs}. Make it with: agent-workflow index sync"
    synced = f"last synced {minute(facts.last_sync_at)}" if facts.last_sync_at else "never synced"
    are = "is" if facts.source_runs == 1 else "are"
    counts = f"{facts.current_runs:,} of {counted(facts.source_runs, 'run')} on disk {are} current"
    more = [f"{facts.stale_runs} stale"] if facts.stale_runs else []
    more += [f"{facts.error_runs} in error"] if facts.error_runs else []
    step = "; what changed since is missing here, until: agent-workflow index sync" if facts.stale_runs else ""
    return f"The index is {facts.freshness}: {', '.join((counts, *more))}, {synced}{step}"


def tiles(facts: ReportFacts) -> list[tuple[str, str]]:
    """Return the figures at the top, each with its label."""
    statuses = facts.statuses or {}
    at_least = "≥ " if facts.truncated else ""
    found = [
        (f"{facts.run_count:,}", plural(facts.run_count, "run")),
        (f"{statuses.get('completed', 0):,}", "completed"),
        (f"{at_least}{facts.failure_count:,}", "with a failure"),
        (f"{statuses.get('running', 0):,}", "not ended"),
    ]
    for money in facts.money:
        found.append((amount(money.billed, money.currency), "billed"))
        found.append((amount(money.estimated, money.currency), "estimated, apart from billed"))
    if not facts.money:
        found.append((UNKNOWN, "spend"))
    unpriced = UNKNOWN if facts.unpriced_runs is None else f"{facts.unpriced_runs:,}"
    found += [
        (unpriced, f"{plural(facts.unpriced_runs or 0, 'run')} without a known price"),
        (f"{facts.incident_count:,}", f"{plural(facts.incident_count, 'incident')} open now"),
        (f"{facts.permission_count:,}", f"{plural(facts.permission_count, 'permission')} pending now"),
    ]
    return found


def listing(heading: str, listed: Sequence[object], count: int) -> str:
    """Return the heading of a list, with how many there are where it does not hold all of them."""
    return heading if len(listed) == count else f"{heading}, the newest {len(listed):,} of {count:,}"


def amount(value: float | None, currency: str | None) -> str:
    """Write money; unknown is said."""
    if value is None:
        return UNKNOWN
    return f"{_money(value)} {currency or '(no currency)'}"


def failures_table(failures: Sequence[Failure]) -> Table:
    """List failures with their causes."""
    headings = (Cell("when"), Cell("run"), Cell("status"), Cell("cause"), Cell("also"), Cell("agent"))
    rows = tuple(
        (
            Cell(minute(failure.at), "time"),
            Cell(failure.session_id, "code"),
            Cell(failure.status),
            Cell(failure.cause, "free"),
            Cell(failure.details, "free"),
            Cell(_agent(failure.executor, failure.model), "free"),
        )
        for failure in failures
    )
    return Table(headings, rows)


def money_table(spent: Sequence[Money]) -> Table:
    """List what was spent by currency, with the records that say so."""
    headings = (
        Cell("currency"), Cell("billed", "n"), Cell("records", "n"), Cell("estimated", "n"), Cell("records", "n")
    )  # fmt: skip
    rows = tuple(
        (
            Cell(money.currency or "not named"),
            Cell(_money(money.billed), "n"),
            Cell(str(money.billed_samples), "n"),
            Cell(_money(money.estimated), "n"),
            Cell(str(money.estimated_samples), "n"),
        )
        for money in spent
    )
    return Table(headings, rows)


def agents_table(rows: Sequence[Row]) -> Table:
    """List how the runs of each executor and model ended."""
    columns: tuple[tuple[Cell, Callable[[Row], Cell]], ...] = (
        (Cell("executor"), lambda row: Cell(_known(row["executor"]))),
        (Cell("model"), lambda row: Cell(_known(row["model"]), "free")),
        (Cell("runs", "n"), lambda row: Cell(_known(row["run_count"]), "n")),
        (Cell("ended", "n"), lambda row: Cell(_known(row["ended_count"]), "n")),
        (Cell("completed", "n"), lambda row: Cell(_known(row["completed_count"]), "n")),
        (Cell("rate", "n"), lambda row: Cell(_percent(row["success_rate"]), "n")),
        (Cell("median time", "n"), lambda row: Cell(_seconds(row["median_seconds"]), "n")),
    )
    return Table(
        tuple(heading for heading, _ in columns), tuple(tuple(make(row) for _, make in columns) for row in rows)
    )


def incidents_table(rows: Sequence[Row]) -> Table:
    """List open incidents."""
    headings = (Cell("since"), Cell("run"), Cell("severity"), Cell("category"), Cell("what"))
    return Table(
        headings,
        tuple(
            (
                Cell(minute(row["recorded_at"]), "time"),
                Cell(_known(row["session_id"]), "code"),
                Cell(_known(row["severity"])),
                Cell(_known(row["category"])),
                Cell(_known(row["summary"]), "free"),
            )
            for row in rows
        ),
    )


def permissions_table(rows: Sequence[Row]) -> Table:
    """List what waits for a permission."""
    headings = (Cell("since"), Cell("run"), Cell("operation"), Cell("on"), Cell("target"))
    return Table(
        headings,
        tuple(
            (
                Cell(minute(row["recorded_at"]), "time"),
                Cell(_known(row["session_id"]), "code"),
                Cell(_known(row["operation"]), "free"),
                Cell(_known(row["resource_class"])),
                Cell(_known(row["target"]), "code"),
            )
            for row in rows
        ),
    )


def errors_table(rows: Sequence[Row]) -> Table:
    """List runs that are no evidence as they stand."""
    headings = (Cell("found"), Cell("run"), Cell("what is wrong"))
    return Table(
        headings,
        tuple(
            (
                Cell(minute(row["detected_at"]), "time"),
                Cell(_known(row["session_id"]), "code"),
                Cell(_known(row["detail"]), "free"),
            )
            for row in rows
        ),
    )


def _known(value: Value) -> str:
    return UNKNOWN if value is None else str(value)


def _money(value: float | None) -> str:
    return UNKNOWN if value is None else number(value) if value < 1000 else f"{value:,.0f}"


def _percent(value: Value) -> str:
    return UNKNOWN if not isinstance(value, (int, float)) else f"{100 * value:.0f} %"


def _seconds(value: Value) -> str:
    if not isinstance(value, (int, float)):
        return UNKNOWN
    minutes, seconds = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _agent(executor: str | None, model: str | None) -> str:
    return " · ".join(word for word in (executor, model) if word) or UNKNOWN
