"""What ``archive`` and ``prune`` tell a person."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from agent_workflow.cli._cells import counted, size
from agent_workflow.cli._failure import with_state_root
from agent_workflow.cli._output import Palette
from agent_workflow.cli._terminal_text import printable

if TYPE_CHECKING:
    from agent_workflow.cli._prune_plan import PrunePlan
    from agent_workflow.index_store.retention import ArchiveReport, PruneOutcome

_SHOWN = 20
_QUIET_REASONS = ("recent",)
"""What stays because nobody asked for it is counted, not listed."""


def archive_lines(report: "ArchiveReport", named_root: str | None = None) -> list[str]:
    """Describe what was moved, then what stays and why."""
    word = "would move" if report.dry_run else "moved"
    total = sum(run.size_bytes for run in report.moved)
    lines = [f"{word} {counted(len(report.moved), 'run')}, {size(total)}, to {printable(report.state_root)}/archive"]
    lines += _listed([f"{_day(run.ended_at)}  {size(run.size_bytes):>7}  {run.session_id}" for run in report.moved])
    lines += _kept([(run.session_id, run.reason, run.detail) for run in report.kept])
    if report.moved and not report.dry_run:
        lines += ["", _index_follows(named_root)]
    return lines


def plan_lines(plan: "PrunePlan", waiting: Sequence[str]) -> list[str]:
    """Describe a plan, the oldest first, and how to carry it out."""
    totals = plan.totals
    runs = f"{counted(len(plan.runs.runs), 'run')}, {size(plan.runs.size_bytes)} of {size(plan.runs.total_bytes)}"
    lines = [f"would delete {runs}, in {printable(plan.runs.state_root)}"]
    lines += _listed([f"{_day(run.ended_at)}  {size(run.size_bytes):>7}  {run.path}" for run in plan.runs.runs])
    lines += _kept([(run.session_id, run.reason, run.detail) for run in plan.runs.kept])
    for trace in plan.traces:
        amount = sum(session.size_bytes for session in trace.sessions)
        sessions = counted(len(trace.sessions), "session")
        lines += ["", f"would delete {sessions}, {size(amount)} and their rows, in {printable(trace.database)}"]
        lines += _listed([f"{_day(s.ended_at)}  {size(s.size_bytes):>7}  {s.adw_id}" for s in trace.sessions])
        lines += _kept([(session.adw_id, session.reason, session.detail) for session in trace.kept])
    lines += ["", f"{counted(totals['files'], 'file')}, {size(totals['bytes'])}; nothing is deleted yet"]
    if waiting:
        lines.append(f"{counted(len(waiting), 'interrupted prune')} will be finished first")
    if totals["subjects"]:
        lines += [f"plan {plan.digest}", "to delete this and nothing else, call again with: --plan " + plan.digest[:12]]
    return lines


def outcome_lines(outcomes: Sequence["PruneOutcome"], receipt: str | None, named_root: str | None = None) -> list[str]:
    """Describe what was deleted, what was not and why, and where the receipt is."""
    deleted = [outcome for outcome in outcomes if outcome.outcome == "deleted"]
    amount = sum(outcome.size_bytes for outcome in deleted)
    files = sum(outcome.files for outcome in deleted)
    subjects = Counter(outcome.subject for outcome in deleted)
    counts = [counted(subjects["run"], "run")]
    if subjects["trace-session"]:
        counts.append(counted(subjects["trace-session"], "session"))
    lines = [f"deleted {' and '.join(counts)}: {counted(files, 'file')}, {size(amount)}"]
    for outcome in outcomes:
        if outcome.outcome != "deleted":
            word = Palette().paint(outcome.outcome, "red" if outcome.outcome == "left" else "yellow")
            lines.append(f"  {word} {printable(outcome.path)}: {printable(outcome.reason)}")
            lines += [f"    {printable(path)}" for path in outcome.left[:_SHOWN]]
    finished = sum(outcome.resumed for outcome in outcomes)
    if finished:
        lines.append(f"announced by a prune that was interrupted: {finished} of {len(outcomes)}")
    if receipt is not None:
        lines.append(f"receipt {printable(receipt)}")
    if subjects["run"]:
        lines.append(_index_follows(named_root))
    return lines


def interrupted_prunes(state_root: Path, named_root: str | None) -> tuple[str, str] | None:
    """Say that prunes were interrupted, and what finishes them; ``None`` where none was, or it cannot be told."""
    try:
        if not (state_root / "prune-receipts").is_dir():
            return None
    except OSError:  # the root is closed to us, which is told elsewhere
        return None
    from agent_workflow.index_store import IndexStoreError
    from agent_workflow.index_store.retention import unfinished_receipts

    try:
        waiting = unfinished_receipts(state_root)
    except IndexStoreError:  # one is at work right now, or the folder is not ours: a prune says so itself
        return None
    if not waiting:
        return None
    step = with_state_root("agent-workflow prune --finish", named_root) or ""
    return f"{counted(len(waiting), 'prune')} interrupted: what was announced may be half gone", step


def _index_follows(named_root: str | None) -> str:
    return f"the index follows with: {with_state_root('agent-workflow index sync', named_root)}"


def _listed(lines: Sequence[str]) -> list[str]:
    more = [f"  and {len(lines) - _SHOWN} more; --json lists all"] if len(lines) > _SHOWN else []
    return [f"  {printable(line)}" for line in lines[:_SHOWN]] + more


def _kept(kept: Iterable[tuple[str, str, str]]) -> list[str]:
    """Count what stays by reason, and name what stays for a reason that somebody may want to look into."""
    found = list(kept)
    if not found:
        return []
    reasons = Counter(reason for _, reason, _ in found)
    counts = ", ".join(f"{count} {reason}" for reason, count in sorted(reasons.items()))
    told = [
        f"{name}: {reason}, {detail}" if detail else f"{name}: {reason}"
        for name, reason, detail in found
        if reason not in _QUIET_REASONS
    ]
    verb = "stays" if len(found) == 1 else "stay"
    return [f"{len(found):,} {verb}: {counts}", *_listed(told)]


def _day(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return "?".ljust(10)
