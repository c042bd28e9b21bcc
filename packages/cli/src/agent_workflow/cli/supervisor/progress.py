"""Semantic progress: when work last moved on, told by bytes and by a clock that nobody can set."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from agent_workflow.cli.supervisor.channels import MEASURED, Channel, Channels
from agent_workflow.cli.supervisor.clock import Anchor, elapsed_since, parse_time
from agent_workflow.cli.supervisor.documents import Document, number, text, whole_number


@dataclass(frozen=True, slots=True)
class Progress:
    """The newest sign of work.

    Attributes:
        at: the wall's time of it; None where there has been none.
        seconds: how long ago it was; without any sign, how long the run has been silent.
        source: the channel.
        grew: a channel grew since the sample before.
        elapsed: seconds since the sample before, None without one.
    """

    at: datetime | None = None
    seconds: float | None = None
    source: str | None = None
    grew: bool = False
    elapsed: float | None = None


@dataclass(frozen=True, slots=True)
class Beginning:
    """What bounds the silence of a run that has no sample yet.

    Attributes:
        created_at: of the run, by the wall's clock of then.
        age_seconds: of its process.
    """

    created_at: datetime | None = None
    age_seconds: float | None = None


def measure(
    channels: Channels, previous: Document | None, now: Anchor, before: Anchor | None, beginning: Beginning
) -> Progress:
    """Find the newest sign of work.

    Args:
        channels: of the run as they are now.
        previous: the run's health sample before this one.
        now: both clocks.
        before: both clocks at the end of the cycle before, where known.
        beginning: bounds the silence where there is no sample before.
    """
    recorded = parse_time(previous.get("recorded_at")) if previous else None
    if previous is None or recorded is None:
        return _first(channels, now, beginning)
    elapsed = elapsed_since(recorded, now, before)
    grown = _grown(channels, previous, recorded)
    if grown:
        changed, channel = max(grown)
        # It happened after the sample before, whatever the file's time says.
        age = min(max(0.0, now.wall.timestamp() - changed), elapsed)
        return Progress(now.wall - timedelta(seconds=age), age, channel, grew=True, elapsed=elapsed)
    silent = number(previous.get("seconds_since_semantic_progress"))
    return Progress(
        parse_time(previous.get("last_semantic_progress_at")),
        None if silent is None else silent + elapsed,
        text(previous.get("last_semantic_progress_source")),
        elapsed=elapsed,
    )


def _first(channels: Channels, now: Anchor, beginning: Beginning) -> Progress:
    changes = [(state.changed, channel) for channel, state in channels.states.items() if state.changed is not None]
    bound = beginning.age_seconds
    if changes:
        changed, channel = max(changes)
        age = _bounded(now.wall.timestamp() - changed, bound)
        return Progress(datetime.fromtimestamp(changed, UTC), age, channel)
    if beginning.created_at is None:
        return Progress(seconds=bound)
    return Progress(seconds=_bounded((now.wall - beginning.created_at).total_seconds(), bound))


def _bounded(age: float, bound: float | None) -> float:
    # Nothing of the run is older than its process; a clock that was set forward would claim so.
    return max(0.0, age if bound is None else min(age, bound))


def _grown(channels: Channels, previous: Document, recorded: datetime) -> list[tuple[float, Channel]]:
    grown: list[tuple[float, Channel]] = []
    for channel, state in channels.states.items():
        if state.changed is None:
            continue
        if channel in MEASURED:
            changed = state.size != (whole_number(previous.get(f"{channel}_bytes")) or 0)
        else:
            changed = state.changed > recorded.timestamp()  # its size stands in no sample
        if changed:
            grown.append((state.changed, channel))
    return grown
