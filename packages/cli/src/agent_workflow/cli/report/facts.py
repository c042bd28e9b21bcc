"""What a report says, as data; unknown stays None and is never counted as nothing."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Value = str | int | float | None
Row = Mapping[str, Value]

STATUSES = ("completed", "failed", "interrupted", "killed", "running", "unknown")
"""Statuses in the order of charts and legends; what else is stored counts as unknown."""
FAILED = ("failed", "interrupted", "killed")


@dataclass(frozen=True)
class Bucket:
    """A day, week or month of a chart.

    Attributes:
        label: its first day, ISO 8601, or the month.
        counts: by series; a series without a value is left out.
    """

    label: str
    counts: Mapping[str, float]


@dataclass(frozen=True)
class Money:
    """What was spent in one currency; billed and estimated are never added up.

    Attributes:
        currency: its code; None where the evidence names none.
        billed: by providers; None without a sample.
        billed_samples: records that say so.
        estimated: on this host; None without a sample.
        estimated_samples: records that say so.
        buckets: over time, with the series ``billed`` and ``estimated``.
    """

    currency: str | None
    billed: float | None
    billed_samples: int
    estimated: float | None
    estimated_samples: int
    buckets: tuple[Bucket, ...]


@dataclass(frozen=True)
class Failure:
    """A run that did not end well.

    Attributes:
        session_id: the run.
        at: when it started, else was created.
        status: its word.
        cause: the most telling of what is recorded.
        details: further facts, such as the exit code.
        executor, model: who worked.
    """

    session_id: str
    at: str | None
    status: str
    cause: str
    details: str
    executor: str | None
    model: str | None


@dataclass(frozen=True)
class ReportFacts:
    """Everything that a report says.

    Attributes:
        made_at: UTC ISO 8601.
        since: as asked for.
        since_at: the same as UTC ISO 8601.
        state_root: where the evidence is.
        host: name of this machine.
        freshness: ``current``, ``stale``, ``incomplete`` or ``missing``.
        last_sync_at: when the index was written; None for never.
        source_runs, current_runs, stale_runs, error_runs: counts over all time.
        run_count: runs of the period; those in error included.
        truncated: there are more than the newest that are listed.
        statuses: runs of the period by status.
        runs_over_time: buckets with the statuses as series.
        bucket: ``day``, ``week`` or ``month``.
        failures: newest first, at most so many as fit.
        failure_count: how many there are.
        causes: how often each cause, most frequent first.
        money: by currency.
        unpriced_runs: runs of the period of which no price is known; None where they are too many to count.
        agents: rows of outcomes by agent.
        incidents: open now, newest first, at most so many as fit.
        incident_count: how many are open.
        incident_counts: records of the period by category and severity.
        permissions: pending now, newest first, at most so many as fit.
        permission_count: how many are pending.
        errors: what keeps runs from being evidence as they stand, newest first, at most so many as fit.
        error_count: how many there are.
    """

    made_at: str
    since: str
    since_at: str
    state_root: str
    host: str
    freshness: str
    last_sync_at: str | None
    source_runs: int
    current_runs: int
    stale_runs: int
    error_runs: int
    run_count: int = 0
    truncated: bool = False
    statuses: Mapping[str, int] | None = None
    runs_over_time: tuple[Bucket, ...] = ()
    bucket: str = "day"
    failures: tuple[Failure, ...] = ()
    failure_count: int = 0
    causes: tuple[tuple[str, int], ...] = ()
    money: tuple[Money, ...] = ()
    unpriced_runs: int | None = 0
    agents: tuple[Row, ...] = ()
    incidents: tuple[Row, ...] = ()
    incident_count: int = 0
    incident_counts: tuple[tuple[str, str, int], ...] = ()
    permissions: tuple[Row, ...] = ()
    permission_count: int = 0
    errors: tuple[Row, ...] = ()
    error_count: int = 0


def status_word(value: Value) -> str:
    """Return the status that a run counts as."""
    words = {"prepared": "running", "launched": "running", "interruption_requested": "running"}
    word = words.get(str(value), str(value))
    return word if word in STATUSES else "unknown"


def failure_of(run: Row) -> Failure | None:
    """Say why a run did not end well; None where it did, or goes on."""
    cause = _cause(run)
    if cause is None:
        return None
    at = run["started_at"] or run["created_at"]
    return Failure(
        session_id=str(run["session_id"]),
        at=None if at is None else str(at),
        status="error" if run["index_state"] == "error" else str(run["durable_status"] or "unknown"),
        cause=cause,
        details=", ".join(_details(run, cause)),
        executor=_text(run["executor"]),
        model=_text(run["model"]),
    )


def _cause(run: Row) -> str | None:
    """Choose the first of: evidence in error, its failure category, a failed policy, a bad completion, a bad score."""
    if run["index_state"] == "error":
        return "evidence in error"
    if run["durable_status"] in FAILED:
        result = _text(run["executor_result"])
        return _text(run["failure_category"]) or (f"executor {result}" if result else str(run["durable_status"]))
    if run["policy_result"] == "failed":
        return "policy failed"
    if run["durable_status"] == "completed" and run["completion_result"] in ("missing", "invalid"):
        return f"completion {run['completion_result']}"
    if run["score_verdict"] in ("fail", "invalid"):
        return f"score {run['score_verdict']}"
    return None


def _details(run: Row, cause: str) -> list[str]:
    found = []
    if run["index_error"]:
        found.append(str(run["index_error"]))
    if run["exit_code"] is not None:
        found.append(f"exit code {run['exit_code']}")
    for column, word in (
        ("executor_result", "executor"),
        ("policy_result", "policy"),
        ("completion_result", "completion"),
        ("score_verdict", "score"),
    ):
        value = run[column]
        if value is not None and f"{word} {value}" != cause and value not in _FINE:
            found.append(f"{word} {value}")
    return found


_FINE = ("completed", "passed", "not_evaluated", "valid", "pass")


def count_causes(failures: Sequence[Failure]) -> tuple[tuple[str, int], ...]:
    """Count failures by cause, the most frequent first."""
    return tuple(sorted(Counter(failure.cause for failure in failures).items(), key=lambda item: (-item[1], item[0])))


def unpriced(metrics: Sequence[Row], run_count: int) -> int:
    """Count the runs of which no price is known, those without any metrics included."""
    priced = {
        row["session_id"]
        for row in metrics
        if row["provider_billed_cost"] is not None or row["local_estimated_cost"] is not None
    }
    return max(run_count - len(priced), 0)


def _text(value: Value) -> str | None:
    return None if value is None else str(value)
