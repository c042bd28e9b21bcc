"""The status that is shown: what the trace says, weighed against what is alive."""

from collections.abc import Iterable
from typing import Final

from agent_workflow.tracer._identity import ProcessState

LOST: Final = "lost"
RUNNING: Final = "running"
_QUIET_SECONDS: Final = 600.0
_STARTING_SECONDS: Final = 60.0


def shown_status(
    stored: str | None, workflows: Iterable[ProcessState], last_event_age: float | None, *, had_processes: bool
) -> str:
    """Decide what to show for a session.

    Args:
        stored: the session's ``status``; words of other writers are passed on.
        workflows: the state of each workflow process that the trace believes alive.
        last_event_age: seconds since the newest event, ``None`` when there is none.
        had_processes: whether the trace records processes at all; old databases do not.

    Returns:
        The stored word, ``lost`` for a run whose process is gone, or ``unknown`` when nothing is stored.
    """
    if stored != RUNNING:
        return stored or "unknown"
    states = list(workflows)
    if "alive" in states:
        return RUNNING
    if states:
        return LOST
    # Nothing says who runs it: only its silence can tell. Where processes are recorded, it may just be starting.
    quiet = _STARTING_SECONDS if had_processes else _QUIET_SECONDS
    return LOST if last_event_age is None or last_event_age > quiet else RUNNING
