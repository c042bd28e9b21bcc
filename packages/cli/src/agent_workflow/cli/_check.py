"""One thing that ``doctor`` looked at."""

from typing import Literal, NamedTuple

Verdict = Literal["ok", "warn", "bad"]


class Check(NamedTuple):
    """A finding with what mends it.

    Attributes:
        name: what was looked at.
        verdict: ``ok``; ``warn`` where it works but should be known; ``bad`` where it must be mended.
        detail: what was found.
        fix: the next step, a command or a sentence; None where nothing is to be done.
    """

    name: str
    verdict: Verdict
    detail: str
    fix: str | None = None
