"""The plan of a prune: which runs it would delete, why it keeps the others, and the digest that stands for it."""

import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from agent_workflow.index_store.errors import IndexStoreError, InvalidQuestion
from agent_workflow.index_store.moments import age_in_seconds
from agent_workflow.index_store.retention.judging import (
    UNSEALED_QUIET_SECONDS,
    Judge,
    Keep,
    KeptRun,
    RunFacts,
)
from agent_workflow.index_store.retention.survey import judge_runs
from agent_workflow.index_store.state_root import open_state_root

_SIZE = re.compile(r"(\d{1,15})([KMGT]?)i?B?", re.ASCII | re.IGNORECASE)
_UNITS = ("", "K", "M", "G", "T")


class InvalidPlan(IndexStoreError):
    """The plan that was asked for is not the one that the evidence gives now."""


@dataclass(frozen=True)
class PruneCriteria:
    """What may go.

    Attributes:
        older_than_seconds: only what ended at least so long ago.
        keep_bytes: the oldest go until what is left takes no more than this.
        require_review: never a run without a lifecycle receipt.
    """

    older_than_seconds: float | None = None
    keep_bytes: int | None = None
    require_review: bool = False

    def __post_init__(self) -> None:
        """Refuse criteria that say nothing, or two things.

        Raises:
            InvalidQuestion: not exactly one of age and size is given.
        """
        if (self.older_than_seconds is None) == (self.keep_bytes is None):
            raise InvalidQuestion(
                "a prune goes by age or by size, by one of them", hint="--older-than 90d, or --keep-bytes 20G"
            )

    def to_document(self) -> dict[str, object]:
        """Return the criteria as receipts and plans hold them."""
        return asdict(self)


@dataclass(frozen=True)
class RunPlan:
    """What a prune of runs would do.

    Attributes:
        state_root: absolute path.
        criteria: what may go.
        runs: that would be deleted, the oldest first.
        kept: that would stay, with the reason, by id.
        total_bytes: what all runs take now.
        digest: SHA-256 over the root, the criteria and everything that identifies the runs and their files.
    """

    state_root: str
    criteria: PruneCriteria
    runs: tuple[RunFacts, ...]
    kept: tuple[KeptRun, ...]
    total_bytes: int
    digest: str

    @property
    def size_bytes(self) -> int:
        """What would be given back."""
        return sum(run.size_bytes for run in self.runs)

    @property
    def file_count(self) -> int:
        """Files that would be deleted."""
        return sum(run.file_count for run in self.runs)


class _Aged(Protocol):
    @property
    def ended_at(self) -> float: ...
    @property
    def size_bytes(self) -> int: ...


A = TypeVar("A", bound=_Aged)


def select(eligible: Sequence[A], criteria: PruneCriteria, *, total_bytes: int, now: float) -> list[A]:
    """Choose what goes, the oldest first.

    Args:
        eligible: what may go at all.
        criteria: by age or by size.
        total_bytes: what everything takes, that which may not go included.
        now: seconds of the epoch.
    """
    oldest_first = sorted(eligible, key=lambda item: item.ended_at)
    if criteria.older_than_seconds is not None:
        return [item for item in oldest_first if now - item.ended_at >= criteria.older_than_seconds]
    chosen: list[A] = []
    left = total_bytes
    for item in oldest_first:
        if criteria.keep_bytes is None or left <= criteria.keep_bytes:
            break
        chosen.append(item)
        left -= item.size_bytes
    return chosen


def plan_runs(
    state_root: Path,
    criteria: PruneCriteria,
    *,
    now: float | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> RunPlan:
    """Say which runs a prune would delete; nothing is changed.

    Never one that runs, is in error, is held, was touched within a week without a seal, or lacks a required review.

    Raises:
        UnsafePath: the state root, ``runs/`` or ``archive/`` is not ours alone.
    """
    moment = time.time() if now is None else now
    with open_state_root(state_root) as root:
        if root is None:
            path = state_root.absolute()
            return _plan(str(path.parent.resolve() / path.name), criteria, [], [], 0)
        with Judge(root) as judge:
            good, kept = judge_runs(judge, progress=progress)
    total = sum(run.size_bytes for run in good) + sum(run.size_bytes for run in kept)
    eligible: list[RunFacts] = []
    for run in good:
        try:
            refuse(run, criteria, moment)
            eligible.append(run)
        except Keep as keep:
            kept.append(KeptRun(run.session_id, run.path, keep.reason, keep.detail, run.size_bytes))
    chosen = select(eligible, criteria, total_bytes=total, now=moment)
    named = {run.session_id for run in chosen}
    kept.extend(
        KeptRun(run.session_id, run.path, "recent", "the criteria let it stay", run.size_bytes)
        for run in eligible
        if run.session_id not in named
    )
    return _plan(str(root.path), criteria, chosen, kept, total)


def refuse(run: RunFacts, criteria: PruneCriteria, now: float) -> None:
    """Refuse a run that may not be deleted whatever its age.

    Raises:
        Keep: why.
    """
    if run.hold is not None:
        raise Keep("held", run.hold)
    if run.final_receipt_sha256 is None and now - run.ended_at < UNSEALED_QUIET_SECONDS:
        raise Keep("unsealed", "it is not sealed, and something of it changed within a week")
    if criteria.require_review and not run.lifecycle_actions:
        raise Keep("unreviewed", "it has no lifecycle receipt")


def _plan(
    state_root: str, criteria: PruneCriteria, chosen: Sequence[RunFacts], kept: Sequence[KeptRun], total: int
) -> RunPlan:
    content = {
        "state_root": state_root,
        "criteria": criteria.to_document(),
        "runs": [_identified(run) for run in chosen],
    }
    by_id = tuple(sorted(kept, key=lambda run: (run.session_id, run.path)))
    return RunPlan(state_root, criteria, tuple(chosen), by_id, total, digest_of(content))


def digest_of(content: Mapping[str, object]) -> str:
    """Return the SHA-256 of a document in its canonical form."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _identified(run: RunFacts) -> dict[str, object]:
    return {
        "path": run.path,
        "fingerprint": run.fingerprint,
        "final_receipt_sha256": run.final_receipt_sha256,
        "device": run.device,
        "inode": run.inode,
    }


def parse_age(text: str, name: str) -> float:
    """Return an age such as ``90m``, ``24h``, ``30d`` or ``2w`` in seconds.

    Raises:
        InvalidQuestion: it is none.
    """
    age = age_in_seconds(text)
    if age is None:
        raise InvalidQuestion(f"--{name} {text!r} is no age", hint="a number with s, m, h, d or w, for example 30d")
    return float(age)


def parse_size(text: str, name: str) -> int:
    """Return a size such as ``500M`` or ``20G`` in bytes; K is 1,024.

    Raises:
        InvalidQuestion: it is none.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise InvalidQuestion(f"--{name} {text!r} is no size", hint="bytes, or a number with K, M, G or T such as 20G")
    factor: int = 1024 ** _UNITS.index(match.group(2).upper())
    return int(match.group(1)) * factor
