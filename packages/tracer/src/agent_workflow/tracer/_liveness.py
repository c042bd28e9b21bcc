"""What a run is doing at this moment: the stored word, weighed against its processes and its silence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from agent_workflow.tracer import _clock
from agent_workflow.tracer._identity import ProcessState, RecordedProcess, judge
from agent_workflow.tracer._processes import find
from agent_workflow.tracer._shown import LOST, RUNNING

WORKING: Final = "working"
WAITING: Final = "waiting"
STALLED: Final = "stalled"
LIVE_WORDS: Final = (WORKING, WAITING, STALLED, LOST)
"""What a run can be shown as while it is stored as running."""

_QUIET_SECONDS: Final = 60.0
_STALLED_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What to show for a session, and why.

    Attributes:
        word: ``working``, ``waiting``, ``stalled``, ``lost``, or the stored word.
        because: a sentence for people, empty where the stored word says it all.
        last_sign_at: the newest sign of progress, an event or output of an agent; not known for sessions that ended.
    """

    word: str
    because: str = ""
    last_sign_at: str | None = None


class ProcessRow(NamedTuple):
    """A recorded process and what became of it."""

    recorded: RecordedProcess
    state: ProcessState


def judged(recorded: RecordedProcess) -> ProcessRow:
    """Look at the living process behind a recorded one; one that is recorded as ended is not looked for."""
    if recorded.ended_at:
        return ProcessRow(recorded, "gone")
    return ProcessRow(recorded, judge(recorded, find(recorded.pid or 0)))


def look(
    stored: str | None,
    started_at: str | None,
    last_event: datetime | None,
    processes: Sequence[ProcessRow],
    directory: Path,
) -> Shown:
    """Decide what to show for a session, and look at what its agents print unless it is plainly dead.

    Args:
        stored: its ``status``; words of other writers are passed on.
        started_at: when it began.
        last_event: when its newest event was.
        processes: of the session, each already judged.
        directory: of its files; it may not exist.
    """
    sign = last_event
    if stored == RUNNING and not _is_plainly_dead(processes):
        signs = (last_event, newest_output(directory))
        sign = max((moment for moment in signs if moment is not None), default=None)
    return weigh(stored, started_at, sign, processes)


def _is_plainly_dead(processes: Sequence[ProcessRow]) -> bool:
    workflows = [one for one in processes if one.recorded.kind != "agent" and not one.recorded.ended_at]
    return bool(workflows) and all(one.state != "alive" for one in workflows)


def weigh(
    stored: str | None,
    started_at: str | None,
    last_sign: datetime | None,
    processes: Iterable[ProcessRow],
    now: datetime | None = None,
) -> Shown:
    """Decide what to show for a session.

    Args:
        stored: its ``status``; words of other writers are passed on.
        started_at: when it began.
        last_sign: the newest sign of progress.
        processes: of the session, each already judged.
        now: of this moment by default.
    """
    if stored != RUNNING:
        return Shown(stored or "unknown")
    sign = last_sign or _clock.parse_time(started_at)
    silence = None if sign is None else max(0.0, ((now or datetime.now(UTC)) - sign).total_seconds())
    written = None if sign is None else sign.isoformat(timespec="milliseconds")
    workflows = [process for process in processes if process.recorded.kind != "agent"]
    open_ones = [process for process in workflows if not process.recorded.ended_at]
    if any(process.state == "alive" for process in open_ones):
        return _of_living(silence, written)
    if open_ones:
        last = open_ones[-1]
        return Shown(LOST, f"its process {last.recorded.pid} is {_PHRASES[last.state]}", written)
    # Nothing that is still recorded as running: only its silence can tell.
    limit = _QUIET_SECONDS if workflows else _STALLED_SECONDS
    if silence is None or silence > limit:
        return Shown(LOST, "no process of it is recorded as running, and it is silent", written)
    return _of_living(silence, written)


def _of_living(silence: float | None, written: str | None) -> Shown:
    if silence is None or silence > _STALLED_SECONDS:
        return Shown(STALLED, "its process is alive, and has shown no progress for ten minutes", written)
    if silence > _QUIET_SECONDS:
        return Shown(WAITING, "its process is alive and waits: no event and no output for more than a minute", written)
    return Shown(WORKING, "", written)


_PHRASES: Final = {
    "gone": "gone",
    "recycled": "gone, and another program has its number",
    "zombie": "dead and waits to be collected",
    "invalid": "not recorded properly",
    "alive": "alive",
}


def newest_output(directory: Path) -> datetime | None:
    """Return when an agent of a session last printed something: one long turn makes no event.

    Args:
        directory: of the session.
    """
    newest: float | None = None
    try:
        for entry in directory.iterdir():
            for name in ("raw_output.jsonl", "stderr.log"):
                try:
                    changed = (entry / name).lstat().st_mtime
                except OSError:
                    continue
                newest = changed if newest is None else max(newest, changed)
    except OSError:
        return None
    return None if newest is None else datetime.fromtimestamp(newest, UTC)
