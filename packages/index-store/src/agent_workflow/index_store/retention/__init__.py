"""Retention: which runs may be put away or deleted, doing so step by step, and the receipt of what was deleted."""

from agent_workflow.index_store.retention.archiving import ArchivedRun, ArchiveReport, archive_runs
from agent_workflow.index_store.retention.judging import UNSEALED_QUIET_SECONDS, KeptRun, RunFacts
from agent_workflow.index_store.retention.planning import (
    InvalidPlan,
    PruneCriteria,
    RunPlan,
    digest_of,
    parse_age,
    parse_size,
    plan_runs,
    select,
)
from agent_workflow.index_store.retention.pruning import (
    PruneBusy,
    PruneOutcome,
    PruneSession,
    finish_interrupted,
    prune_runs,
    prune_session,
    unfinished_receipts,
)
from agent_workflow.index_store.retention.receipts import RECEIPTS_DIRECTORY

__all__ = [
    "RECEIPTS_DIRECTORY",
    "UNSEALED_QUIET_SECONDS",
    "ArchiveReport",
    "ArchivedRun",
    "InvalidPlan",
    "KeptRun",
    "PruneBusy",
    "PruneCriteria",
    "PruneOutcome",
    "PruneSession",
    "RunFacts",
    "RunPlan",
    "archive_runs",
    "digest_of",
    "finish_interrupted",
    "parse_age",
    "parse_size",
    "plan_runs",
    "prune_runs",
    "prune_session",
    "select",
    "unfinished_receipts",
]
