"""What the lifecycle journal of a run says so far, read by whoever completes it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent_workflow.tracer._journal import records

TERMINAL = ("completed", "failed", "interrupted", "killed")


@dataclass(slots=True)
class Lifecycle:
    """The present states.

    Attributes:
        execution: of the run as a whole.
        phases: newest state of each phase by its id.
        categories: why phases failed, by their ids.
    """

    execution: str | None = None
    phases: dict[str, str] = field(default_factory=dict)
    categories: dict[str, str] = field(default_factory=dict)

    @property
    def has_ended(self) -> bool:
        """Whether the end of the run is told."""
        return self.execution in TERMINAL


def read_lifecycle(directory: Path) -> Lifecycle:
    """Read ``events.jsonl`` of a run.

    Raises:
        OSError: it cannot be read.
    """
    found = Lifecycle()
    for record in records(directory / "events.jsonl"):
        event = record.value or {}
        dimension, new = str(event.get("dimension")), str(event.get("new"))
        phase_id, category = event.get("correlation_id"), event.get("failure_category")
        if dimension == "execution":
            found.execution = new
        elif dimension.startswith("phase:") and isinstance(phase_id, str):
            found.phases[phase_id] = new
            if isinstance(category, str):
                found.categories[phase_id] = category
    return found


def phase_move(phase_id: str, name: str, new: str, category: str | None = None) -> dict[str, Any]:
    """Write the move of a phase as ``append_lifecycle_locked`` takes it.

    Args:
        phase_id: as the trace names it.
        name: of the phase.
        new: ``running``, or how it ended.
        category: why it failed.
    """
    prior = None if new == "running" else "running"
    reason = "the phase began" if new == "running" else "the phase ended"
    move: dict[str, Any] = {"dimension": f"phase:{name}", "prior": prior, "new": new, "reason": reason}
    return {**move, "correlation_id": phase_id, **({} if category is None else {"failure_category": category})}
