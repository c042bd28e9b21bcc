"""Sums of spend by day, agent, model or repository; billed, estimated and subscription money stay apart."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from decimal import Decimal
from typing import Any, Final, Literal

from agent_workflow.tracer._clock import parse_time
from agent_workflow.tracer._usage import COMPONENTS, money
from agent_workflow.tracer.pricing._spend_lines import SpendLine

Group = Literal["day", "agent", "model", "repo"]
GROUPS: Final[tuple[Group, ...]] = ("day", "agent", "model", "repo")


@dataclass(slots=True)
class UsageSum:
    """What one day, agent, model or repository comes to.

    Attributes:
        key: its name, ``None`` where nobody told.
        tokens: by component, each model call once.
        other: tokens that no component accounts for.
        raw: by component, every line that tells of usage counted, repetitions and copies included.
        billed, estimated, subscription: US dollars, ``None`` when there was none of the kind; never to be added.
        unpriced: tokens of calls whose money nobody knows.
    """

    key: str | None
    sessions: set[str] = field(default_factory=set)
    calls: int = 0
    tokens: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    other: int = 0
    lines: int = 0
    raw: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    raw_other: int = 0
    billed: Decimal | None = None
    estimated: Decimal | None = None
    subscription: Decimal | None = None
    unpriced: int = 0

    @property
    def total(self) -> int:
        """All tokens, each model call once."""
        return sum(self.tokens) + self.other

    @property
    def raw_total(self) -> int:
        """All tokens of every line."""
        return sum(self.raw) + self.raw_other

    def add(self, line: SpendLine, *, by_subscription: bool = False) -> None:
        """Add a line.

        Args:
            line: of this group.
            by_subscription: what is estimated is covered by a subscription.
        """
        self.calls += line.calls
        self.tokens = [one + other for one, other in zip(self.tokens, line.tokens, strict=True)]
        self.other += line.other
        self.lines += line.lines
        self.raw = [one + other for one, other in zip(self.raw, line.raw, strict=True)]
        self.raw_other += line.raw_other
        spent = sum(line.tokens) + line.other
        if spent or line.amount:
            self.sessions.add(line.session)
        basis = "subscription" if by_subscription and line.basis == "estimated" else line.basis
        if line.amount is None:
            self.unpriced += spent
        elif basis != "unknown":
            setattr(self, basis, (getattr(self, basis) or Decimal(0)) + line.amount)

    def document(self) -> dict[str, Any]:
        """Write it as JSON can hold it."""
        return {
            "key": self.key,
            "sessions": len(self.sessions),
            "calls": self.calls,
            **{f"{name}_tokens": count for name, count in zip(COMPONENTS, self.tokens, strict=True)},
            "other_tokens": self.other,
            "total_tokens": self.total,
            "raw": {
                "lines": self.lines,
                **{f"{name}_tokens": count for name, count in zip(COMPONENTS, self.raw, strict=True)},
                "total_tokens": self.raw_total,
            },
            "billed": money(self.billed),
            "estimated": money(self.estimated),
            "subscription": money(self.subscription),
            "unpriced_tokens": self.unpriced,
        }


def sum_usage(
    lines: Iterable[SpendLine],
    by: Group,
    zone: tzinfo | None = None,
    *,
    since: datetime | None = None,
    subscriptions: Iterable[str] = (),
) -> tuple[list[UsageSum], UsageSum]:
    """Sum lines up.

    Args:
        lines: as they come.
        by: what each sum is of.
        zone: whose days; the machine's own by default.
        since: an aware time; what is older, or has no time, is left out.
        subscriptions: agents whose estimated money is covered by a subscription.

    Returns:
        The sums, days in order and everything else by tokens, and the sum of all.
    """
    sums: dict[str | None, UsageSum] = {}
    whole = UsageSum(None)
    covered = frozenset(subscriptions)
    for line in lines:
        if since is not None:
            moment = parse_time(line.at)
            if moment is None or moment < since:
                continue
        key = day_of(line.at, zone) if by == "day" else str(getattr(line, by)) or None
        by_subscription = line.agent in covered
        sums.setdefault(key, UsageSum(key)).add(line, by_subscription=by_subscription)
        whole.add(line, by_subscription=by_subscription)
    if by == "day":
        return sorted(sums.values(), key=lambda one: one.key or ""), whole
    return sorted(sums.values(), key=lambda one: (-one.total, one.key or "")), whole


def day_of(at: str, zone: tzinfo | None) -> str | None:
    """Return the day on which a moment was, in a time zone whose clocks may have been put forward or back.

    Args:
        at: UTC time.
        zone: the machine's own when ``None``.
    """
    moment = parse_time(at)
    if moment is None:
        return None
    try:
        return moment.astimezone(zone).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return None
