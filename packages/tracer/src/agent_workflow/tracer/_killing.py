"""Stopping a run from outside: children first, then the workflow, and only what is still what was recorded."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from agent_workflow.tracer._closing import close_lost_session, left_open, rows_of
from agent_workflow.tracer._ending import Ended, end_processes, tree_below
from agent_workflow.tracer._files import SessionFiles
from agent_workflow.tracer._identity import judge
from agent_workflow.tracer._kill_request import ENDED_BY_KILL, note_kill
from agent_workflow.tracer._liveness import ProcessRow
from agent_workflow.tracer._processes import Process, find
from agent_workflow.tracer._reader import TraceReader
from agent_workflow.tracer._shown import RUNNING
from agent_workflow.tracer._watching import mark_from
from agent_workflow.tracer.evidence._finalizing import settle
from agent_workflow.tracer.evidence._publications import unsealed_marker


@dataclass(slots=True)
class KillReport:
    """What was done.

    Attributes:
        adw_id: the session.
        outcomes: one for each process that was looked at, in that order.
        closed: whether the trace was closed here; the workflow may have done so itself.
        status: what is shown for the session now.
    """

    adw_id: str
    outcomes: list[Ended] = field(default_factory=list)
    closed: bool = False
    status: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing of the run is left running."""
        return self.status != RUNNING and not any(item.outcome in ("alive", "not permitted") for item in self.outcomes)


def kill_session(
    db: Path,
    data_dir: Path,
    adw_id: str,
    warn: Callable[[str], None],
    *,
    grace_seconds: float = 10.0,
    force: bool = False,
) -> KillReport:
    """Stop a run: SIGTERM to its agents and what runs below them, then to the workflow; SIGKILL when forced.

    That it is asked to end is noted first, so that the end which follows is not taken for the run's own.

    Args:
        db: the trace database.
        data_dir: where its session directories are.
        adw_id: the session.
        warn: told what cannot be written.
        grace_seconds: how long each round may take to end by itself.
        force: kill what has not ended then.

    Raises:
        NoSuchSession: the trace does not hold it.
        TraceReadError: it cannot be read.
        TraceWriteFailed: the end cannot be written to its files.
    """
    report = KillReport(adw_id)
    with TraceReader(db) as reader:
        reader.session(adw_id)
        recorded = reader.processes(adw_id, only_open=True)
        agents = [row for row in recorded if row.recorded.kind == "agent"]
        workflows = [row for row in recorded if row.recorded.kind != "agent"]
        marks = {mark_from(row.recorded) for row in reader.processes(adw_id) if row.recorded.kind != "agent"}
        _report_what_is_not_alive(recorded, report)
        is_noted = any(row.state == "alive" for row in recorded) and note_kill(
            db, data_dir, adw_id, warn, asked_to_end=True
        )
        _end(agents, marks, report, grace_seconds, force=force)
        _end(workflows, marks, report, grace_seconds, force=force)
        session = reader.session(adw_id)
        is_lost = session["status"] == RUNNING and session["shown_status"] != RUNNING
        if is_lost or adw_id in left_open(reader, data_dir):
            report.closed = close_lost_session(
                db, data_dir, adw_id, rows_of(reader, adw_id), warn, reason=ENDED_BY_KILL, name="killed"
            )
        session = reader.session(adw_id)
        # Events of a moment ago show a session that is stored as ended at work; its processes were just looked at.
        report.status = session["shown_status" if session["status"] == RUNNING else "status"] or "unknown"
    if is_noted and not report.is_over:
        note_kill(db, data_dir, adw_id, warn, asked_to_end=False)
    files = SessionFiles.of(data_dir, adw_id)
    if report.status != RUNNING and unsealed_marker(files).exists():
        settle(files, reason=ENDED_BY_KILL, actor="trace kill", warn=warn)
    return report


def _report_what_is_not_alive(rows: Iterable[ProcessRow], report: KillReport) -> None:
    for row in rows:
        if row.state != "alive":
            report.outcomes.append(Ended(row.recorded.pid or 0, row.recorded.command or "", row.state))


def _end(rows: list[ProcessRow], marks: set[str], report: KillReport, grace_seconds: float, *, force: bool) -> None:
    """End the processes of some rows that are alive, and everything below them, the deepest first."""
    roots: dict[int, Process] = {}
    for row in rows:
        if row.state != "alive":
            continue
        process = find(row.recorded.pid or 0)
        state = judge(row.recorded, process)  # again: it may have ended while the agents were, and its number passed on
        if process is not None and state == "alive":
            roots[process.pid] = process
        else:
            report.outcomes.append(Ended(row.recorded.pid or 0, row.recorded.command or "", state))
    spared = _ourselves() - set(roots)
    below: dict[int, Process] = {}
    for mark in [None, *sorted(marks)] if marks else [None]:
        for process in tree_below(set(roots), mark):
            if process.pid not in roots and process.pid not in spared:
                below.setdefault(process.pid, process)
    targets = [*below.values(), *roots.values()]
    already = {item.pid for item in report.outcomes}
    for ended in end_processes(targets, grace_seconds=grace_seconds, force=force):
        if ended.pid not in already:
            report.outcomes.append(ended)


def _ourselves() -> set[int]:
    """Return this process and those that it was started from: a kill from inside a run must get to its end."""
    pids: set[int] = set()
    process = find(os.getpid())
    while process is not None and process.pid not in pids:
        pids.add(process.pid)
        process = find(process.parent)
    return pids
