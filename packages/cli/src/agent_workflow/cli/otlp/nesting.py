"""What is nested in what: sessions hold phases, phases agents, agents tools, and tools the agents that they started."""

from collections.abc import Mapping, Sequence

from agent_workflow.cli.otlp.recorded import Event

SESSION = "session"
SPANNING = ("agent_start", "tool_call")
"""Types of events that become spans; what began a phase stands for the phase."""


def phase_key(phase_id: str) -> str:
    """Return the key of a phase's span."""
    return f"phase:{phase_id}"


def event_key(event_id: str) -> str:
    """Return the key of the span that an event began."""
    return f"event:{event_id}"


class Nesting:
    """The parent of every span and of every event that is none, as keys."""

    def __init__(self, phase_ids: Sequence[str], events: Sequence[Event]) -> None:
        """Find the parents.

        Other writers may name parents that are missing, or in a circle; those fall back to the phase, then the session.
        """
        self._phases = frozenset(phase_ids)
        self._events: Mapping[str, Event] = {event.id: event for event in events}
        self._parents = {event_key(event.id): self._nearest(event) for event in events if event.type in SPANNING}
        self._break_circles()

    def of_span(self, key: str) -> str | None:
        """Return the parent of a span, ``None`` for the session's."""
        if key == SESSION:
            return None
        return self._parents.get(key, SESSION)

    def of_event(self, event: Event) -> str:
        """Return the span that an event happened in."""
        return self._nearest(event)

    def inside_out(self) -> list[str]:
        """Return the keys of all spans that events began, each before the one that it is nested in."""
        depths: dict[str, int] = {}
        for key in self._parents:
            way = []
            at: str | None = key
            while at is not None and at in self._parents and at not in depths:
                way.append(at)
                at = self._parents[at]
            depth = depths.get(at or "", 0)
            for above in reversed(way):
                depth += 1
                depths[above] = depth
        return sorted(self._parents, key=lambda key: -depths[key])

    def _home(self, event: Event) -> str:
        return phase_key(event.phase_id) if event.phase_id in self._phases else SESSION

    def _nearest(self, event: Event) -> str:
        """Walk up to the next event that is a span; one that began a phase stands for it."""
        seen = {event.id}
        parent = self._events.get(event.parent_id)
        while parent is not None and parent.id not in seen:
            if parent.type in SPANNING:
                return event_key(parent.id)
            if parent.type == "phase_start":
                return self._home(parent)
            seen.add(parent.id)
            parent = self._events.get(parent.parent_id)
        return self._home(event)

    def _break_circles(self) -> None:
        done: set[str] = set()
        for key in self._parents:
            way: set[str] = set()
            at = key
            while at in self._parents and at not in done:
                if at in way:
                    self._parents[at] = self._home(self._events[at.removeprefix("event:")])
                    break
                way.add(at)
                at = self._parents[at]
            done |= way
