"""A supervisor's report in words."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent_workflow.cli._cells import DURATION, ID, NAME, STATE, Form
from agent_workflow.cli._output import terminal_width, wrapped
from agent_workflow.cli._table import Column, Row
from agent_workflow.cli._terminal_text import printable
from agent_workflow.cli._trace_columns import show_rows

if TYPE_CHECKING:
    from agent_workflow.cli.supervisor.report import Report, RunHealth

_COLUMNS = (
    Column("run", "run", ID, 0),
    Column("condition", "condition", STATE, 1),
    Column("status", "status", STATE, 4),
    Column("silent", "silent", DURATION, 2),
    Column("last sign", "last sign", NAME, 3),
    Column("runner", "runner", Form(), 5),
    Column("agent", "agent", Form(), 6),
    Column("memory", "memory", Form(right=True), 7),
)


def report_lines(report: "Report") -> list[str]:
    """Return one cycle for a person: the live runs, then what began, ended and was done."""
    live = f"{len(report.health)} live, {report.ended_runs} ended"
    lines = [f"{printable(report.state_root)}: {live}"]
    if report.health:
        rows = [_row(health) for health in sorted(report.health, key=lambda item: item.session_id)]
        lines += ["", *show_rows(rows, _COLUMNS, wide=False, none="")]
    told = [*change_lines(report, with_open=True), *lasting_lines(report)]
    if told:
        lines.append("")
    for line in told:
        first, *more = wrapped(line, terminal_width())
        lines += [first, *wrapped(" ".join(more), terminal_width(), indent="  ")]
    return [*lines, "", _index_line(report)]


def change_lines(report: "Report", *, with_open: bool = False) -> Iterator[str]:
    """Tell what changed in a cycle, a line each.

    Args:
        report: of the cycle.
        with_open: also incidents that last.
    """
    for item in report.incidents:
        if with_open or item.change != "open":
            yield printable(f"incident {item.change}: {item.session_id}: {item.category}: {item.summary}")
    for event in report.permissions:
        yield printable(f"permission {event['state']}: {event['session_id']}: {event['operation']} ({event['source']})")
    for done in report.remediations:
        yield printable(f"{done.rule_id} {done.outcome}: {done.session_id}: {done.reason}")


def lasting_lines(report: "Report") -> Iterator[str]:
    """Tell what could not be looked at and what else is worth telling, which may be so in every cycle."""
    for fault in report.errors:
        yield printable(f"error: {fault.path}: {fault.reason}")
    for notice in report.notices:
        yield printable(f"notice: {notice}")


def index_trouble(report: "Report") -> str | None:
    """Return what is wrong with the index, None where nothing is."""
    if report.index_sync.get("state") != "error":
        return None
    error = report.index_sync.get("error")
    return str(error.get("message")) if isinstance(error, dict) else "the index cannot be synced"


def _index_line(report: "Report") -> str:
    state = report.index_sync.get("state")
    if (trouble := index_trouble(report)) is not None:
        return f"index: {printable(trouble)}"
    if state == "done":
        return f"index: {report.index_sync['indexed_count']} synced, {report.index_sync['error_count']} in error"
    return {"off": "index: left alone", "not_due": "index: nothing new"}.get(str(state), "index: nothing to do")


def _row(health: "RunHealth") -> Row:
    sample = health.sample or {}
    executor, runner = sample.get("executor", {}), sample.get("runner", {})
    own = executor if executor.get("alive") else runner
    rss = own.get("rss_bytes")
    return {
        "run": health.session_id,
        "condition": health.condition,
        "status": health.status,
        "silent": sample.get("seconds_since_semantic_progress"),
        "last sign": sample.get("last_semantic_progress_source"),
        "runner": _process(runner),
        "agent": _process(executor),
        "memory": None if rss is None else f"{rss / 2**20:.0f} MiB",
    }


def _process(part: dict[str, object]) -> str | None:
    if part.get("pid") is None:
        return None
    word = {True: part.get("state") or "alive", False: "gone", None: "unknown"}[part.get("alive")]  # type: ignore[index] # a bool or None
    return f"{part['pid']} {word}"
