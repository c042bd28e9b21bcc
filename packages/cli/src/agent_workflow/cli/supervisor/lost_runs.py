"""``finalize-lost/v1``: a run whose process is proven gone is closed, once, by whoever notices first."""

from collections.abc import Callable

from agent_workflow.cli.supervisor.clock import stamp
from agent_workflow.cli.supervisor.conditions import MISSING
from agent_workflow.cli.supervisor.documents import Document, read_document
from agent_workflow.cli.supervisor.history import Writer
from agent_workflow.cli.supervisor.incidents import Incident, is_ours, resolve
from agent_workflow.cli.supervisor.remediations import Attempt, Remediation, Rule, begin, finish, was_applied
from agent_workflow.cli.supervisor.runs import FINAL_STATUS, LIVE, STATUS, Run
from agent_workflow.cli.supervisor.status_rebuild import last_execution_state
from agent_workflow.tracer.evidence import (
    RunIsAlive,
    append_lifecycle_locked,
    finalize_lost,
    is_sealed,
    run_lock,
    write_document_locked,
)

RULE = Rule("finalize-lost/v1", "finalize")
ACTOR = "agent-workflow-supervisor"

_UNSEALED = "the run ended and was not sealed, and its process is gone"
_REASON = "the run's process is gone, and the run never said that it ended"


def finalize(
    run: Run,
    writer: Writer,
    pid: int | None,
    incident_id: str | None,
    is_gone_still: Callable[[], bool],
    warn: Callable[[str], None],
) -> tuple[list[Remediation], list[Incident]]:
    """Close a run whose process is gone. The run's lock must not be held: it is taken here.

    Args:
        run: live by its status, or ended and not sealed.
        writer: of the run.
        pid: of the process that is gone.
        incident_id: the open incident.
        is_gone_still: looks at the process anew.
        warn: told what could not be written.

    Returns:
        What was done, and the incidents that ended with it; nothing where somebody else was quicker.

    Raises:
        EvidenceError, OSError: it cannot be closed now; the next cycle goes on with the same attempt.
    """
    target = f"process {pid}"
    why = _REASON if run.status in LIVE else _UNSEALED
    with run_lock(run.directory):
        if is_sealed(run.directory):
            return [], []
        was_done = was_applied(writer.history, RULE, target)
        if was_done and run.trace is None:
            _write_status(run, writer)  # the one thing that a killed supervisor left to do
        attempt = None if was_done else begin(writer, RULE, target, why, incident_id)
    if was_done and run.trace is not None:
        finalize_lost(run.directory, reason=_REASON, actor=ACTOR, warn=warn)  # its seal was left to do
    if attempt is None:
        return [], []
    if run.trace is not None:
        return _finalize_traced(run, writer, attempt, warn)
    return _finalize_untraced(run, writer, attempt, is_gone_still)


def _finalize_traced(
    run: Run, writer: Writer, attempt: Attempt, warn: Callable[[str], None]
) -> tuple[list[Remediation], list[Incident]]:
    done: list[Remediation] = []
    ended: list[Incident] = []

    def write_the_last_records() -> None:
        ended.extend(_resolve_missing(writer))
        what = (
            "the trace and the run were closed as lost" if run.status in LIVE else "the run keeps the end that it had"
        )
        reason = f"{what}; the seal follows"
        done.append(finish(writer, attempt, "applied", reason, {"sealed": True}))

    try:
        finalize_lost(run.directory, reason=_REASON, actor=ACTOR, warn=warn, before_seal=write_the_last_records)
    except RunIsAlive:
        with run_lock(run.directory):
            reason = "a process of the run turned out to be alive; it was left alone"
            return [finish(writer, attempt, "failed", reason, {})], []
    return done, ended


def _finalize_untraced(
    run: Run, writer: Writer, attempt: Attempt, is_gone_still: Callable[[], bool]
) -> tuple[list[Remediation], list[Incident]]:
    """Say in the lifecycle journal and in the status that a run of another system is lost; its seal is not ours.

    The status comes last: until then the run is looked at again, and what is missing is made up for.
    """
    with run_lock(run.directory):
        if is_sealed(run.directory):
            return [], []
        stored = read_document(run.directory / STATUS) or {}
        # Written by whoever runs it between our look and now: then it has ended by itself.
        if stored.get("status") not in LIVE or not is_gone_still():
            return [finish(writer, attempt, "failed", "the run turned out not to be lost; it was left alone", {})], []
        if last_execution_state(run) in LIVE_OR_UNKNOWN:
            append_lifecycle_locked(
                run.directory,
                dimension="execution",
                prior=str(stored["status"]),
                new="failed",
                actor=ACTOR,
                reason=_REASON,
                at=stamp(writer.clock.now()),
            )
        write_document_locked(run.directory, FINAL_STATUS, _lost(stored, writer))
        ended = _resolve_missing(writer)
        reason = "closed as lost; left unsealed, because its own system did not leave what its seal must list"
        done = finish(writer, attempt, "applied", reason, {"sealed": False})
        _write_status(run, writer)
        return [done], ended


LIVE_OR_UNKNOWN = (*LIVE, None)


def _write_status(run: Run, writer: Writer) -> None:
    write_document_locked(run.directory, STATUS, _lost(read_document(run.directory / STATUS) or {}, writer))


def _lost(stored: Document, writer: Writer) -> Document:
    return {
        **stored,
        "status": "failed",
        "executor_result": "lost",
        "failure_category": "lost",
        "terminal_error": _REASON,
        "acceptance_eligible": False,
        "updated_at": stamp(writer.clock.now()),
    }


def _resolve_missing(writer: Writer) -> list[Incident]:
    return [
        resolve(record, writer, "the run was recorded as lost, and that settles it")
        for record in writer.history.open_incidents().values()
        if record.get("category") == MISSING and is_ours(record)
    ]
