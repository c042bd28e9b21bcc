"""One plan over the runs of a state root and the sessions of traces, and carrying it out under one receipt."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent_workflow.evidence_schemas import PruneReceipt
from agent_workflow.index_store.retention import (
    InvalidPlan,
    PruneCriteria,
    PruneOutcome,
    PruneSession,
    RunPlan,
    digest_of,
    plan_runs,
    prune_runs,
    select,
)
from agent_workflow.tracer.retention import (
    KeptSession,
    SessionFacts,
    SessionRemoval,
    delete_session,
    finish_session,
    survey_sessions,
)

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TraceChoice:
    """What would go of one trace.

    Attributes:
        database: absolute path.
        sessions: that would be deleted, the oldest first.
        kept: that would stay.
    """

    database: str
    sessions: tuple[SessionFacts, ...]
    kept: tuple[KeptSession, ...]


@dataclass(frozen=True)
class PrunePlan:
    """Everything that a prune would delete.

    Attributes:
        criteria: what may go.
        runs: of the state root.
        traces: of each database that was asked for.
        digest: stands for all of it.
    """

    criteria: PruneCriteria
    runs: RunPlan
    traces: tuple[TraceChoice, ...]
    digest: str

    @property
    def totals(self) -> dict[str, int]:
        """Subjects, files and bytes."""
        sessions = [session for trace in self.traces for session in trace.sessions]
        return {
            "subjects": len(self.runs.runs) + len(sessions),
            "files": self.runs.file_count + sum(session.file_count for session in sessions),
            "bytes": self.runs.size_bytes + sum(session.size_bytes for session in sessions),
        }

    def to_document(self) -> dict[str, object]:
        """Return the JSON document."""
        return {
            "schema": "agent-workflow/prune-plan/v1",
            "state_root": self.runs.state_root,
            "plan_sha256": self.digest,
            "criteria": self.criteria.to_document(),
            "totals": self.totals,
            "total_run_bytes": self.runs.total_bytes,
            "runs": [{"path": run.path, **asdict(run)} for run in self.runs.runs],
            "kept_runs": [asdict(run) for run in self.runs.kept],
            "traces": [asdict(trace) for trace in self.traces],
        }


def make_plan(
    state_root: Path, criteria: PruneCriteria, databases: Sequence[tuple[Path, Path]], progress: Progress
) -> PrunePlan:
    """Plan; nothing is changed.

    Args:
        state_root: the root.
        criteria: what may go; of traces, size counts the sessions of one database that have ended.
        databases: trace databases, each with the folder of its sessions.
        progress: called after every run and every session.
    """
    now = time.time()
    runs = plan_runs(state_root, criteria, now=now, progress=progress)
    traces = tuple(_choose(db, data_dir, criteria, now, progress) for db, data_dir in databases)
    content = {
        "runs": runs.digest,
        "traces": [[trace.database, [asdict(session) for session in trace.sessions]] for trace in traces],
    }
    return PrunePlan(criteria, runs, traces, digest_of(content))


def _choose(db: Path, data_dir: Path, criteria: PruneCriteria, now: float, progress: Progress) -> TraceChoice:
    found = survey_sessions(db, data_dir, progress)
    eligible = [session for session in found.ended if session.reviewed or not criteria.require_review]
    total = sum(session.size_bytes for session in found.ended)
    chosen = select(eligible, criteria, total_bytes=total, now=now)
    names = {session.adw_id for session in chosen}
    kept = list(found.kept)
    for session in found.ended:
        if session.adw_id not in names:
            is_unseen = criteria.require_review and not session.reviewed
            reason, detail = ("unreviewed", "it has no review flag") if is_unseen else ("recent", _STAYS)
            kept.append(KeptSession(session.adw_id, session.directory, reason, detail))
    return TraceChoice(found.database, tuple(chosen), tuple(sorted(kept, key=lambda session: session.adw_id)))


_STAYS = "the criteria let it stay"


def check_digest(plan: PrunePlan, wanted: str) -> None:
    """Refuse a plan that is not the one that was shown.

    Raises:
        InvalidPlan: the evidence changed since, or it is another question.
    """
    if len(wanted) < _SHORTEST or not plan.digest.startswith(wanted.lower()):
        raise InvalidPlan(
            f"the plan is {plan.digest[:12]} now, not {wanted[:64]!a}: the evidence changed, or the question did",
            hint="look at the plan again, with the same options and without --plan",
        )


_SHORTEST = 12


def carry_out(session: PruneSession, plan: PrunePlan) -> list[PruneOutcome]:
    """Delete what the plan lists, under one receipt.

    Args:
        session: that holds the receipts.
        plan: made while it does.
    """
    session.begin(plan.digest, plan.criteria.to_document(), plan.totals)
    outcomes = prune_runs(session, plan.runs)
    for trace in plan.traces:
        for facts in trace.sessions:
            outcome = _delete_session(session, facts)
            session.record(outcome)
            outcomes.append(outcome)
    session.end()
    return outcomes


def _delete_session(session: PruneSession, facts: SessionFacts) -> PruneOutcome:
    def announce(files: Sequence[Mapping[str, object]], intent: Mapping[str, object]) -> None:
        session.receipt.announce("trace-session", facts.path, files, **intent)

    return _outcome(facts.path, delete_session(facts, announce, tag=session.receipt.plan_sha256[:12]))


def recover_trace(intent: PruneReceipt, files: Sequence[Mapping[str, object]]) -> PruneOutcome:
    """Finish the deletion of a session that an interrupted prune announced."""
    return replace(_outcome(intent.path or "", finish_session(intent.to_document(), files)), resumed=True)


def _outcome(path: str, removal: SessionRemoval) -> PruneOutcome:
    return PruneOutcome(
        "trace-session", path, removal.outcome, removal.reason, removal.files, removal.size_bytes, removal.left
    )
