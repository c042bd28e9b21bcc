"""Which days an export keeps. What the rule removed never comes back, so a clock that is set wrong must not decide."""

from datetime import UTC, date, datetime, timedelta

from agent_workflow.index_store.export.errors import ImplausibleClock, InvalidDestination
from agent_workflow.index_store.export.manifest import Manifest, exported_at
from agent_workflow.index_store.export.store import Store
from agent_workflow.index_store.export.tables import NO_DAY

MAXIMUM_RETAIN_DAYS = 36_500
LONGEST_PAUSE = timedelta(days=31)
"""Between what a host last told of its clock and an export with a rule; more is taken for a clock that is set ahead."""

_ADJUSTED = timedelta(days=1)
"""By so much a clock may have been set back since, without anybody having been wrong."""


def check_retain_days(days: int | None) -> None:
    """Refuse a number of days that cannot be kept.

    Raises:
        InvalidDestination: it is none of 1 to 36,500.
    """
    if days is not None and not 1 <= days <= MAXIMUM_RETAIN_DAYS:
        raise InvalidDestination(f"{days} days cannot be kept", hint=f"--retain-days 1 to {MAXIMUM_RETAIN_DAYS}")


def kept_since(store: Store, before: Manifest | None, retain_days: int | None, now: datetime) -> date | None:
    """Return the first day to keep, None where all are. It never moves back.

    Args:
        store: where the dataset lies.
        before: the manifest that the host has in it.
        retain_days: days to keep; None for those that the last rule kept.
        now: what the clock says.

    Raises:
        ImplausibleClock: by all that the host told before, the clock is set ahead now, or was when the rule was given.
    """
    if before is None:
        return None if retain_days is None else (now - timedelta(days=retain_days)).date()
    earlier = before.kept_since
    if earlier is not None and earlier > now.date():
        path = store.locate(before.path)
        raise ImplausibleClock(
            f"host {before.host} keeps nothing before {earlier.isoformat()}, which is to come: the clock is behind "
            "now, or was ahead when --retain-days was given",
            path=path,
            hint=f"set the clock; if it is right, remove {path} and export again: the host starts anew",
        )
    if retain_days is None:
        return earlier
    told = _last_told(store, before, now)
    if told is not None and now - told > LONGEST_PAUSE:
        raise ImplausibleClock(
            f"the clock says {now.date().isoformat()}, but host {before.host} has told nothing since "
            f"{told.date().isoformat()}; with a clock set ahead --retain-days would remove its days for good",
            hint="set the clock; if it is right, export once without --retain-days, then with it",
        )
    since = (now - timedelta(days=retain_days)).date()
    return since if earlier is None else max(since, earlier)


def _last_told(store: Store, before: Manifest, now: datetime) -> datetime | None:
    """Return the latest time that a host is known to have had: of its evidence, or when it last exported.

    A time that is to come tells of another clock, not of this one.
    """
    told = [datetime(part.day.year, part.day.month, part.day.day, tzinfo=UTC) for part in before.parts]
    if (noted := exported_at(store, before.host)) is not None:
        told.append(noted)
    return max((one for one in told if one.date() != NO_DAY and one <= now + _ADJUSTED), default=None)
