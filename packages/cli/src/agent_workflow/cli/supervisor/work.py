"""Silent work: open tool calls, and processors that are used below an agent or by it."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent_workflow.cli.supervisor.clock import seconds_asleep
from agent_workflow.cli.supervisor.conditions import Work
from agent_workflow.cli.supervisor.documents import Document, inner, number
from agent_workflow.cli.supervisor.process_table import ProcessTable, Seen
from agent_workflow.cli.supervisor.processes import Processes
from agent_workflow.cli.supervisor.progress import Progress
from agent_workflow.cli.supervisor.settings import Settings
from agent_workflow.cli.supervisor.streams import Reading

_SECOND_LOOK_SECONDS = 0.5
_NEW_SLACK_SECONDS = 2.0


@dataclass(slots=True)
class Processors:
    """How much of a processor processes used.

    Attributes:
        table: this cycle's pass.
        before: the pass of the cycle before and the seconds since then; without one, a second look is taken when one
            is needed, once a cycle.
    """

    table: ProcessTable
    before: tuple[ProcessTable, float] | None = None
    later: ProcessTable | None = None

    def share(self, processes: Iterable[Seen]) -> float | None:
        """Return the share of one processor that some processes used together, None where nothing is known."""
        if self.before is not None:
            table, seconds = self.before
            return _share(processes, table, seconds) if seconds > 0 else None
        if self.later is None:
            time.sleep(_SECOND_LOOK_SECONDS)
            self.later = ProcessTable.scan()
        now = [seen for process in processes if (seen := self.later.find(process.pid)) is not None]
        return _share(now, self.table, _SECOND_LOOK_SECONDS)


def work_of(
    processes: Processes,
    readings: Sequence[Reading],
    progress: Progress,
    earlier: Sequence[Document],
    processors: Processors,
    settings: Settings,
) -> Work:
    """Look for work of a run that is silent; of one that is not, nothing needs to be known.

    Args:
        processes: of the run.
        readings: of its agents' streams.
        progress: of the run in this cycle.
        earlier: its newest health samples but this one's, the oldest first.
        processors: of this cycle.
        settings: with the silence that counts.
    """
    silent = progress.seconds
    # A silence that begins now may count later only together with what was known of it from its beginning on.
    if silent is None or silent < settings.stall_seconds:
        return Work()
    is_known = bool(processes.agents) and any(reading.is_structured for reading in readings)
    open_tools = sum(len(reading.open_tools) for reading in readings) if processes.agents else 0
    # A process ages while the host sleeps, a silence does not.
    oldest = silent + seconds_asleep() + _NEW_SLACK_SECONDS
    newer = [
        seen for seen in processes.below if not is_known and seen.age_seconds is not None and seen.age_seconds < oldest
    ]
    below = None if open_tools or newer else _below_share(processes.below, progress, processors)
    own = _own_share(processes, earlier, progress, processors)
    return Work(open_tools, len(newer), own, below, is_known)


def _below_share(below: Sequence[Seen], progress: Progress, processors: Processors) -> float | None:
    if not below:
        return 0.0
    young = [seen for seen in below if progress.elapsed and (seen.age_seconds or 0.0) <= progress.elapsed]
    if progress.elapsed and (used := sum(seen.cpu for seen in young) / progress.elapsed) > 0:
        old = [seen for seen in below if seen not in young]
        return used + ((processors.share(old) or 0.0) if old else 0.0)
    return processors.share(below)


def _own_share(
    processes: Processes, earlier: Sequence[Document], progress: Progress, processors: Processors
) -> float | None:
    """Return what the agent itself used since the silence began, or since the oldest sample that is at hand."""
    own, role = (processes.executor, "executor") if processes.agents else (processes.runner, "runner")
    seen = own.seen
    if seen is None or not own.alive:
        return None
    for sample in earlier:
        sampled, began = inner(sample, role), number(sample.get("seconds_since_semantic_progress"))
        is_same = sampled.get("pid") == seen.pid and sampled.get("process_start_ticks") == seen.start_ticks
        is_silent = sample.get("last_semantic_progress_at") == earlier[-1].get("last_semantic_progress_at")
        if not is_same or not is_silent or seen.start_ticks is None or began is None or progress.grew:
            continue
        seconds = (progress.seconds or 0.0) - began
        if seconds > 0:
            before = sum(number(sampled.get(name)) or 0.0 for name in ("cpu_user_seconds", "cpu_system_seconds"))
            return max(0.0, (seen.cpu_user or 0.0) + (seen.cpu_system or 0.0) - before) / seconds
    return processors.share([seen])


def _share(processes: Iterable[Seen], earlier: ProcessTable, seconds: float) -> float:
    used = 0.0
    for process in processes:
        was = earlier.seen_before(process)
        used += process.cpu - (was.cpu if was is not None else 0.0)
    return max(0.0, used) / seconds
