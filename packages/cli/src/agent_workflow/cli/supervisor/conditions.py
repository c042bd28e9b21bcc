"""What is the matter with a run: pure judgements over one cycle's facts, no disk and no signals."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent_workflow.cli.supervisor.documents import Document, inner, number, whole_number
from agent_workflow.cli.supervisor.progress import Progress
from agent_workflow.cli.supervisor.samples import HostSample, ProcessSample
from agent_workflow.cli.supervisor.settings import Settings

Severity = Literal["low", "medium", "high", "critical"]

STALLED = "process_alive_no_progress"
MISSING = "process_missing"
PERMISSION = "permission_wait"
PRESSURE = "resource_pressure"
EXHAUSTED = "output_capture_exhausted"
PROVIDER = "provider_wait"
CATEGORIES = (STALLED, MISSING, PERMISSION, PRESSURE, EXHAUSTED, PROVIDER)

_RELEASE = 1.25
"""An open shortage ends only a quarter above its threshold: a value that moves around it is one incident."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Something that is the matter now.

    Attributes:
        identity: what tells it from another condition of its category; no number that changes while it lasts.
        summary: our own sentence; nothing of a run's text.
        evidence: numbers and closed words.
    """

    category: str
    severity: Severity
    identity: tuple[str | int | None, ...]
    summary: str
    evidence: Document = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """Signs of work that is silent.

    Attributes:
        open_tools: how many tool calls the agents' streams leave open.
        new_processes: processes below the agent that began after the last progress, where no stream is known.
        own_share: share of one processor that the agent itself used since the sample before; None where not known.
        below_share: the same of everything below it.
        is_known_agent: its stream is known; such an agent thinks elsewhere and needs no processor of its own for long.
    """

    open_tools: int = 0
    new_processes: int = 0
    own_share: float | None = None
    below_share: float | None = None
    is_known_agent: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a run waits for.

    Attributes:
        prompts: source, operation and rule of each open prompt.
        provider: closed word for the reason of an open wait for the provider, else None.
        attempt: which try the wait is before.
    """

    prompts: tuple[tuple[str, str, str | None], ...] = ()
    provider: str | None = None
    attempt: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is judged of one run in one cycle.

    Attributes:
        recent: the samples of the last cycles, this one's last.
        open_already: shortages and waits that are on record as open, as ``category:what``.
        truncated: names of what is no longer kept whole.
        below: how many processes of the run are alive although its runner is gone.
    """

    runner: ProcessSample
    executor: ProcessSample
    host: HostSample
    progress: Progress
    work: Work
    waiting: Waiting
    recent: Sequence[Document]
    open_already: frozenset[str]
    truncated: tuple[str, ...] = ()
    below: int = 0


def judge(facts: Facts, settings: Settings) -> list[Condition]:
    """Name what is the matter; an unknown process is never missing, what waits or works never stalled."""
    found: list[Condition] = []
    if (missing := _missing(facts)) is not None:
        found.append(missing)
    else:
        found.extend(_prompts(facts))
        if not found and (wait := _provider(facts, settings)) is not None:
            found.append(wait)
        if not found and (stalled := _stalled(facts, settings)) is not None:
            found.append(stalled)
    found.extend(_pressure(facts, settings))
    if facts.truncated:
        names = ", ".join(facts.truncated)
        found.append(
            Condition(
                EXHAUSTED,
                "high",
                facts.truncated,
                f"what was printed to {names} is no longer kept whole",
                {"streams": list(facts.truncated)},
            )
        )
    return found


def is_gone(process: ProcessSample) -> bool:
    """Tell whether a recorded process is proven not to run any more."""
    return process.identity in ("gone", "zombie", "other")


_GONE = {
    "gone": "is gone",
    "zombie": "has ended and was not collected",
    "other": "is gone, and another program has its number",
}


def _missing(facts: Facts) -> Condition | None:
    process = facts.executor if facts.runner.pid is None else facts.runner
    if not is_gone(process):
        return None
    left = f"; processes of it that still run: {facts.below}" if facts.below else ""
    summary = f"process {process.pid} {_GONE[process.identity]}, and the run never said that it ended{left}"
    evidence = {"pid": process.pid, "found": process.identity, "still_running": facts.below}
    return Condition(MISSING, "critical", (process.pid,), summary, evidence)


def _prompts(facts: Facts) -> Iterable[Condition]:
    for source, operation, rule in sorted(facts.waiting.prompts, key=str):
        summary = f"the agent waits for a permission ({operation}); nobody but a person may answer"
        yield Condition(
            PERMISSION,
            "high",
            (source, operation, rule),
            summary,
            {"source": source, "operation": operation, "rule": rule},
        )


def _provider(facts: Facts, settings: Settings) -> Condition | None:
    reason, attempt = facts.waiting.provider, facts.waiting.attempt
    if reason is None:
        return None
    # A short wait is everyday; once on record it lasts until the stream ends it, though each new try prints a line.
    is_long = (facts.progress.seconds or 0.0) >= settings.provider_wait_seconds
    is_repeated = attempt is not None and attempt >= settings.provider_attempts
    if not is_long and not is_repeated and f"{PROVIDER}:{reason}" not in facts.open_already:
        return None
    tries = "" if attempt is None else f", try {attempt}"
    summary = f"the agent waits for its model provider ({reason}{tries})"
    return Condition(PROVIDER, "medium", (reason,), summary, {"reason": reason, "attempt": attempt})


def _stalled(facts: Facts, settings: Settings) -> Condition | None:
    agent = facts.executor if facts.executor.alive else facts.runner
    silent = facts.progress.seconds
    if not agent.alive or agent.seen is None or silent is None or silent < settings.stall_seconds:
        return None
    if _works(facts.work, silent, settings) or _silent_samples(facts, settings) < settings.stall_samples:
        return None
    share = facts.work.own_share
    is_spinning = share is not None and share >= settings.busy_fraction
    how = f"uses {share:.0%} of a processor and" if is_spinning and share is not None else "is alive and"
    summary = f"process {agent.pid} {how} has shown no progress for {silent:.0f} s"
    evidence = {
        "pid": agent.pid,
        "seconds_since_semantic_progress": round(silent, 1),
        "processor_share": None if share is None else round(share, 3),
        "pattern": "spinning" if is_spinning else "silent",
        "open_tool_calls": facts.work.open_tools,
        "samples": settings.stall_samples,
    }
    return Condition(STALLED, "high", (agent.pid, agent.seen.start_ticks), summary, evidence)


def _works(work: Work, silent: float, settings: Settings) -> bool:
    if work.open_tools or work.new_processes:
        return True
    if (work.below_share or 0.0) >= settings.busy_fraction:
        return True
    if (work.own_share or 0.0) < settings.busy_fraction:
        return False
    return not work.is_known_agent or silent < settings.spin_seconds


def _silent_samples(facts: Facts, settings: Settings) -> int:
    """Count the newest samples in a row in which nothing moved and nothing worked, this one among them."""
    count = 1 if facts.recent else 0
    for before, after in zip(reversed(facts.recent[:-1]), reversed(facts.recent[1:]), strict=True):
        if before.get("last_semantic_progress_at") != after.get("last_semantic_progress_at"):
            break
        if _agent_of(before) != _agent_of(after):
            break  # whoever is silent now began, or was left alone, only then
        if not facts.work.is_known_agent and _had_work(before, after, settings):
            break
        count += 1
    return count


def _agent_of(sample: Document) -> tuple[object, object]:
    executor = inner(sample, "executor")
    return executor.get("pid"), executor.get("alive")


def _had_work(before: Document, after: Document, settings: Settings) -> bool:
    """Tell whether a program that we know nothing of had a child that is gone now, or used a processor."""
    old, new = inner(before, "executor"), inner(after, "executor")
    children, left = whole_number(old.get("child_process_count")), whole_number(new.get("child_process_count"))
    if children is not None and left is not None and children > left:
        return True
    used = sum((number(new.get(name)) or 0.0) - (number(old.get(name)) or 0.0) for name in _CPU)
    silence = (number(after.get("seconds_since_semantic_progress")) or 0.0) - (
        number(before.get("seconds_since_semantic_progress")) or 0.0
    )
    return silence > 0 and used / silence >= settings.busy_fraction


_CPU = ("cpu_user_seconds", "cpu_system_seconds")


def _pressure(facts: Facts, settings: Settings) -> Iterable[Condition]:
    host = facts.host
    for resource, value, least in (
        ("memory", host.available_memory_bytes, settings.least_memory_bytes),
        ("disk", host.disk_free_bytes, settings.least_disk_bytes),
    ):
        limit = least * (_RELEASE if f"{PRESSURE}:{resource}" in facts.open_already else 1.0)
        if value is not None and value < limit:
            summary = f"the host has {value // 2**20} MiB of {resource} left, fewer than {least // 2**20} MiB"
            yield Condition(
                PRESSURE, "high", (resource,), summary, {"resource": resource, "available": value, "least": least}
            )
    for name, process in (("runner", facts.runner), ("executor", facts.executor)):
        used, limit_of = process.open_fd_count, process.descriptor_limit
        if used is None or not limit_of:
            continue
        resource = f"descriptors:{name}"
        share = settings.most_descriptors / (_RELEASE if f"{PRESSURE}:{resource}" in facts.open_already else 1.0)
        if used >= share * limit_of:
            summary = f"the {name} has {used} of {limit_of} files open that it may"
            yield Condition(
                PRESSURE, "high", (resource,), summary, {"resource": resource, "used": used, "limit": limit_of}
            )
